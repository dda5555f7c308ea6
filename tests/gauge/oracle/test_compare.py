"""Comparison of answers: A12."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.rdf.vocab import (
    XSD,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_TIME,
)
from hydrograph_gauge.oracle.compare import Comparison, compare, compare_reports, terms_equal
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.oracle.evaluate import Report


def bag(*terms: Term | None) -> Counter[Row]:
    return Counter((term,) for term in terms)


@pytest.mark.parametrize(
    ("datatype", "left", "right"),
    [
        (XSD_INTEGER, "1", "+01"),
        (XSD_DECIMAL, "2.50", "2.5"),
        (XSD_DECIMAL, "-0", "0.0"),
        (XSD_BOOLEAN, "1", "true"),
        (XSD_DATE_TIME, "2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00"),
        (XSD_DATE_TIME, "2020-03-01T00:00:00.50", "2020-03-01T00:00:00.5"),
        (XSD_DATE_TIME, "2019-12-31T24:00:00Z", "2020-01-01T00:00:00Z"),
        (XSD_DATE, "2020-01-01Z", "2020-01-01+00:00"),
        (XSD_TIME, "23:00:00Z", "23:00:00.0+00:00"),
        (XSD_DOUBLE, "1e1", "10"),
        (XSD_DOUBLE, "NaN", "NaN"),
        (XSD_DOUBLE, "INF", "+INF"),
        (XSD_DOUBLE, "0.3", "0.30000000000000004"),
        (XSD_FLOAT, "0.1", "0.10000001"),
        (XSD + "byte", "7", "07"),
    ],
)
def test_equal_by_value(datatype: str, left: str, right: str) -> None:
    assert terms_equal(Literal(left, datatype), Literal(right, datatype))
    assert terms_equal(Literal(right, datatype), Literal(left, datatype))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Literal("1", XSD_INTEGER), Literal("1", XSD_DECIMAL)),
        (Literal("1", XSD_INTEGER), Literal("1")),
        (Literal("0.3", XSD_DOUBLE), Literal("0.3000000000000005", XSD_DOUBLE)),
        (Literal("0.1", XSD_FLOAT), Literal("0.100001", XSD_FLOAT)),
        (Literal("INF", XSD_DOUBLE), Literal("1.7e308", XSD_DOUBLE)),
        (Literal("NaN", XSD_DOUBLE), Literal("0", XSD_DOUBLE)),
        (Literal("2020-01-01T00:00:00", XSD_DATE_TIME), Literal("2020-01-01T00:00:00Z", XSD_DATE_TIME)),
        (Literal("2020-02-29T00:00:00Z", XSD_DATE_TIME), Literal("2020-03-01T00:00:00Z", XSD_DATE_TIME)),
        (Literal("x", XSD_INTEGER), Literal("y", XSD_INTEGER)),
        (Literal("a"), Literal.tagged("a", "en")),
        (Iri("a:b"), Literal("a:b")),
        (Literal("1", XSD_INTEGER), None),
    ],
)
def test_different(left: Term, right: Term | None) -> None:
    assert not terms_equal(left, right)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("6.666666666666666666", "6.666666666666666667", True),  # cut and rounded after 18 digits
        ("6.666666666666666666", "6.666666666666666666666666667", True),  # rdflib: 28 significant digits
        ("6.666666666666666666", "6.666666666666666668", False),
        ("6.66666666666666666", "6.66666666666666667", False),  # 17 digits: no quotient of ours
        ("2.5", "2.500000000000000001", True),  # a quotient that ends there
        ("2.5", "2.50000000000000001", False),
    ],
)
def test_quotients_may_differ_in_the_eighteenth_digit(left: str, right: str, equal: bool) -> None:
    assert terms_equal(Literal(left, XSD_DECIMAL), Literal(right, XSD_DECIMAL)) is equal


def test_bags_count_duplicates() -> None:
    difference = compare(bag(Iri("a:a"), Iri("a:a"), Iri("a:b")), bag(Iri("a:a"), Iri("a:c")))
    assert difference.missing == bag(Iri("a:a"), Iri("a:b"))
    assert difference.extra == bag(Iri("a:c"))
    assert "missing 1 x <a:b>" in str(difference)


def test_rows_near_each_other_cancel_once() -> None:
    near = [Literal(text, XSD_DOUBLE) for text in ("0.3", "0.30000000000000004")]
    assert not compare(bag(near[0], near[0]), bag(near[0], near[1]))
    assert compare(bag(near[0], near[0]), bag(near[1])).missing == bag(near[0])


def test_unbound_is_a_value() -> None:
    assert not compare(bag(None), bag(None))
    assert compare(bag(None), bag(Literal("")))


def test_blank_nodes_match_up_to_renaming() -> None:
    chain: Counter[Row] = Counter([(BlankNode("x"), BlankNode("y")), (BlankNode("y"), BlankNode("z"))])
    same: Counter[Row] = Counter([(BlankNode("y"), BlankNode("a")), (BlankNode("q"), BlankNode("y"))])
    fork: Counter[Row] = Counter([(BlankNode("x"), BlankNode("y")), (BlankNode("x"), BlankNode("z"))])
    assert not compare(chain, same)
    assert compare(chain, fork)


def test_a_blank_node_has_one_partner_in_the_whole_answer() -> None:
    twice: Counter[Row] = Counter({(BlankNode("x"),): 2})
    apart: Counter[Row] = Counter([(BlankNode("x"),), (BlankNode("y"),)])
    assert compare(twice, apart)
    assert not compare(twice, Counter({(BlankNode("q"),): 2}))


def test_reports_must_be_the_same_instants() -> None:
    one = Report(10, 0, 10, bag(Iri("a:a")))
    other = Report(20, 10, 20, bag())
    assert not compare_reports([one, other], [one, other])
    assert [str(found) for found in compare_reports([one, other], [one])] == ["report at 20: missing: [10, 20)"]
    assert [str(found) for found in compare_reports([one], [one, other])] == ["report at 20: extra: [10, 20)"]
    assert "rows differ" in compare_reports([one], [Report(10, 0, 10, bag())])[0].reason
    assert compare_reports([one, other], [other, one])


TERMS = st.one_of(
    st.sampled_from([Iri("a:a"), Literal("a"), None]),
    st.integers(-3, 3).map(lambda n: Literal(str(n), XSD_INTEGER)),
    st.floats().map(lambda x: Literal(str(x).replace("inf", "INF").replace("nan", "NaN"), XSD_DOUBLE)),
    st.sampled_from("xyz").map(BlankNode),
)
ROWS = st.lists(st.tuples(TERMS, TERMS), max_size=5)


@given(ROWS, st.permutations("xyz"))
def test_an_answer_equals_itself_in_any_order_and_renamed(rows: list[Row], names: list[str]) -> None:
    renaming = dict(zip("xyz", names, strict=True))
    renamed = [
        tuple(BlankNode(renaming[term.label]) if isinstance(term, BlankNode) else term for term in row) for row in rows
    ]
    assert not compare(Counter(rows), Counter(reversed(renamed)))


@pytest.mark.parametrize(
    ("left", "right", "by_value", "as_doubles"),
    [
        (Literal("43", XSD_INTEGER), Literal("43.0", XSD_DOUBLE), True, True),
        (Literal("43", XSD_INTEGER), Literal("43.00", XSD_DECIMAL), True, True),
        (Literal("43", XSD_INTEGER), Literal("43.1", XSD_DOUBLE), False, False),
        (Literal("0.1", XSD_DECIMAL), Literal("0.1", XSD_DOUBLE), True, True),
        # Equal within the precision of a float; as doubles the texts count, whatever their datatypes.
        (Literal("0.1", XSD_FLOAT), Literal("0.1", XSD_DOUBLE), True, True),
        (Literal("0.1", XSD_FLOAT), Literal("0.10000000149011612", XSD_DOUBLE), True, False),
        # Decimals are exact by value, and equal as the same double.
        (Literal("0.12345678901234567", XSD_DECIMAL), Literal("0.12345678901234568", XSD_DECIMAL), False, True),
        (Literal("9007199254740993", XSD_INTEGER), Literal("9007199254740992", XSD_INTEGER), False, True),
        (Literal("INF", XSD_FLOAT), Literal("INF", XSD_DOUBLE), True, True),
        (Literal("NaN", XSD_FLOAT), Literal("NaN", XSD_DOUBLE), True, True),
        # No number: a string, a boolean, a malformed lexical form.
        (Literal("43"), Literal("43", XSD_INTEGER), False, False),
        (Literal("1", XSD_BOOLEAN), Literal("1", XSD_INTEGER), False, False),
        (Literal("x", XSD_DOUBLE), Literal("x", XSD_FLOAT), False, False),
    ],
)
def test_numbers_of_two_datatypes_by_each_policy(
    left: Literal, right: Literal, by_value: bool, as_doubles: bool
) -> None:
    for by, equal in ((Comparison.VALUE, by_value), (Comparison.DOUBLE, as_doubles)):
        assert terms_equal(left, right, by) is terms_equal(right, left, by) is equal
        assert (not compare(bag(left), bag(right), by)) is equal
        twice: Counter[Row] = Counter({(Iri("urn:x"), left): 2})
        once: Counter[Row] = Counter({(Iri("urn:x"), right): 1})
        assert compare(twice, once, by).missing.total() == (1 if equal else 2)
    assert not terms_equal(left, right, Comparison.EXACT)


@given(
    st.sampled_from([XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT]), st.integers(-999, 999), st.integers(-999, 999)
)
def test_lenient_policies_never_part_what_the_exact_one_joins(datatype: str, one: int, other: int) -> None:
    left, right = Literal(str(one), datatype), Literal(str(other), datatype)
    for by in Comparison:
        assert terms_equal(left, right, by) is (one == other)


def test_one_lost_row_is_one_difference_beside_other_rows_with_blank_nodes() -> None:
    rows = [(BlankNode(f"b{i}"), Iri(f"urn:{i}")) for i in range(9)]
    renamed = [(BlankNode(f"x{i}"), Iri(f"urn:{i}")) for i in range(9)]
    difference = compare(Counter(rows), Counter(renamed[1:]))
    assert (difference.missing, difference.extra) == (Counter([rows[0]]), Counter())
    assert not compare(Counter(rows), Counter(renamed))


def test_rows_that_differ_only_in_how_blank_nodes_are_shared_are_all_different() -> None:
    apart = [(BlankNode("a"), Iri("urn:1")), (BlankNode("b"), Iri("urn:2"))]
    shared = [(BlankNode("c"), Iri("urn:1")), (BlankNode("c"), Iri("urn:2"))]
    difference = compare(Counter(apart), Counter(shared))
    assert (difference.missing.total(), difference.extra.total()) == (2, 2)


def test_many_alike_rows_with_blank_nodes_are_compared_without_trying_all_renamings() -> None:
    def answer(label: str, odd: int) -> Counter[Row]:
        rows = [(BlankNode(f"{label}{i}"), Iri("urn:p"), BlankNode(f"{label}{i + 1}")) for i in range(60)]
        return Counter([*rows, (BlankNode(f"{label}{odd}"), Iri("urn:q"), BlankNode(f"{label}{odd}"))])

    assert not compare(answer("a", 20), answer("b", 20))
    assert compare(answer("a", 20), answer("b", 30))
    alike = [(BlankNode(f"a{i}"), Iri("urn:p")) for i in range(2_000)]
    assert not compare(Counter(alike), Counter((BlankNode(f"b{i}"), Iri("urn:p")) for i in range(2_000)))

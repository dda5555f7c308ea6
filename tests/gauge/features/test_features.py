"""The worked examples of the Stream WatDiv thesis, figures 2.1 to 2.6 and 3.1, and the classes of LSBench."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hydrograph.errors import UnsupportedError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple, Variable
from hydrograph_gauge.features.measurement import average_patterns, average_windows
from hydrograph_gauge.features.selectivity import Conjunction, StaticUnit, compute_selectivities, explain_undefined
from hydrograph_gauge.features.structure import JoinType, QueryKind, Shape, find_structure

PREFIX = "PREFIX : <urn:> "


def plain(text: str) -> str:
    return PREFIX + "SELECT * WHERE { " + text + " }"


def windowed(inside: str, outside: str = "") -> str:
    return (
        PREFIX
        + "SELECT * FROM NAMED WINDOW :w ON :s [RANGE 5s STEP 1s] WHERE { WINDOW :w { "
        + inside
        + " } "
        + outside
        + " }"
    )


def test_figure_2_1() -> None:
    found = find_structure(
        parse(plain("?x :p1 ?a . ?x :p2 ?b . ?x :p3 ?c . ?x :p4 ?y . ?y :p5 ?z . ?u :p6 ?z . ?w :p7 ?z"))
    )
    assert found.patterns == 7
    assert [(vertex.degree, set(vertex.types)) for vertex in found.vertices] == [
        (4, {JoinType.SS}),
        (2, {JoinType.SO}),
        (3, {JoinType.OO}),
    ]
    assert (found.kind, found.degree, found.shape) == (QueryKind.STATIC, 4, Shape.COMPLEX)


GRAPH = frozenset(
    Triple(Iri(f"urn:{s}"), Iri(f"urn:{p}"), Iri(f"urn:{o}"))
    for s, p, o in (
        *(("W1", "homepage", "P2"), ("W2", "homepage", "P3"), ("W3", "homepage", "P1"), ("W4", "homepage", "P4")),
        *(("U1", "subscribes", "W2"), ("U2", "subscribes", "W1"), ("U3", "subscribes", "W3")),
        *(("U1", "location", "City1"), ("U2", "location", "City2")),
    )
)
EXAMPLE = "?c :homepage ?d . ?b :subscribes ?c . ?b :location ?a"


def test_figures_2_2_to_2_6() -> None:
    found = compute_selectivities(Conjunction.of(parse(plain(EXAMPLE))), GRAPH)
    b, c = Variable("b"), Variable("c")
    assert found.cardinality == 2
    assert found.patterns == (Fraction(4, 9), Fraction(3, 9), Fraction(2, 9))
    assert found.restricted == (Fraction(1, 2), Fraction(2, 3), Fraction(1))
    assert found.joined == (
        {c: Fraction(3, 4)},
        {c: Fraction(1), b: Fraction(2, 3)},
        {b: Fraction(1)},
    )


def test_filters_count_where_their_variables_are_covered() -> None:
    """The filter on ?b and ?d is none of a single pattern, but of the whole; that on ?b of two patterns."""
    text = f"{EXAMPLE} FILTER(?b != :U2) FILTER(?d != ?b)"
    found = compute_selectivities(Conjunction.of(parse(plain(text))), GRAPH)
    b, c = Variable("b"), Variable("c")
    assert found.cardinality == 1
    assert found.patterns == (Fraction(4, 9), Fraction(2, 9), Fraction(1, 9))
    assert found.joined[0] == {c: Fraction(2, 4)}
    assert found.joined[1] == {c: Fraction(1), b: Fraction(1, 2)}


def test_mean_and_deviation() -> None:
    conjunction = Conjunction.of(parse(plain(EXAMPLE)))
    one = average_patterns(conjunction, compute_selectivities(conjunction, GRAPH), len(GRAPH))
    assert one.averages is not None
    assert one.averages.patterns.mean == pytest.approx(1 / 3)
    assert one.averages.patterns.deviation == pytest.approx((2 / 243) ** 0.5)
    assert one.averages.joined.mean == pytest.approx((3 / 4 + 5 / 6 + 1) / 3)
    none = average_patterns(conjunction, compute_selectivities(conjunction, frozenset()), 0)
    run = average_windows([one, none])
    assert (run.windows, run.cardinality, run.cardinality_deviation) == (2, 1, 1)
    assert run.patterns is not None
    assert run.patterns.mean == pytest.approx(1 / 6)
    assert run.patterns.over_windows == pytest.approx(1 / 6), "the means of the windows are 1/3 and 0"
    assert run.patterns.deviation == pytest.approx((2 / 243) ** 0.5 / 2), "the other window has none"


def test_patterns_of_exists_are_none_of_a_conjunction() -> None:
    """A solution is not joined of them, so the share that is left means nothing."""
    assert explain_undefined(parse(plain(EXAMPLE))) is None
    for test in ("NOT EXISTS { ?b :location ?a }", "(?b = :U1 || EXISTS { ?b :location ?a })"):
        assert "uses EXISTS" in (explain_undefined(parse(plain(f"?b :subscribes ?c FILTER {test}"))) or "")


def test_figure_3_1_static_components_count_once() -> None:
    """Stream patterns t1 and t4; static t2, t3 hang together, and so do t5, t6."""
    text = windowed("?a :t1 ?b . ?c :t4 ?e", "?b :t2 ?c . ?c :t3 ?d . ?e :t5 ?f . ?f :t6 ?g")
    query = parse(text)
    assert find_structure(query).kind is QueryKind.HYBRID
    conjunction = Conjunction.of(query)
    predicates = [
        pattern.predicate.value[-2:] for pattern in conjunction.patterns if isinstance(pattern.predicate, Iri)
    ]
    units = [[predicates[number] for number in unit] for unit in conjunction.units(StaticUnit.COMPONENT)]
    assert sorted(units) == [["t1"], ["t2", "t3"], ["t4"], ["t5", "t6"]]
    assert len(conjunction.units(StaticUnit.PATTERN)) == 6


@pytest.mark.parametrize(
    ("text", "shape", "kind"),
    [
        (windowed("?a :p ?b"), Shape.LINEAR, QueryKind.PURE),
        (windowed("?a :p ?b . ?b :q ?c . ?c :r ?d"), Shape.LINEAR, QueryKind.PURE),
        (windowed("?a :p ?b . ?a :q ?c . ?a :r ?d"), Shape.STAR, QueryKind.PURE),
        (windowed("?a :p ?b . ?a :q ?c . ?a :r ?d", "?b :s ?e"), Shape.STAR, QueryKind.HYBRID),
        (windowed("?a :p :x . ?b :q :x . ?c :r :x"), Shape.STAR, QueryKind.PURE),
    ],
)
def test_shapes(text: str, shape: Shape, kind: QueryKind) -> None:
    found = find_structure(parse(text))
    assert (found.shape, found.kind, found.streams) == (shape, kind, 1)


def test_classes() -> None:
    text = windowed(
        "?a :p ?b . ?b :q ?c FILTER(?c > 1) FILTER NOT EXISTS { ?a :r ?d } { ?a :s ?e } UNION { ?a :t ?e }",
        "{ SELECT ?b (COUNT(*) AS ?n) { ?b :u ?x } GROUP BY ?b }",
    )
    found = find_structure(parse(text + " ORDER BY ?a LIMIT 5"))
    assert found.classes == (
        "filter",
        "join",
        "aggregation",
        "nested",
        "negation",
        "union",
        "top-k",
        "static",
    )
    assert found.patterns == 6
    with pytest.raises(UnsupportedError, match="the query uses"):
        Conjunction.of(parse(text))


def test_a_window_that_is_the_default_graph_streams() -> None:
    text = PREFIX + "REGISTER QUERY q AS SELECT ?a FROM STREAM <urn:s> [RANGE 5s STEP 1s] WHERE { ?a :p ?b }"
    assert find_structure(parse(text)).kind is QueryKind.PURE

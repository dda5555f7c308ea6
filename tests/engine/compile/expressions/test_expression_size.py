"""The text of an expression grows with the expression, not with the parts that its operators read."""

from __future__ import annotations

import pytest

from hydrograph.algebra.expressions import Expression
from hydrograph.algebra.nodes import Extend, Project
from hydrograph.compile import sql
from hydrograph.compile.expressions.evaluate import condition
from hydrograph.compile.printers import Target, print_sql
from hydrograph.compile.relation import EncodedLayout, Part, RankInterval, Relation
from hydrograph.language import parse
from hydrograph.rdf.terms import Variable
from hydrograph.runtime.plan import Facts, plan
from hydrograph.windows.profile import RSPQL

_NAMES = ("a", "b", "c", "d")


def expression(text: str) -> Expression:
    pattern = parse(f"SELECT ({text} AS ?x) {{}}").pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.inner, Extend)
    return pattern.inner.expression


def written(text: str, target: Target) -> str:
    """Return a condition over variables of which nothing is known."""
    form = EncodedLayout(frozenset(Part))
    layouts = {Variable(name): form for name in _NAMES}
    relation = Relation(
        "rows", dict(layouts), frozenset(layouts), (), RankInterval(), {Variable(name): name for name in _NAMES}
    )
    return print_sql(condition(expression(text), relation, sql.text), target)


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("operator", ["=", "!=", "<", ">="])
def test_a_comparison_of_unknown_kinds_reads_both_sides_by_one_text(operator: str, target: Target) -> None:
    assert len(written(f"?a {operator} ?b", target)) < 4_700


@pytest.mark.parametrize("target", Target)
def test_comparisons_grow_with_their_number(target: Target) -> None:
    one, four = (written(" && ".join(["?a < ?b"] * number), target) for number in (1, 4))
    assert len(four) < 4.2 * len(one)


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("operator", ["+", "*"])
def test_arithmetic_grows_with_its_operands(operator: str, target: Target) -> None:
    few, many = (written(f" {operator} ".join(["?a", "?b"] * number) + " > 0", target) for number in (4, 8))
    assert len(many) < 3 * len(few)


@pytest.mark.parametrize(
    "text", ["?a < ?b", "?a * ?b + ?c > ?d", "STR(?a) = STR(?b)", "IF(?a, ?b, ?c) = xsd:double(?d)"]
)
def test_sparks_parser_need_not_read_ahead(text: str) -> None:
    found = written(text.replace("xsd:double", "<http://www.w3.org/2001/XMLSchema#double>"), Target.SPARK)
    assert "CASE WHEN" not in found
    assert " CAST(" not in found
    assert " SUBSTRING(" not in found


def program_text(operations: int, target: Target) -> str:
    """Return a query whose condition is a chain of products and quotients."""
    chain = "?a"
    for number in range(operations):
        chain = f"({chain} {'*/'[number % 2]} ?{'bcd'[number % 3]})"
    patterns = " ".join(f"?s <urn:{name}> ?{name} ." for name in _NAMES)
    text = (
        f"FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT10S STEP PT5S] WHERE {{ WINDOW <urn:w> {{ {patterns} %s }} }}"
    )
    query = f"SELECT ({chain} AS ?x) {text % f'FILTER({chain} > 0)'}"
    return plan(parse(query), RSPQL, 0).program(Facts({})).text(target, pretty=False)


@pytest.mark.parametrize("target", Target)
def test_products_and_quotients_grow_with_their_number(target: Target) -> None:
    two, four, eight = (len(program_text(operations, target)) for operations in (2, 4, 8))
    assert eight - four < 3 * (four - two)

"""EXISTS of patterns that see the solution around them = oracle, for every operator whose answer may depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from hydrograph.algebra.expressions import Aggregate, Calculate, Compare, Constant, Exists, Reference
from hydrograph.algebra.nodes import (
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    Order,
    OrderBy,
    Pattern,
    Project,
    Slice,
    Union,
    Window,
)
from hydrograph.algebra.queries import Select, StreamOperator
from hydrograph.algebra.walk import visible_variables
from hydrograph.rdf.terms import Literal, Variable
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.runtime.placement.local import Local
from hydrograph_gauge.oracle.compare import compare_reports
from tests.support.random_cases import FULL, Case, random_case, shrink
from tests.support.random_data import random_bgp, random_condition
from tests.support.replay_adapter import answer

FIRST_SEED, CASES = 95_000, 20
_ONE = Constant(Literal("1", XSD_INTEGER))
Draw = Callable[[Random, Pattern], Pattern]


def optional(rng: Random, outer: Pattern) -> Pattern:
    first, second = random_bgp(rng, (1, 1, 2)), random_bgp(rng, (1,))
    return Filter(random_condition(rng, Join(outer, first), FULL), LeftJoin(first, second))


def minus(rng: Random, outer: Pattern) -> Pattern:
    del outer
    return Minus(random_bgp(rng, (1, 1, 2)), random_bgp(rng, (1,)))


def minus_of_optional(rng: Random, outer: Pattern) -> Pattern:
    del outer
    first = LeftJoin(random_bgp(rng, (1,)), random_bgp(rng, (1,)))
    return Minus(first, LeftJoin(random_bgp(rng, (1,)), random_bgp(rng, (1,))))


def minus_in_subquery(rng: Random, outer: Pattern) -> Pattern:
    inner = minus(rng, outer)
    return Join(random_bgp(rng, (1,)), Project(inner, visible_variables(inner)[:1]))


def union(rng: Random, outer: Pattern) -> Pattern:
    first, second = random_bgp(rng, (1, 1, 2)), random_bgp(rng, (1,))
    return Union(Filter(random_condition(rng, Join(outer, first), FULL), first), second)


def subquery(rng: Random, outer: Pattern) -> Pattern:
    del outer
    first, second = random_bgp(rng, (1, 1, 2)), random_bgp(rng, (1,))
    return Join(first, Distinct(Project(second, visible_variables(second)[:1])))


def nested(rng: Random, outer: Pattern) -> Pattern:
    inner = minus(rng, outer) if rng.random() < 0.5 else random_bgp(rng, (1,))
    return Filter(Exists(inner, negated=rng.random() < 0.5), random_bgp(rng, (1, 1, 2)))


def limit(rng: Random, outer: Pattern) -> Pattern:
    del outer
    first = random_bgp(rng, (1, 1, 2))
    names = visible_variables(first)
    return Slice(Project(OrderBy(first, tuple(Order(Reference(name)) for name in names)), names), 0, 1)


def group(rng: Random, outer: Pattern) -> Pattern:
    del outer
    first, counted, output = random_bgp(rng, (1, 1, 2)), Variable(".a0"), Variable("z")
    keys = visible_variables(first)[:1]
    grouped = Group(first, keys, ((counted, Aggregate("COUNT", None)),), implicit=not keys)
    many = Filter(Compare(">", Reference(counted), _ONE), grouped)
    return Project(Extend(many, output, Reference(counted)), (*keys, output))


def bind(rng: Random, outer: Pattern) -> Pattern:
    first = random_bgp(rng, (1, 1, 2))
    value = Calculate("+", Reference(rng.choice(visible_variables(outer) or (Variable("a"),))), _ONE)
    return Filter(random_condition(rng, Join(outer, first), FULL), Extend(first, Variable("z"), value))


DRAWS: tuple[Draw, ...] = (
    optional, minus, minus_of_optional, minus_in_subquery, union, subquery, nested, limit, group, bind,
)  # fmt: skip


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with Local(threads=1, small=True) as placed:
        yield placed


def asking(seed: int, draw: Draw) -> Case:
    """Return a random case that asks whether a pattern has an answer, for solutions that may leave variables open."""
    case, rng = random_case(seed, FULL), Random(seed)
    window = case.query.windows[0].name
    assert window is not None
    outer: Pattern = random_bgp(rng, (1, 2))
    if rng.random() < 0.3:
        outer = LeftJoin(outer, random_bgp(rng, (1,)))
    asked = Filter(Exists(draw(rng, outer), negated=rng.random() < 0.5), outer)
    columns = visible_variables(outer) or (Variable("a"),)
    query = replace(
        case.query,
        form=Select(columns),
        pattern=Project(Window(window, asked), columns),
        operator=StreamOperator.RSTREAM,
    )
    return replace(case, query=query)


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw.__name__)
def test_exists_sees_the_solution_around_it(draw: Draw, local: Local) -> None:
    def differs(case: Case) -> bool:
        chunks = None if case.seed % 2 else 1
        return bool(compare_reports(case.expected(), answer(case, chunk_windows=chunks, placed=local)))

    for seed in range(FIRST_SEED, FIRST_SEED + CASES):
        case = asking(seed, draw)
        if differs(case):
            pytest.fail(f"{draw.__name__}, seed {seed}\n{shrink(case, differs)}")

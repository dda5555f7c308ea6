"""Every rule keeps every answer: with no rule, with each alone, and with all in another order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count

import pytest

from hydrograph.algebra.expressions import Exists
from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Pattern,
    Project,
    TriplePattern,
    Window,
)
from hydrograph.algebra.walk import subpatterns, variables
from hydrograph.optimizer import RULES, Rule, optimize
from hydrograph.optimizer.push_windows import push_windows
from hydrograph.optimizer.reorder_joins import reorder_joins
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.evaluate import Report
from tests.support import replay_adapter as replay
from tests.support.random_cases import FULL, Case, random_case

FIRST_SEED, CASES = 80_000, 15
ORDERS: tuple[tuple[Rule, ...], ...] = ((), *((rule,) for rule in RULES), tuple(reversed(RULES)))
W = Iri("urn:w")


def names(rules: tuple[Rule, ...]) -> str:
    return "-".join(rule.__name__ for rule in rules) or "none"


@cache
def asked(seed: int) -> tuple[Case, list[Report]]:
    """Return a case and its answers, which no rule may change."""
    case = random_case(seed, FULL)
    return case, case.expected()


@pytest.mark.parametrize("rules", ORDERS, ids=names)
def test_rules_keep_the_answers(rules: tuple[Rule, ...], monkeypatch: pytest.MonkeyPatch, local: Local) -> None:
    def planned(case: Case) -> object:
        return plan(case.query, case.profile, case.t0, rules)

    monkeypatch.setattr(replay, "case_plan", planned)
    for seed in range(FIRST_SEED, FIRST_SEED + CASES):
        case, expected = asked(seed)
        assert not compare_reports(expected, replay.answer(case, placed=local)), f"seed {seed}"


def test_rules_keep_the_variables_of_random_patterns() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + 200):
        pattern = random_case(seed, FULL).query.pattern
        assert variables(optimize(pattern)) == variables(pattern), f"seed {seed}"


def test_a_window_reaches_the_pattern_of_an_exists() -> None:
    triple = Bgp((TriplePattern(Variable("a"), Iri("urn:p"), Variable("b")),))
    pushed = push_windows(Window(W, Filter(Exists(Filter(Exists(triple), triple)), triple)))
    blocks = [node for node in subpatterns(pushed) if isinstance(node, Bgp)]
    windows = [node for node in subpatterns(pushed) if isinstance(node, Window)]
    assert len(blocks) == len(windows) == 3
    assert all(window == Window(W, triple) for window in windows)


def nested(depth: int) -> Pattern:
    fresh = (Variable(f"v{number}") for number in count())
    pattern: Pattern = Bgp((TriplePattern(next(fresh), Iri("urn:p"), next(fresh)),))
    for _ in range(depth):
        other = Bgp((TriplePattern(next(fresh), Iri("urn:p"), next(fresh)),))
        pattern = Distinct(LeftJoin(Join(pattern, other), replace(other)))
    return pattern


def test_deep_patterns_are_rewritten_in_linear_time() -> None:
    deep = nested(60)
    assert variables(optimize(deep)) == variables(deep)


def test_an_assignment_nobody_reads_is_left_out() -> None:
    from hydrograph.algebra.expressions import Reference

    a, b, c = (Variable(name) for name in "abc")
    triple = Bgp((TriplePattern(a, Iri("urn:p"), b),))
    assert optimize(Project(Extend(triple, c, Reference(b)), (a,))) == Project(triple, (a,))


def test_patterns_of_a_named_graph_are_ordered_with_the_others() -> None:
    """What they have to do with each other may be in the stream; on their own they would be a cross product."""
    a, b, c, p = Variable("a"), Variable("b"), Variable("c"), Iri("urn:p")
    loose, bound = TriplePattern(a, p, b), TriplePattern(Iri("urn:s"), p, c)
    static = Graph(Iri("urn:g"), Bgp((loose, bound)))
    streamed = Window(W, Bgp((TriplePattern(a, p, c),)))
    first, last = (Graph(Iri("urn:g"), Bgp((triple,))) for triple in (bound, loose))
    assert reorder_joins(Join(static, streamed)) == Join(Join(first, streamed), last)

"""Classic mistakes, planted one by one: the random cases must notice each (section 11 of the semantics)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hydrograph.algebra.expressions import Exists
from hydrograph.algebra.nodes import Distinct, Filter, Group, LeftJoin, Minus, PathPattern, Slice, Union, Values
from hydrograph.algebra.queries import ContinuousQuery, StreamOperator
from hydrograph.algebra.walk import subpatterns, variables
from hydrograph.rdf.terms import Literal
from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_INTEGER
from hydrograph.runtime.placement.local import Local
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.compare import compare_reports
from tests.support.planted_mistakes import (
    Patch,
    changes_from_row_starts,
    closed_at_the_end,
    count_windows_of_triples,
    deduplication_before_quantising,
    distinct_aggregates_count_all,
    doubles_in_the_sweep,
    empty_reports_are_not_counted,
    equal_rows_are_one,
    exists_as_join,
    floors_toward_zero,
    limit_over_rows,
    minus_without_shared_variables,
    no_deduplication,
    no_row_for_an_empty_group,
    null_joins_nothing,
    optional_per_row,
    order_ignores_offset,
    paths_stop_after_a_round,
    sql_distinct,
    the_newest_active_window,
    the_other_window_before_its_close,
    ties_by_the_other_tick,
    unbound_never_changes,
)
from tests.support.random_cases import FULL, Case, random_case
from tests.support.random_reports import random_report_case
from tests.support.replay_adapter import answer
from tests.support.reported import answer_any

FIRST_SEED, SEEDS, MOST = 70_000, 1_500, 150
Relevant = Callable[[ContinuousQuery], bool]


def having(*kinds: type) -> Relevant:
    return lambda query: any(isinstance(node, kinds) for node in subpatterns(query.pattern))


def disjoint_minus(query: ContinuousQuery) -> bool:
    minuses = [node for node in subpatterns(query.pattern) if isinstance(node, Minus)]
    return any(not variables(node.left) & variables(node.right) for node in minuses)


def asking_exists(query: ContinuousQuery) -> bool:
    return any(isinstance(node, Filter) and isinstance(node.condition, Exists) for node in subpatterns(query.pattern))


def implicit_group(query: ContinuousQuery) -> bool:
    return any(isinstance(node, Group) and node.implicit for node in subpatterns(query.pattern))


def distinct_aggregate(query: ContinuousQuery) -> bool:
    groups = [node for node in subpatterns(query.pattern) if isinstance(node, Group)]
    return any(aggregate.distinct for node in groups for _, aggregate in node.aggregates)


def changes(query: ContinuousQuery) -> bool:
    return query.operator is not StreamOperator.RSTREAM


def two_windows(query: ContinuousQuery) -> bool:
    return len({window.definition for window in query.windows}) > 1


def adding(query: ContinuousQuery) -> bool:
    groups = [node for node in subpatterns(query.pattern) if isinstance(node, Group)]
    return any(aggregate.name in ("SUM", "AVG") for node in groups for _, aggregate in node.aggregates)


def anything(query: ContinuousQuery) -> bool:
    del query
    return True


def plain(seed: int) -> Case:
    """Return a case of any operators."""
    return random_case(seed, FULL)


def of_doubles(seed: int) -> Case:
    """Return a case whose integers are doubles of which the large ones swallow the small ones."""
    case = random_case(seed, FULL)
    values = {"0": "1.0E16", "1": "1.0E0", "2": "-3.0E15"}

    def changed(element: Element) -> Element:
        return replace(
            element,
            triples=frozenset(
                replace(triple, object=Literal(values[triple.object.lexical], XSD_DOUBLE))
                if isinstance(triple.object, Literal) and triple.object.datatype == XSD_INTEGER
                else triple
                for triple in element.triples
            ),
        )

    return replace(case, elements={name: tuple(map(changed, each)) for name, each in case.elements.items()})


MUTANTS: dict[Patch, tuple[Relevant, Callable[[int], Case]]] = {
    no_deduplication: (anything, plain),
    exists_as_join: (asking_exists, plain),
    minus_without_shared_variables: (disjoint_minus, plain),
    optional_per_row: (having(LeftJoin), plain),
    closed_at_the_end: (anything, plain),
    no_row_for_an_empty_group: (implicit_group, plain),
    changes_from_row_starts: (changes, plain),
    sql_distinct: (having(Distinct), plain),
    limit_over_rows: (having(Slice), plain),
    deduplication_before_quantising: (anything, plain),
    null_joins_nothing: (having(LeftJoin, Values), plain),
    unbound_never_changes: (lambda query: changes(query) and having(LeftJoin, Values, Union)(query), plain),
    distinct_aggregates_count_all: (distinct_aggregate, plain),
    order_ignores_offset: (having(Slice), plain),
    paths_stop_after_a_round: (having(PathPattern), plain),
    floors_toward_zero: (anything, plain),
    equal_rows_are_one: (having(LeftJoin, Minus, Filter), plain),
    empty_reports_are_not_counted: (anything, plain),
    the_other_window_before_its_close: (two_windows, random_report_case),
    doubles_in_the_sweep: (adding, of_doubles),
    ties_by_the_other_tick: (anything, random_report_case),
    the_newest_active_window: (anything, random_report_case),
    count_windows_of_triples: (anything, random_report_case),
}

PITFALLS: dict[int, Patch] = {
    1: no_deduplication, 2: exists_as_join, 3: minus_without_shared_variables, 4: optional_per_row,
    5: closed_at_the_end, 6: no_row_for_an_empty_group, 7: changes_from_row_starts, 8: sql_distinct, 9: limit_over_rows,
    10: deduplication_before_quantising, 11: ties_by_the_other_tick, 12: the_newest_active_window,
    13: the_other_window_before_its_close, 25: count_windows_of_triples, 26: floors_toward_zero, 27: equal_rows_are_one,
    28: unbound_never_changes, 29: doubles_in_the_sweep, 32: empty_reports_are_not_counted,
}  # fmt: skip
"""The planted mistake of each pitfall in section 11 of the semantics that a replay can have, by its number there."""


def test_every_pitfall_of_a_replay_is_planted() -> None:
    assert set(PITFALLS.values()) <= set(MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_planted_mistake_is_noticed(mutant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    relevant, draw = MUTANTS[mutant]
    cases = [case for case in map(draw, range(FIRST_SEED, FIRST_SEED + SEEDS)) if relevant(case.query)][:MOST]
    with Local(threads=1) as local:

        def differs(case: Case) -> bool:
            local.forget()
            chunks = None if case.seed % 2 else 3
            got = answer_any(case, local, chunk=chunks) if draw is random_report_case else answer(case, placed=local)
            return bool(compare_reports(case.expected(), got))

        # Without the mistake there is nothing to notice.
        assert not any(differs(case) for case in cases[:3])
        mutant(monkeypatch)
        assert any(differs(case) for case in cases), f"not noticed in {len(cases)} cases from seed {FIRST_SEED}"

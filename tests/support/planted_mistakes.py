"""Classic mistakes of an engine over windows, one by one (pitfalls in section 11 of the semantics).

Each function replaces one public function of the engine by a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlglot import exp

from hydrograph.algebra.walk import variables
from hydrograph.compile import (
    aggregates,
    compiler,
    exists,
    group,
    joins,
    ordering,
    outer_joins,
    patterns,
    r2s,
    report_instants,
    scan,
    sql,
)
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.demand import merge_demands
from hydrograph.compile.inputs import CountUnit, CountVisibility, TimeVisibility
from hydrograph.compile.outer_joins import JoinKind
from hydrograph.compile.rank_expansion import match_validity
from hydrograph.compile.relation import Part, Relation
from hydrograph.runtime import report_ranks as replay
from hydrograph.runtime.placement import executor
from hydrograph.windows.tick import Tick

Patch = Callable[[pytest.MonkeyPatch], None]


def no_deduplication(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scan, "cut_at_next_arrival", lambda query, names, identity: query)  # noqa: ARG005


def exists_as_join(patch: pytest.MonkeyPatch) -> None:
    whole = outer_joins.outer_join

    def joined(
        compilation: Any, left: Relation, right: Relation, on: Any, outcome: JoinKind, *rest: Any, **more: Any
    ) -> Any:
        if outcome is not JoinKind.SEMI:
            return whole(compilation, left, right, on, outcome, *rest, **more)
        inner = replace(right, layouts={v: right.layouts[v] for v in right.layouts if v in left.layouts})
        return joins.join(compilation, left, inner, {v: frozenset(Part) for v in left.layouts})

    patch.setattr(exists, "outer_join", joined)


def minus_without_shared_variables(patch: pytest.MonkeyPatch) -> None:
    def minus(compilation: Any, left: Any, right: Any, scope: Any, demand: Any) -> Any:
        shared = dict.fromkeys(variables(left) & variables(right), frozenset({Part.ID}))
        first = patterns.compile_pattern(compilation, left, scope, merge_demands(demand, shared))
        second = patterns.compile_pattern(compilation, right, scope, shared)
        first = match_validity(compilation, first, second)
        return outer_joins.outer_join(
            compilation, first, second, outer_joins.compatibility_conditions(first, second), JoinKind.ANTI
        )

    patch.setattr(patterns, "compile_minus", minus)


def optional_per_row(patch: pytest.MonkeyPatch) -> None:
    """A row that has a match at some instant has no gaps."""
    original = outer_joins.emit_pieces

    def emitted(pieces: Any, left: Any, result: Any, span: Any, outcome: JoinKind, added: Any, mark: Any) -> Any:
        query = original(pieces, left, result, span, outcome, added, mark)
        if outcome is JoinKind.LEFT:
            matched = sql.equal(sql.col(outer_joins.PIECE), sql.num(0))
            unmatched = sql.is_null(sql.col(outer_joins.MATCH_LO))
            inner = query.find(exp.Subquery)
            assert inner is not None
            inner.this.where(sql.any_of([matched, unmatched]), copy=False)
        return query

    patch.setattr(outer_joins, "emit_pieces", emitted)


def closed_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """(open, close] instead of [open, close)."""
    original = scan.first_report_rank
    patch.setattr(scan, "first_report_rank", lambda stream, t: original(stream, sql.subtract(t, sql.num(1))))


def no_row_for_an_empty_group(patch: pytest.MonkeyPatch) -> None:
    original = group.group_input

    def rows(compilation: Any, inner: Any, work: Any, scope: Any) -> Any:
        return original(compilation, inner, replace(work, implicit=False), scope)

    patch.setattr(group, "group_input", rows)


def changes_from_row_starts(patch: pytest.MonkeyPatch) -> None:
    """Every row enters where it begins and leaves where it ends, even if an equal one takes its place."""
    original = r2s.stream_differences

    def differences(compilation: Any, inner: Any, operator: Any, *, as_set: bool) -> Any:
        starts = inner.validity.lo if operator.value == "istream" else inner.validity.hi
        names = [*(k for k in inner.keys if k != "chunk"), *(n for v in inner.layouts for n in inner.columns(v))]
        changed = original(compilation, inner, operator, as_set=as_set)
        query = sql.from_(
            sql.select(*map(sql.col, names), sql.alias(sql.col(starts), "r"), sql.alias(sql.num(1), "m")), inner.name
        )
        query = query.where(sql.less(sql.col(starts), sql.parameter("k_to")), copy=False)
        return compilation.step(changed, query, "changes")

    patch.setattr(compiler, "stream_differences", differences)


def sql_distinct(patch: pytest.MonkeyPatch) -> None:
    def distinct(compilation: Any, inner: Relation) -> Any:
        query = sql.from_(sql.select(*map(sql.col, inner.all_columns())), inner.name).distinct()
        return compilation.step(inner, query, "distinct")

    patch.setattr(patterns, "distinct", distinct)


def limit_over_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ordering, "one_row_per_rank", lambda compilation, rows: rows)  # noqa: ARG005
    original = ordering.row_number

    def number(partition: list[str], keys: Any) -> Any:
        return original([name for name in partition if name != "lo"], keys)

    patch.setattr(ordering, "row_number", number)


def deduplication_before_quantising(patch: pytest.MonkeyPatch) -> None:
    """Repeats are looked for by arrival, not by report: arrivals between two reports stay double."""
    original = scan.cut_at_next_arrival

    def cut(query: Any, names: Any, identity: Any) -> Any:
        return original(query, names, [*identity, "lo"])

    patch.setattr(scan, "cut_at_next_arrival", cut)


def null_joins_nothing(patch: pytest.MonkeyPatch) -> None:
    def compatible(left: Any, right: Any, variable: Any) -> Any:
        return sql.equal(left.part(variable, Part.ID, "l"), right.part(variable, Part.ID, "r"))

    for module in (joins, outer_joins):
        patch.setattr(module, "compatible", compatible)


def distinct_aggregates_count_all(patch: pytest.MonkeyPatch) -> None:
    original = group.aggregate_groups

    def ignore_distinct(compilation: Any, inner: Any, grouping: Any, scope: Any) -> Any:
        plain = tuple((output, replace(one, distinct=False)) for output, one in grouping.aggregates)
        return original(compilation, inner, replace(grouping, aggregates=plain), scope)

    patch.setattr(patterns, "aggregate_groups", ignore_distinct)


def order_ignores_offset(patch: pytest.MonkeyPatch) -> None:
    original = ordering.slice_solutions
    patch.setattr(
        patterns, "slice_solutions", lambda c, rows, order, cut: original(c, rows, order, replace(cut, offset=0))
    )


def paths_stop_after_a_round(patch: pytest.MonkeyPatch) -> None:
    def stop(step: Any, found: Any, backend: Any, values: Any) -> None:
        del values
        found, _ = backend.store(step.delta, found)
        backend.store(step.table, found)

    patch.setattr(executor, "run_fixpoint", stop)


def floors_toward_zero(patch: pytest.MonkeyPatch) -> None:
    """Before the first close time is negative, and ranks are too large by one."""
    patch.setattr(sql, "floor_divide", lambda value, by: sql.whole_quotient(value, by))


def equal_rows_are_one(patch: pytest.MonkeyPatch) -> None:
    """Rows have no ids: what covers one of two equal rows is taken for covering both."""
    original = outer_joins.match_intervals

    def pieces(*arguments: Any) -> Any:
        query = original(*arguments)
        for node in list(query.find_all(exp.Window)):
            if isinstance(node.this, exp.RowNumber):
                node.replace(sql.num(1))
        return query

    patch.setattr(outer_joins, "match_intervals", pieces)


def unbound_never_changes(patch: pytest.MonkeyPatch) -> None:
    """Rows with an unbound variable equal no other row, as in an anti-join with `=`, and are left out."""
    original = r2s.stream_differences

    def differences(compilation: Any, inner: Relation, operator: Any, *, as_set: bool) -> Any:
        bound = [sql.not_null(inner.part(variable, Part.TEXT)) for variable in inner.layouts]
        query = sql.from_(sql.select(*map(sql.col, inner.all_columns())), inner.name).where(*bound, copy=False)
        return original(compilation, compilation.step(inner, query, "bound"), operator, as_set=as_set)

    patch.setattr(compiler, "stream_differences", differences)


def empty_reports_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    original = replay.reports_of

    def reports_of(plan: Any, ranks: Any, rows: Any, *rest: Any) -> Any:
        return original(plan, ranks, {ranks.start + n: rows[rank] for n, rank in enumerate(sorted(rows))}, *rest)

    patch.setattr(replay, "reports_of", reports_of)


def bounds_of_all_streams(patch: pytest.MonkeyPatch) -> None:
    """The first and the last event of all streams bound the reports of every window, also of those that read others."""
    original = replay.report_ranks

    def bounded(plan: Any, held: Any, *rest: Any) -> Any:
        known = [span for span in held.values() if span is not None]
        whole = (min(first for first, _ in known), max(last for _, last in known)) if known else None
        return original(plan, dict.fromkeys(held, whole), *rest)

    patch.setattr(replay, "report_ranks", bounded)


def the_other_window_before_its_close(patch: pytest.MonkeyPatch) -> None:
    """At the close of one window, the others show their present content instead of that of their own last close."""
    original = report_instants.InstantSteps.time_window_spans

    def timed(self: Any, window: Any, visibility: TimeVisibility) -> Any:
        at_close, self.at_close = self.at_close, False
        found = original(self, window, visibility)
        self.at_close = at_close
        return found

    patch.setattr(report_instants.InstantSteps, "time_window_spans", timed)


def doubles_in_the_sweep(patch: pytest.MonkeyPatch) -> None:
    """Doubles are added where they enter and taken back where they leave, which is not exact."""
    original = aggregates.sum_accumulator

    def summed(stem: str, *arguments: Any, **options: Any) -> Any:
        found = original(stem, *arguments, **options)
        name = f"{stem}_x"
        zero = sql.cast(sql.num(0), "DOUBLE")
        outputs = []
        for output in found.outputs:
            changed = output.copy()
            for node in list(changed.find_all(nodes.FoldDoubles)):
                node.replace(node.this)
            outputs.append(changed)
        inputs = [(each, sql.coalesce(value, zero.copy()) if each == name else value) for each, value in found.inputs]
        totals = [(each, exp.Sum(this=sql.col(name)) if each == name else total) for each, total in found.totals]
        return replace(found, inputs=tuple(inputs), totals=tuple(totals), outputs=tuple(outputs), spread=None)

    patch.setattr(aggregates, "sum_accumulator", summed)


def ties_by_the_other_tick(patch: pytest.MonkeyPatch) -> None:
    original = report_instants.find_instants
    other = {Tick.TIME: Tick.TUPLE, Tick.TUPLE: Tick.TIME}

    def find_instants(compilation: Any, timeline: Any, windows: Any) -> Any:
        return original(compilation, replace(timeline, tick=other[timeline.tick]), windows)

    patch.setattr(compiler, "find_instants", find_instants)


def the_newest_active_window(patch: pytest.MonkeyPatch) -> None:
    original = report_instants.InstantSteps.time_window_spans

    def timed(self: Any, window: Any, visibility: TimeVisibility) -> Any:
        newest = (
            visibility
            if self.at_close
            else replace(visibility, grid=replace(visibility.grid, width=visibility.grid.step))
        )
        return original(self, window, newest)

    patch.setattr(report_instants.InstantSteps, "time_window_spans", timed)


def count_windows_of_triples(patch: pytest.MonkeyPatch) -> None:
    original = report_instants.InstantSteps.count_window_spans

    def counted(self: Any, window: Any, visibility: CountVisibility) -> Any:
        return original(
            self,
            window,
            replace(visibility, unit=CountUnit.TRIPLES) if visibility.unit is CountUnit.ELEMENTS else visibility,
        )

    patch.setattr(report_instants.InstantSteps, "count_window_spans", counted)

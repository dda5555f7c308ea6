"""The classic mistakes of an engine over windows, one by one (semantics, section 11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlglot import exp

from hydrograph.algebra.walk import variables
from hydrograph.compile import (
    accumulators,
    aggregates,
    compiler,
    exists,
    instants,
    joins,
    leaves,
    patterns,
    r2s,
    slices,
    sql,
    subtract,
)
from hydrograph.compile.expressions.needs import merge_demands
from hydrograph.compile.relation import Part, Relation
from hydrograph.compile.reporting import Counted, Timed, Unit
from hydrograph.compile.scope import levelled
from hydrograph.compile.subtract import Outcome
from hydrograph.runtime import replay
from hydrograph.windows.tick import Tick

Patch = Callable[[pytest.MonkeyPatch], None]


def no_set_making(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leaves, "_cut_at_next", lambda query, names, identity: query)  # noqa: ARG005


def exists_as_join(patch: pytest.MonkeyPatch) -> None:
    whole = subtract.subtract

    def joined(
        compilation: Any, left: Relation, right: Relation, on: Any, outcome: Outcome, *rest: Any, **more: Any
    ) -> Any:
        if outcome is not Outcome.WITHIN:
            return whole(compilation, left, right, on, outcome, *rest, **more)
        inner = replace(right, forms={v: right.forms[v] for v in right.forms if v in left.forms})
        return joins.join(compilation, left, inner, {v: frozenset(Part) for v in left.forms})

    patch.setattr(exists, "subtract", joined)


def minus_without_shared_variables(patch: pytest.MonkeyPatch) -> None:
    def minus(compilation: Any, left: Any, right: Any, scope: Any, demand: Any) -> Any:
        shared = dict.fromkeys(variables(left) & variables(right), frozenset({Part.ID}))
        first = patterns.compile_pattern(compilation, left, scope, merge_demands(demand, shared))
        second = patterns.compile_pattern(compilation, right, scope, shared)
        first = levelled(compilation, first, second)
        return subtract.subtract(compilation, first, second, subtract.agreeing(first, second), Outcome.WITHOUT)

    patch.setattr(patterns, "_minus", minus)


def optional_per_row(patch: pytest.MonkeyPatch) -> None:
    """A row that has a match at some instant has no gaps."""
    original = subtract._emitted

    def emitted(pieces: Any, left: Any, result: Any, span: Any, outcome: Outcome, added: Any, mark: Any) -> Any:
        query = original(pieces, left, result, span, outcome, added, mark)
        if outcome is Outcome.OPTIONAL:
            matched = sql.equal(sql.col(subtract._PIECE), sql.num(0))
            unmatched = sql.is_null(sql.col(subtract._FROM))
            inner = query.find(exp.Subquery)
            assert inner is not None
            inner.this.where(sql.any_of([matched, unmatched]), copy=False)
        return query

    patch.setattr(subtract, "_emitted", emitted)


def closed_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """(open, close] instead of [open, close)."""
    original = leaves._rank
    patch.setattr(leaves, "_rank", lambda stream, t: original(stream, sql.subtract(t, sql.num(1))))


def no_row_for_an_empty_group(patch: pytest.MonkeyPatch) -> None:
    original = aggregates._rows

    def rows(compilation: Any, inner: Any, work: Any, scope: Any) -> Any:
        return original(compilation, inner, replace(work, implicit=False), scope)

    patch.setattr(aggregates, "_rows", rows)


def changes_from_row_starts(patch: pytest.MonkeyPatch) -> None:
    """Every row enters where it begins and leaves where it ends, even if an equal one takes its place."""
    original = r2s.differences

    def differences(compilation: Any, inner: Any, operator: Any, *, as_set: bool) -> Any:
        starts = inner.validity.lo if operator.value == "istream" else inner.validity.hi
        names = [*(k for k in inner.keys if k != "chunk"), *(n for v in inner.forms for n in inner.columns(v))]
        changed = original(compilation, inner, operator, as_set=as_set)
        query = sql.from_(
            sql.select(*map(sql.col, names), sql.alias(sql.col(starts), "r"), sql.alias(sql.num(1), "m")), inner.name
        )
        query = query.where(sql.less(sql.col(starts), sql.parameter("k_to")), copy=False)
        return compilation.step(changed, query, "changes")

    patch.setattr(compiler, "differences", differences)


def sql_distinct(patch: pytest.MonkeyPatch) -> None:
    def distinct(compilation: Any, inner: Relation) -> Any:
        query = sql.from_(sql.select(*map(sql.col, inner.all_columns())), inner.name).distinct()
        return compilation.step(inner, query, "distinct")

    patch.setattr(patterns, "distinct", distinct)


def limit_over_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(slices, "at_ranks", lambda compilation, rows: rows)  # noqa: ARG005
    original = slices._number

    def number(partition: list[str], keys: Any) -> Any:
        return original([name for name in partition if name != "lo"], keys)

    patch.setattr(slices, "_number", number)


def set_making_before_quantising(patch: pytest.MonkeyPatch) -> None:
    """Repeats are looked for by arrival, not by report: arrivals between two reports stay double."""
    original = leaves._cut_at_next

    def cut(query: Any, names: Any, identity: Any) -> Any:
        return original(query, names, [*identity, "lo"])

    patch.setattr(leaves, "_cut_at_next", cut)


def null_joins_nothing(patch: pytest.MonkeyPatch) -> None:
    def compatible(left: Any, right: Any, variable: Any) -> Any:
        return sql.equal(left.part(variable, Part.ID, "l"), right.part(variable, Part.ID, "r"))

    for module in (joins, subtract):
        patch.setattr(module, "compatible", compatible)


def distinct_aggregates_count_all(patch: pytest.MonkeyPatch) -> None:
    original = aggregates.group

    def group(compilation: Any, inner: Any, grouping: Any, scope: Any) -> Any:
        plain = tuple((output, replace(one, distinct=False)) for output, one in grouping.aggregates)
        return original(compilation, inner, replace(grouping, aggregates=plain), scope)

    patch.setattr(patterns, "group", group)


def order_ignores_offset(patch: pytest.MonkeyPatch) -> None:
    original = slices.sliced
    patch.setattr(patterns, "sliced", lambda c, rows, order, cut: original(c, rows, order, replace(cut, offset=0)))


def paths_stop_after_a_round(patch: pytest.MonkeyPatch) -> None:
    from hydrograph.runtime.placement import executor as drive

    def stopped(program: Any, step: Any, kept: Any, run: Any, store: Any) -> None:
        kept[step.delta], found, _ = store(step.delta, run(program.query(step.query, kept)), None)
        kept[step.name], _, _ = store(step.name, found, None)

    patch.setattr(drive, "_repeat", stopped)


def floors_toward_zero(patch: pytest.MonkeyPatch) -> None:
    """Before the first close time is negative, and ranks are too large by one."""
    patch.setattr(sql, "floor_divide", lambda value, by: sql.whole_quotient(value, by))


def equal_rows_are_one(patch: pytest.MonkeyPatch) -> None:
    """Rows have no ids: what covers one of two equal rows is taken for covering both."""
    original = subtract._pieces

    def pieces(*arguments: Any) -> Any:
        query = original(*arguments)
        for node in list(query.find_all(exp.Window)):
            if isinstance(node.this, exp.RowNumber):
                node.replace(sql.num(1))
        return query

    patch.setattr(subtract, "_pieces", pieces)


def unbound_never_changes(patch: pytest.MonkeyPatch) -> None:
    """Rows with an unbound variable equal no other row, as in an anti-join with `=`, and are left out."""
    original = r2s.differences

    def differences(compilation: Any, inner: Relation, operator: Any, *, as_set: bool) -> Any:
        bound = [sql.not_null(inner.part(variable, Part.TEXT)) for variable in inner.forms]
        query = sql.from_(sql.select(*map(sql.col, inner.all_columns())), inner.name).where(*bound, copy=False)
        return original(compilation, compilation.step(inner, query, "bound"), operator, as_set=as_set)

    patch.setattr(compiler, "differences", differences)


def empty_reports_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    original = replay.reports_of

    def reports_of(plan: Any, ranks: Any, rows: Any, *rest: Any) -> Any:
        return original(plan, ranks, {ranks.start + n: rows[rank] for n, rank in enumerate(sorted(rows))}, *rest)

    patch.setattr(replay, "reports_of", reports_of)


def the_other_window_before_its_close(patch: pytest.MonkeyPatch) -> None:
    """Where one window closes, the others show what they hold already, not what they held at their own last close."""
    original = instants._Steps._timed

    def timed(self: Any, window: Any, sight: Timed) -> Any:
        at_close, self.at_close = self.at_close, False
        found = original(self, window, sight)
        self.at_close = at_close
        return found

    patch.setattr(instants._Steps, "_timed", timed)


def doubles_in_the_sweep(patch: pytest.MonkeyPatch) -> None:
    """Doubles are added where they enter and taken back where they leave, which is not exact."""
    original = accumulators._sum

    def summed(stem: str, *arguments: Any, **options: Any) -> Any:
        found = original(stem, *arguments, **options)
        name = f"{stem}_x"
        zero = sql.cast(sql.num(0), "DOUBLE")
        outputs = []
        for output in found.outputs:
            changed = output.copy()
            for node in list(changed.find_all(sql.FoldDoubles)):
                node.replace(node.this)
            outputs.append(changed)
        inputs = [(each, sql.coalesce(value, zero.copy()) if each == name else value) for each, value in found.inputs]
        totals = [(each, exp.Sum(this=sql.col(name)) if each == name else total) for each, total in found.totals]
        return replace(found, inputs=tuple(inputs), totals=tuple(totals), outputs=tuple(outputs), spread=None)

    patch.setattr(accumulators, "_sum", summed)


def ties_by_the_other_tick(patch: pytest.MonkeyPatch) -> None:
    original = instants.find_instants
    other = {Tick.TIME: Tick.TUPLE, Tick.TUPLE: Tick.TIME}

    def find_instants(compilation: Any, timeline: Any, windows: Any) -> Any:
        return original(compilation, replace(timeline, tick=other[timeline.tick]), windows)

    patch.setattr(compiler, "find_instants", find_instants)


def the_newest_active_window(patch: pytest.MonkeyPatch) -> None:
    original = instants._Steps._timed

    def timed(self: Any, window: Any, sight: Timed) -> Any:
        newest = sight if self.at_close else replace(sight, grid=replace(sight.grid, width=sight.grid.step))
        return original(self, window, newest)

    patch.setattr(instants._Steps, "_timed", timed)


def count_windows_of_triples(patch: pytest.MonkeyPatch) -> None:
    original = instants._Steps._counted

    def counted(self: Any, window: Any, sight: Counted) -> Any:
        return original(self, window, replace(sight, unit=Unit.TRIPLES) if sight.unit is Unit.ELEMENTS else sight)

    patch.setattr(instants._Steps, "_counted", counted)

"""The classic mistakes, planted one by one: the random cases must notice each (semantics, section 11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from sqlglot import exp

from hydrograph.algebra.expressions import Exists
from hydrograph.algebra.nodes import Distinct, Filter, Group, LeftJoin, Minus, PathPattern, Slice, Values
from hydrograph.algebra.queries import ContinuousQuery, StreamOperator
from hydrograph.algebra.walk import subpatterns, variables
from hydrograph.bench.engines.replay import answer
from hydrograph.bench.oracle.cases import FULL, random_case
from hydrograph.bench.oracle.compare import compare_reports
from hydrograph.compile import aggregates, compiler, exists, joins, leaves, patterns, r2s, slices, sql, subtract
from hydrograph.compile.expressions.needs import merge_demands
from hydrograph.compile.relation import Part, Relation
from hydrograph.compile.scope import levelled
from hydrograph.compile.subtract import Outcome

FIRST_SEED, MOST = 70_000, 150
Patch = Callable[[pytest.MonkeyPatch], None]
Relevant = Callable[[ContinuousQuery], bool]


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
    from hydrograph.runtime.placement import drive, local

    def once(program: Any, run: Any, store: Any) -> Any:
        repeat = drive._repeat

        def stopped(program: Any, step: Any, kept: Any, run: Any, store: Any) -> None:
            kept[step.delta], found, _ = store(step.delta, run(program.query(step.query, kept)), None)
            kept[step.name], _, _ = store(step.name, found, None)

        drive._repeat = stopped
        try:
            return drive.drive(program, run, store)
        finally:
            drive._repeat = repeat

    patch.setattr(local, "drive", once)


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


def anything(query: ContinuousQuery) -> bool:
    del query
    return True


MUTANTS: tuple[tuple[Patch, Relevant], ...] = (
    (no_set_making, anything),
    (exists_as_join, asking_exists),
    (minus_without_shared_variables, disjoint_minus),
    (optional_per_row, having(LeftJoin)),
    (closed_at_the_end, anything),
    (no_row_for_an_empty_group, implicit_group),
    (changes_from_row_starts, changes),
    (sql_distinct, having(Distinct)),
    (limit_over_rows, having(Slice)),
    (set_making_before_quantising, anything),
    (null_joins_nothing, having(LeftJoin, Values)),
    (distinct_aggregates_count_all, distinct_aggregate),
    (order_ignores_offset, having(Slice)),
    (paths_stop_after_a_round, having(PathPattern)),
)


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "relevant"), MUTANTS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_planted_mistake_is_noticed(mutant: Patch, relevant: Relevant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    tried = 0
    for seed in count(FIRST_SEED):
        case = random_case(seed, FULL)
        if not relevant(case.query):
            continue
        tried += 1
        if compare_reports(case.expected(), answer(case, chunk_windows=None if seed % 2 else 1)):
            return
        if tried == MOST:
            break
    pytest.fail(f"{mutant.__name__} was not noticed in {MOST} cases from seed {FIRST_SEED}")

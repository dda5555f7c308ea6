"""Delta queries of a program (S36): the rows that its steps add when rows arrive, as SQL.

A step that looks at rows one by one (a pattern, a join, a filter, a union of such) can be maintained. It adds what it
makes of combinations in which at least one row is new. Rows never change afterwards, because they carry the ranks
`[lo, hi)` at which they are valid. The other steps, above them, read the maintained rows, clipped to the ranks that are
evaluated (S17).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.program import (
    Fixpoint,
    Let,
    Materialize,
    Program,
    Step,
    parameter_names,
    tables_of,
    with_steps,
)

NEW, OLD, ALL = "_new", "_old", "_all"
"""Suffixes of the name of a step: its new rows, its old rows, and all."""


@dataclass(frozen=True, slots=True)
class DeltaStep:
    """Maintained step: the query for the rows that it adds."""

    name: str
    query: exp.Query
    reads: frozenset[str]
    """The tables of the query: those of windows and of maintained steps, with their suffixes."""


@dataclass(frozen=True, slots=True)
class DeltaProgram:
    """Program in two parts: the steps that are maintained, and the rest, which runs for each report."""

    maintained: tuple[DeltaStep, ...]
    rest: Program
    """Reads the maintained rows under the names of the steps with the suffix `ALL`."""


def split_program(program: Program, static: Mapping[str, str]) -> DeltaProgram:
    """Return the two parts of a program; `static` are the tables of its static steps."""
    windows = {stream.name for stream in program.streams}
    moving = set(windows)
    row_wise: dict[str, Let | Materialize] = {}
    fixed: dict[str, Step] = {}
    known = {source.name for source in program.statics} | windows
    for step in program.steps:
        reads = {table.name for table in tables_of(step.query)}
        plain = isinstance(step, Let | Materialize) and parameter_names(step.query) <= program.constants.keys()
        if plain and not reads & moving and reads <= known:
            fixed[step.name] = step
            known.add(step.name)
        elif plain and reads <= known and _is_row_by_row(step.query):
            assert isinstance(step, Let | Materialize)
            row_wise[step.name] = step
            known.add(step.name)
            moving.add(step.name)
    kept = _steps_to_keep(program, row_wise, moving)
    added = {f"{name}{NEW}": Let(f"{name}{NEW}", _delta_query(step.query, moving)) for name, step in row_wise.items()}
    steps: dict[str, Step] = {**fixed, **{name: step for name, step in added.items() if name[: -len(NEW)] not in kept}}
    maintained = []
    for name in row_wise:
        if name in kept:
            query = with_steps(added[f"{name}{NEW}"].query, steps, static)
            tables = frozenset(table.name for table in tables_of(query)) - steps.keys()
            maintained.append(DeltaStep(name, query, tables))
    return DeltaProgram(tuple(maintained), _rest(program, row_wise, kept))


def _steps_to_keep(program: Program, row_wise: Mapping[str, Step], moving: set[str]) -> set[str]:
    """Return the steps whose rows are kept: a join reads them, or a step that is not maintained."""
    kept = {program.answer} & row_wise.keys()
    for step in program.steps:
        for query in _queries(step):
            reads = [table.name for table in tables_of(query)]
            if step.name not in row_wise or sum(name in moving for name in reads) > 1:
                kept |= row_wise.keys() & {*reads}
    return kept


def _rest(program: Program, row_wise: Mapping[str, Step], kept: set[str]) -> Program:
    steps: list[Step] = []
    for step in program.steps:
        if step.name not in row_wise:
            steps.append(step)
        elif step.name in kept:
            steps.append(Let(step.name, _clip(f"{step.name}{ALL}")))
    return replace(program, steps=tuple(steps))


def _clip(table: str) -> exp.Select:
    """Return the rows of a table that are valid at some of the ranks that are evaluated, clipped to them (S17)."""
    clipped = exp.Star(
        replace=[
            sql.alias(sql.greatest(sql.col("lo"), sql.parameter("k_from")), "lo"),
            sql.alias(sql.least(sql.col("hi"), sql.parameter("k_to")), "hi"),
        ]
    )
    query = sql.from_(sql.select(clipped), table)
    return query.where(
        sql.less(sql.col("lo"), sql.parameter("k_to")), sql.less(sql.parameter("k_from"), sql.col("hi")), copy=False
    )


def _delta_query(query: exp.Query, moving: set[str]) -> exp.Query:
    """Return the query for the rows that a step adds: one term for each table whose row may be new, without overlap."""
    terms = list(_delta_terms(query, moving))
    found: exp.Query = terms[0]
    for term in terms[1:]:
        found = exp.union(found, term, distinct=False, copy=False)
    return found


def _delta_terms(query: exp.Query, moving: set[str]) -> Iterator[exp.Query]:
    if isinstance(query, exp.Union):
        for side in (query.left, query.right):
            assert isinstance(side, exp.Query)
            yield from _delta_terms(side, moving)
        return
    places = sum(table.name in moving for table in tables_of(query))
    for new in range(places):
        term = query.copy()
        for place, table in enumerate([table for table in tables_of(term) if table.name in moving]):
            behind = NEW if place == new else ALL if place < new else OLD
            table.set("this", exp.to_identifier(f"{table.name}{behind}"))
        yield term


def _queries(step: Step) -> list[exp.Query]:
    inner = [each.query for each in step.steps] if isinstance(step, Fixpoint) else []
    return [step.query, *inner]


_NOT_ROW_BY_ROW = (
    exp.Window,
    exp.AggFunc,
    exp.Explode,
    exp.Unnest,
    nodes.RankRange,
    exp.Query,
    exp.Subquery,
    exp.Exists,
)
_CLAUSES = {"expressions", "from_", "joins", "where", "hint", "kind"}


def _is_row_by_row(query: exp.Query) -> bool:
    """Tell whether a query makes each row of one row of each table."""
    match query:
        case exp.Union():
            sides = (query.left, query.right)
            return not query.args.get("distinct") and all(
                isinstance(side, exp.Select) and _is_row_by_row(side) for side in sides
            )
        case exp.Select():
            return _is_plain_select(query)
        case _:
            return False


def _is_plain_select(query: exp.Select) -> bool:
    if {name for name, value in query.args.items() if value} - _CLAUSES:
        return False
    joins: list[exp.Join] = query.args.get("joins") or []
    if any(join.side or join.kind not in ("", "INNER", "CROSS") for join in joins):
        return False
    if "from_" not in query.args:
        return False
    sources = [query.args["from_"].this, *(join.this for join in joins)]
    for source in sources:
        inner = source.this if isinstance(source, exp.Subquery) else source
        if not isinstance(inner, exp.Table) and not (isinstance(inner, exp.Select) and _is_plain_select(inner)):
            return False
    looked_at = [*query.expressions, query.args.get("where"), *(join.args.get("on") for join in joins)]
    return not any(each is not None and each.find(*_NOT_ROW_BY_ROW) for each in looked_at)

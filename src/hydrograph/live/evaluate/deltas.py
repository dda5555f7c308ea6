"""What the steps of a program add when rows come (S36), as SQL.

A step that looks at its rows one by one (a pattern, a join, a filter, a union of such) adds to what it had before what
it makes of combinations in which at least one row is new; nothing that it made before ever changes, since rows come
with the ranks `[lo, hi)` at which they are valid. Such steps *follow* their input. The others, above them, read what
those have made, clipped to the ranks that are evaluated (S17).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.program import Fixpoint, Keep, Let, Program, Step, tables_of, with_steps

NEW, OLD, ALL = "_new", "_old", "_all"
"""Behind the name of a step: the rows that have come, those that were there, and both."""


@dataclass(frozen=True, slots=True)
class DeltaStep:
    """A step whose rows are kept, and the query for those that come."""

    name: str
    query: exp.Query
    reads: frozenset[str]
    """The tables of the query: of windows and of kept steps, with what stands behind their names."""


@dataclass(frozen=True, slots=True)
class DeltaProgram:
    """A program in two: what follows its input, and what is evaluated for each report."""

    followed: tuple[DeltaStep, ...]
    rest: Program
    """Reads the kept rows of steps under the names of the steps with `ALL` behind."""


def split_program(program: Program, standing: Mapping[str, str]) -> DeltaProgram:
    """Return the two parts of a program; `standing` are the tables in which static steps stand already."""
    windows = {stream.name for stream in program.streams}
    moving = set(windows)
    following: dict[str, Let | Keep] = {}
    fixed: dict[str, Step] = {}
    known = {source.name for source in program.statics} | windows
    for step in program.steps:
        reads = {table.name for table in tables_of(step.query)}
        plain = isinstance(step, Let | Keep) and _given(step.query) <= program.constants.keys()
        if plain and not reads & moving and reads <= known:
            fixed[step.name] = step
            known.add(step.name)
        elif plain and reads <= known and _is_row_by_row(step.query):
            assert isinstance(step, Let | Keep)
            following[step.name] = step
            known.add(step.name)
            moving.add(step.name)
    kept = _kept(program, following, moving)
    added = {f"{name}{NEW}": Let(f"{name}{NEW}", _added(step.query, moving)) for name, step in following.items()}
    steps: dict[str, Step] = {**fixed, **{name: step for name, step in added.items() if name[: -len(NEW)] not in kept}}
    followed = []
    for name in following:
        if name in kept:
            query = with_steps(added[f"{name}{NEW}"].query, steps, standing)
            tables = frozenset(table.name for table in tables_of(query)) - steps.keys()
            followed.append(DeltaStep(name, query, tables))
    return DeltaProgram(tuple(followed), _rest(program, following, kept))


def _kept(program: Program, following: Mapping[str, Step], moving: set[str]) -> set[str]:
    """Return the steps whose rows are read again: by a join, or by what does not follow."""
    kept = {program.answer} & following.keys()
    for step in program.steps:
        for query in _queries(step):
            reads = [table.name for table in tables_of(query)]
            if step.name not in following or sum(name in moving for name in reads) > 1:
                kept |= following.keys() & {*reads}
    return kept


def _rest(program: Program, following: Mapping[str, Step], kept: set[str]) -> Program:
    steps: list[Step] = []
    for step in program.steps:
        if step.name not in following:
            steps.append(step)
        elif step.name in kept:
            steps.append(Let(step.name, _clipped(f"{step.name}{ALL}")))
    return replace(program, steps=tuple(steps))


def _clipped(table: str) -> exp.Select:
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


def _added(query: exp.Query, moving: set[str]) -> exp.Query:
    """Return the query for what a step adds: one term for each place in which a new row may stand, none twice."""
    terms = list(_terms(query, moving))
    found: exp.Query = terms[0]
    for term in terms[1:]:
        found = exp.union(found, term, distinct=False, copy=False)
    return found


def _terms(query: exp.Query, moving: set[str]) -> Iterator[exp.Query]:
    if isinstance(query, exp.Union):
        for side in (query.left, query.right):
            assert isinstance(side, exp.Query)
            yield from _terms(side, moving)
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


def _given(query: exp.Query) -> set[str]:
    return {str(found.this) for found in query.find_all(exp.Placeholder)}


_NOT_ROW_BY_ROW = (exp.Window, exp.AggFunc, exp.Explode, exp.Unnest, nodes.RankRange, exp.Query, exp.Subquery, exp.Exists)
_CLAUSES = {"expressions", "from_", "joins", "where", "hint", "kind"}


def _is_row_by_row(query: exp.Query) -> bool:
    """Tell whether a query makes its rows of single rows of its tables, or of combinations of them."""
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

"""What a program reads of a table, found in its SQL: so that no more of a text is parsed than somebody asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from hydrograph.compile.program import Program


@dataclass(frozen=True, slots=True)
class Reads:
    """One place where a table is read: its columns, and the predicate that is asked for, None if any will do."""

    columns: frozenset[str]
    predicate: int | None


def reads_of(program: Program, table: str) -> Iterator[Reads]:
    """Return every place where the program reads a table."""
    for step in program.steps:
        for select in step.query.find_all(exp.Select):
            source = select.args.get("from_") or select.args.get("from")
            if source is not None and isinstance(source.this, exp.Table) and source.this.name == table:
                yield Reads(_columns(select), _predicate(select))


def _columns(select: exp.Select) -> frozenset[str]:
    return frozenset(column.name for column in select.find_all(exp.Column))


def _predicate(select: exp.Select) -> int | None:
    where = select.args.get("where")
    if where is None:
        return None
    for test in where.find_all(exp.EQ):
        if isinstance(test.this, exp.Column) and test.this.name == "p_id":
            value = test.expression
            while isinstance(value, exp.Cast | exp.Paren):
                value = value.this
            if isinstance(value, exp.Neg):
                return -int(value.this.this)
            if isinstance(value, exp.Literal):
                return int(value.this)
    return None

"""Program: the output of the compiler, a list of named steps, each a SQL tree, for both placements.

It is a program and not one SELECT, because property paths need a loop that Spark and DuckDB express differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile import sql
from hydrograph.compile.inputs import StaticInput, StreamInput
from hydrograph.compile.printers import Target, print_sql
from hydrograph.compile.relation import TermLayout
from hydrograph.rdf.terms import Variable


@dataclass(frozen=True, slots=True)
class Let:
    """Name the rows of a query."""

    name: str
    query: exp.Query


@dataclass(frozen=True, slots=True)
class Materialize:
    """Compute the rows of a query once and keep them: several later steps read them."""

    name: str
    query: exp.Query


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """Start with the rows of a query and add what the last of `steps` finds, until it finds nothing.

    The steps read all rows so far under `name`, those that the round before found under `delta`.
    """

    name: str
    query: exp.Query
    delta: str
    steps: tuple[Let, ...]


Step: TypeAlias = Let | Materialize | Fixpoint

MAX_ROUNDS = 1_000
"""Rounds after which a property path is given up."""


@dataclass(frozen=True, slots=True)
class Output:
    """A projected variable and the layout its column has."""

    variable: Variable
    stem: str
    layout: TermLayout


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column of the answer that orders the rows of a report."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in order; the last one's rows are the answer.

    With `rstream` rows they are valid at ranks `[lo, hi)`; with `istream` and `dstream` each row belongs to
    report `r` and counts `m` times.
    """

    steps: tuple[Step, ...]
    streams: tuple[StreamInput, ...]
    statics: tuple[StaticInput, ...]
    outputs: tuple[Output, ...]
    operator: StreamOperator
    keys: tuple[str, ...]
    """The hidden keys that the answer still carries."""
    domain: str | None
    """The table of evaluated ranks; None where no step reads it."""
    constants: Mapping[str, str]
    """The texts of the query that go in as parameters, by name."""
    predicates: Mapping[int, str] = field(default_factory=dict)
    """The texts of the predicates that patterns over streams name, by id."""
    order: tuple[SortKey, ...] = ()
    """Sort keys of the rows of one report; empty without ORDER BY."""
    instants: str | None = None
    """The step that finds the reports, `r` and `t`; None where they form a grid."""

    @property
    def answer(self) -> str:
        """The name of the last step."""
        return self.steps[-1].name

    def query(self, final: exp.Query, tables: Mapping[str, str] | None = None) -> exp.Query:
        """Return one query: the steps that `final` reads as common table expressions.

        `tables` maps steps to the tables that hold their rows already.
        """
        return with_steps(final, {step.name: step for step in self.steps}, tables or {})

    def text(self, target: Target, *, pretty: bool = True) -> str:
        """Return the whole program as SQL, for people."""
        texts = []
        for step in self.steps:
            match step:
                case Let():
                    pass
                case Materialize(name, query):
                    texts.append(f"-- keep as {name}\n{print_sql(self.query(query), target, pretty=pretty)}")
                case Fixpoint(name, query, delta, steps):
                    first = print_sql(self.query(query), target, pretty=pretty)
                    inner = {step.name: step for step in (*self.steps, *steps)}
                    again = print_sql(with_steps(select_all(steps[-1].name), inner, {}), target, pretty=pretty)
                    texts.append(f"-- keep as {name} and {delta}\n{first}")
                    texts.append(f"-- add to {name} and keep as {delta}, until nothing is found\n{again}")
        texts.append(print_sql(self.query(select_all(self.answer)), target, pretty=pretty))
        return "\n\n".join(texts)


def select_all(name: str) -> exp.Select:
    """Return a query for all rows of a step."""
    return exp.Select(expressions=[exp.Star()]).from_(sql.table(name), copy=False)


def with_steps(final: exp.Query, steps: Mapping[str, Step], tables: Mapping[str, str]) -> exp.Query:
    """Return `final` with every step it reads, directly or not, before it.

    The trees of the steps are shared, not copied: a change of the result changes the program.
    """
    asked = {table.name for table in tables_of(final)}
    needed: dict[str, tuple[exp.Query, set[str]]] = {}
    waiting = [asked]
    while waiting:
        for name in waiting.pop():
            step = steps.get(name)
            if isinstance(step, Let) and name not in needed and name not in tables:
                reads = {table.name for table in tables_of(step.query)}
                needed[name] = step.query, reads
                waiting.append(reads)
    named = [
        exp.CTE(this=_reading(*needed[name], tables), alias=exp.TableAlias(this=exp.to_identifier(name)))
        for name in steps
        if name in needed
    ]
    query = _reading(final, asked, tables)
    return type(query)(**{**query.args, "with_": exp.With(expressions=named)}) if named else query


def _reading(query: exp.Query, reads: set[str], tables: Mapping[str, str]) -> exp.Query:
    """Return the query, which `reads` these, with the tables in which rows of steps stand in place of the steps."""
    if all(tables.get(name, name) == name for name in reads):
        return query
    renamed = query.copy()
    for table in tables_of(renamed):
        if table.name in tables:
            table.set("this", exp.to_identifier(tables[table.name]))
    return renamed


_TABLELESS = exp.Column, exp.Identifier, exp.Literal, exp.DataType, exp.Placeholder, exp.Null
"""Most nodes of a query: no table lies below them."""


def tables_of(query: exp.Query) -> Iterator[exp.Table]:
    """Yield the tables of a query; sqlglot's own walk takes several times as long."""
    waiting: list[exp.Expr] = [query]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Table):
            yield node
            continue
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                if not isinstance(value, _TABLELESS):
                    waiting.append(value)
            elif isinstance(value, list):
                waiting += [each for each in value if isinstance(each, exp.Expr) and not isinstance(each, _TABLELESS)]


def static_steps(program: Program) -> tuple[Let | Materialize, ...]:
    """Return the steps that read only static data and are read by others, in order (S27).

    Their rows do not depend on the streams, so that a program which is run repeatedly computes them once. A `Let` that
    only static steps read is not listed: it is part of their queries.
    """
    static = {source.name for source in program.statics}
    given = set(program.constants)
    found: dict[str, Let | Materialize] = {}
    reads: dict[str, set[str]] = {}
    for step in program.steps:
        reads[step.name] = {table.name for table in tables_of(step.query)}
        fixed = reads[step.name] <= static | found.keys() and parameter_names(step.query) <= given
        if isinstance(step, Let | Materialize) and reads[step.name] and fixed:
            found[step.name] = step
    used = {name for step, names in reads.items() if step not in found for name in names}
    used.add(program.answer)
    # What is kept is read as a table, by static steps too: no query has it inside.
    return tuple(step for name, step in found.items() if name in used or isinstance(step, Materialize))


def parameter_names(query: exp.Query) -> set[str]:
    """Return the names of the parameters in a query."""
    return {str(found.this) for found in query.find_all(exp.Placeholder)}

"""What the compiler gives: a short program of named steps, each a SQL tree, for both placements.

A program, not one SELECT: property paths need a loop that SQL can't say the same way on both targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from sqlglot import exp

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile import sql
from hydrograph.compile.print import Target, print_sql
from hydrograph.compile.relation import Form
from hydrograph.compile.reporting import Sight
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.windows.scope import Grid


@dataclass(frozen=True, slots=True)
class Let:
    """Name the rows of a query."""

    name: str
    query: exp.Query


@dataclass(frozen=True, slots=True)
class Keep:
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


Step: TypeAlias = Let | Keep | Fixpoint

DOMAIN = "domain"
"""The table of the evaluated ranks `[lo, hi)`, one row for each value of the hidden keys."""
STATIC, QUADS, GRAPHS = "static", "quads", "graphs"
"""The tables of the static default graph, of the named graphs' triples, and of the named graphs' names."""
CLOSES = "closes"
"""The table of the instants `t` that are reported whatever the data, where the reports form no grid."""
MAX_ROUNDS = 1_000
"""Rounds after which a property path is given up."""


class SetMaking(Enum):
    """How the arrivals of one triple are made disjoint (S19)."""

    NEXT_COLUMN = "next"
    """The stream carries the time of each triple's next arrival: nothing is left to do."""
    LEAD = "lead"
    """Find the next arrival with one window function."""
    STAMPED = "stamped"
    """The reports form no grid: the program finds them, and the ranks at which the window shows each element."""
    DONE = "done"
    """The rows come stamped, disjoint, and cut where there are chunks: `lo`, `hi` and `chunk` stand in place of `t`."""
    NOT_NEEDED = "none"
    """The stream is proven free of repeats within the window."""


@dataclass(frozen=True, slots=True)
class StreamInput:
    """The encoded events of a stream as one window sees them."""

    name: str
    """The table the program reads."""
    stream: Iri
    grid: Grid | None
    """The windows in the time of the elements; None where the reports form no grid."""
    shift: int
    """The report rank at which window 0 closes: not 0 where another window of the query closes before it (S31)."""
    set_making: SetMaking
    sight: Sight | None = None
    """When the window shows an element, where the reports form no grid."""
    stream_rank: int = 0
    """The stream's place among those of the query, which orders elements of one time."""


@dataclass(frozen=True, slots=True)
class StaticInput:
    """An encoded static graph; `graph` is None for the default graph."""

    name: str
    graph: Iri | None = None


@dataclass(frozen=True, slots=True)
class Chunking:
    """How rows are cut by time so that recurring keys meet only near each other (S17, A14)."""

    ranks: int
    """The length of a chunk in ranks: at least four windows, so a row lies in two chunks at most."""
    partitions: int
    """How many partitions Spark spreads the chunks over."""


@dataclass(frozen=True, slots=True)
class Output:
    """A projected variable and the form its column has."""

    variable: Variable
    stem: str
    form: Form


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
    """How the rows of one report are ordered, where the query says so."""
    instants: str | None = None
    """The step that finds the reports, `r` and `t`; None where they form a grid."""

    @property
    def answer(self) -> str:
        """The name of the last step."""
        return self.steps[-1].name

    def query(self, final: exp.Query, tables: Mapping[str, str] | None = None) -> exp.Query:
        """Return one query: the steps that `final` reads as common table expressions.

        `tables` gives the tables in which the rows of steps stand already.
        """
        return with_steps(final, {step.name: step for step in self.steps}, tables or {})

    def text(self, target: Target, *, pretty: bool = True) -> str:
        """Return the whole program as SQL, for people."""
        texts = []
        for step in self.steps:
            match step:
                case Let():
                    pass
                case Keep(name, query):
                    texts.append(f"-- keep as {name}\n{print_sql(self.query(query), target, pretty=pretty)}")
                case Fixpoint(name, query, delta, steps):
                    first = print_sql(self.query(query), target, pretty=pretty)
                    inner = {step.name: step for step in (*self.steps, *steps)}
                    again = print_sql(with_steps(read(steps[-1].name), inner, {}), target, pretty=pretty)
                    texts.append(f"-- keep as {name} and {delta}\n{first}")
                    texts.append(f"-- add to {name} and keep as {delta}, until nothing is found\n{again}")
        texts.append(print_sql(self.query(read(self.answer)), target, pretty=pretty))
        return "\n\n".join(texts)


def read(name: str) -> exp.Select:
    """Return a query for all rows of a step."""
    return exp.Select(expressions=[exp.Star()]).from_(sql.table(name), copy=False)


def with_steps(final: exp.Query, steps: Mapping[str, Step], tables: Mapping[str, str]) -> exp.Query:
    """Return `final` with every step it reads, directly or not, before it.

    Steps stand in it as they are, not as copies: whoever changes the tree changes the program.
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
    """Give the tables of a query; sqlglot's own walk takes several times as long."""
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

"""What the compiler gives: a short program of named steps, each a SQL tree, for both placements.

A program, not one SELECT: property paths need a loop that SQL can't say the same way on both targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from sqlglot import exp

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile.print import Target, print_sql
from hydrograph.compile.relation import Form
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.windows.scope import Grid


@dataclass(frozen=True, slots=True)
class Let:
    """Name the rows of a query."""

    name: str
    query: exp.Select


Step: TypeAlias = Let


class SetMaking(Enum):
    """How the arrivals of one triple are made disjoint (S19)."""

    NEXT_COLUMN = "next"
    """The stream carries the time of each triple's next arrival: nothing is left to do."""
    LEAD = "lead"
    """Find the next arrival with one window function."""
    NOT_NEEDED = "none"
    """The stream is proven free of repeats within the window."""


@dataclass(frozen=True, slots=True)
class StreamInput:
    """The encoded events of a stream as one window sees them."""

    name: str
    """The table the program reads."""
    stream: Iri
    grid: Grid
    shift: int
    """The report rank at which window 0 closes: not 0 where another window of the query closes before it (S31)."""
    set_making: SetMaking


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
    reads_domain: bool
    """Whether a step reads the table of evaluated ranks."""
    constants: Mapping[str, str]
    """The texts of the query that go in as parameters, by name."""

    @property
    def answer(self) -> str:
        """The name of the last step."""
        return self.steps[-1].name

    def query(self, final: exp.Select) -> exp.Select:
        """Return one query: every step as a common table expression, `final` reading them."""
        query = final
        for step in self.steps:
            query = query.with_(step.name, as_=step.query, copy=False)
        return query

    def text(self, target: Target, *, pretty: bool = True) -> str:
        """Return the whole program as SQL, for people."""
        final = exp.Select(expressions=[exp.Star()]).from_(exp.to_table(self.answer))
        return print_sql(self.query(final), target, pretty=pretty)

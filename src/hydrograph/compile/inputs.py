"""Inputs of a compilation: tables of streams and static graphs, and how windows show their elements.

Records only. Where the reports form a grid (S8), a window is its `Grid`. Where they do not, `Timeline` describes which
instants are reported and `Visibility` when a window shows an element (S10-S13, S31, A5); `report_instants` makes steps
of both, and `hydrograph.windows` is the specification that they are checked against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.report import Policy
from hydrograph.windows.scope import Grid
from hydrograph.windows.tick import Tick


@dataclass(frozen=True, slots=True)
class TimeVisibility:
    """A time window: its grid, which a past window has `delay` later than its elements."""

    grid: Grid
    delay: Duration = 0


class CountUnit(Enum):
    """Unit that a count window counts."""

    ELEMENTS = "elements"
    TRIPLES = "triples"
    TIMES = "times"
    """Different times: the instants of the time tick."""


@dataclass(frozen=True, slots=True)
class CountVisibility:
    """The last `size` units, every `slide` of them; NOW is the last one (A5)."""

    size: int
    slide: int
    unit: CountUnit


@dataclass(frozen=True, slots=True)
class AllVisibility:
    """All elements since t0."""


Visibility: TypeAlias = TimeVisibility | CountVisibility | AllVisibility
"""Rule that decides at which instants a window shows an element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The reports of a query, to be found in its data."""

    policy: Policy
    tick: Tick
    t0: Instant
    closes: str
    """The table of the instants `t` that are known before any data is read: closes of time windows, or periods."""
    after: Instant | None = None
    until: Instant | None = None
    bucket: Duration = 1
    """Running sums are taken bucket by bucket of so many milliseconds, because one over all rows would be one task."""
    shared: bool = True
    """True if several patterns read the same window, so that its content is materialised once."""
    moving: bool = False
    """True if `after`, `until` and earlier counts of windows are parameters of every run, not fixed here."""


DOMAIN = "domain"
"""The table of the evaluated ranks `[lo, hi)`, one row for each value of the hidden keys."""


STATIC, QUADS, GRAPHS = "static", "quads", "graphs"
"""The tables of the static default graph, of the named graphs' triples, and of the named graphs' names."""


CLOSES = "closes"
"""The table of the instants `t` that are reported whatever the data, where the reports form no grid."""


class Deduplication(Enum):
    """Deduplication of the arrivals of one triple: their intervals are made disjoint (S19)."""

    NEXT_COLUMN = "next"
    """The stream carries the time of each triple's next arrival: nothing is left to do."""
    LEAD = "lead"
    """Find the next arrival with one window function."""
    STAMPED = "stamped"
    """The reports form no grid: the program finds them, and the ranks at which the window shows each element."""
    DONE = "done"
    """The rows come stamped, disjoint and cut into chunks: they have `lo`, `hi` and `chunk` in place of `t`."""
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
    deduplication: Deduplication
    visibility: Visibility | None = None
    """Visibility of elements in the window, where the reports form no grid."""
    stream_rank: int = 0
    """The stream's place among those of the query, which orders elements of one time."""


@dataclass(frozen=True, slots=True)
class StaticInput:
    """An encoded static graph; `graph` is None for the default graph."""

    name: str
    graph: Iri | None = None


@dataclass(frozen=True, slots=True)
class Chunking:
    """Partitioning of rows by time, so that recurring keys are joined only with rows near in time (S17, A14)."""

    ranks: int
    """The length of a chunk in ranks: at least four windows, so a row lies in two chunks at most."""
    partitions: int
    """Number of Spark partitions for the chunks."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Tables that a program may read: the windows of the query by name, and the static graphs."""

    windows: Mapping[Iri | None, StreamInput]
    statics: Mapping[Iri | None, StaticInput]
    keys: tuple[str, ...] = ()
    """Hidden keys that the input tables carry already, such as the number of a stream in a test plan."""
    chunking: Chunking | None = None
    broadcast: bool = True
    """True if static graphs are small enough for a broadcast join."""
    exact_numbers: bool = False
    """True if neither data nor query has a float or a double, so that every sum is exact."""
    quads: StaticInput | None = None
    """The static named graphs: the columns of a triple and its graph, `g` and `g_id`."""
    graphs: StaticInput | None = None
    """The names `g` and `g_id` of the static named graphs, empty ones included."""
    merged: tuple[Iri, ...] = ()
    """The named graphs that FROM makes part of the default graph."""
    domain: str = DOMAIN
    """The name of the table of evaluated ranks."""
    only: tuple[Iri, ...] | None = None
    """The graphs of FROM NAMED; None where the query names no graph at all, and so sees all."""
    feeding: tuple[Iri, ...] = ()
    """The windows that feed the default graph, under the names they have in `windows` (A4, A9)."""
    timeline: Timeline | None = None
    """Description of the reports; None where they form a grid."""

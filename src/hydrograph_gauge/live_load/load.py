"""A stream at a steady rate, handed to a live query as encoded rows; when each report's window could close is noted."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hydrograph import api
from hydrograph.live.step.units import Unit
from hydrograph.rdf.encoding import encode_text
from hydrograph.streams.schema import EVENTS, TRIPLES
from hydrograph.streams.static import Given

WARM = {"local": 10_000, "spark": 25_000}
"""Milliseconds of the stream whose reports are left out of latencies; the Java machine compiles for longer."""
STREAM = "urn:bench:stream"
STEP = 1_000
RANGE = 5_000
PREDICATES = "pqr"
Numbers: TypeAlias = NDArray[np.int64]
SLICE = 20
"""Milliseconds of the stream that are handed over together."""
_PASSING = 5_000
_PREFIX = "PREFIX : <urn:bench:>"
_SPAN = "RANGE 5s STEP 1s"
_WINDOW = f"FROM NAMED WINDOW :w ON :stream [{_SPAN}]"
_CHAIN = "WINDOW :w { ?a :p ?b . ?b :q ?c . ?c :r ?d }"
QUERIES = {
    "filter": f"{_PREFIX} SELECT ?a ?b {_WINDOW} WHERE {{ WINDOW :w {{ ?a :p ?b FILTER(?b = :n7 || ?b = :n8) }} }}",
    "join": f"{_PREFIX} SELECT ?a ?b ?c ?d {_WINDOW} WHERE {{ {_CHAIN} }}",
    "hybrid": f"{_PREFIX} SELECT ?a ?b ?kind {_WINDOW} WHERE {{ WINDOW :w {{ ?a :p ?b }} ?b :kind ?kind }}",
    "aggregate": f"{_PREFIX} SELECT ?p (COUNT(*) AS ?n) {_WINDOW} WHERE {{ WINDOW :w {{ ?a ?p ?b }} }} GROUP BY ?p",
}
GROWING = {
    "join": QUERIES["join"],
    "count": f"{_PREFIX} SELECT (COUNT(*) AS ?n) {_WINDOW} WHERE {{ {_CHAIN} }}",
    "aggregate": QUERIES["aggregate"],
}
"""Queries whose cost is compared over windows of several lengths: all answers, or a number that is made of them."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The triples of some milliseconds as numbers: of nodes, and of predicates among `PREDICATES`."""

    start: int
    t: Numbers
    s: Numbers
    p: Numbers
    o: Numbers


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows of some milliseconds."""

    start: int
    events: pa.Table


def nodes_at(rate: int) -> int:
    """Return over how many nodes a stream of such a rate speaks."""
    return max(1000, 6 * rate)


def draws(rate: int, milliseconds: int, seed: int = 1, *, passing: bool = False) -> Iterator[Drawn]:
    """Return a stream of three predicates over many nodes as numbers: one slice after the other, the same each time.

    Nodes that are `passing` are spoken of for five seconds and then no more, so that a longer window does not make more
    of each triple.
    """
    rng = np.random.default_rng(seed)
    pool, each = nodes_at(rate), rate * SLICE // 1000
    for start in range(0, milliseconds, SLICE):
        s, o = rng.integers(0, pool, (2, each)) + (pool * start // _PASSING if passing else 0)
        yield Drawn(start, start + np.arange(each) * SLICE // each, s, rng.integers(0, len(PREDICATES), each), o)


def slices(rate: int, milliseconds: int, seed: int = 1, *, passing: bool = False) -> Iterator[Slice]:
    """Return the stream as encoded rows, in slices of equal length that are made as they are asked for."""
    pool = nodes_at(rate)
    nodes = [f"<urn:bench:n{number}>" for number in range(pool + (pool * milliseconds // _PASSING if passing else 0))]
    node_ids = np.array([encode_text(text).id for text in nodes], np.int64)
    names = [f"<urn:bench:{name}>" for name in PREDICATES]
    name_ids = np.array([encode_text(text).id for text in names], np.int64)
    node_texts, name_texts = pa.array(nodes), pa.array(names)
    number, kind = 0, int(encode_text(nodes[0]).kind)
    for drawn in draws(rate, milliseconds, seed, passing=passing):
        each = len(drawn.t)
        columns = {
            "t": pa.array(drawn.t.astype(np.int64)),
            "seq": pa.array(np.arange(number, number + each)),
            "t_next": pa.nulls(each, pa.int64()),
            "s": node_texts.take(pa.array(drawn.s)),
            "p": name_texts.take(pa.array(drawn.p)),
            "o": node_texts.take(pa.array(drawn.o)),
            "s_id": pa.array(node_ids[drawn.s]),
            "p_id": pa.array(name_ids[drawn.p]),
            "o_id": pa.array(node_ids[drawn.o]),
            "o_kind": pa.array(np.zeros(each, np.int8) + kind),
            "o_num": pa.nulls(each, pa.float64()),
            "o_dec": pa.nulls(each, pa.decimal128(38, 18)),
        }
        number += each
        yield Slice(drawn.start, pa.table([columns[name] for name in EVENTS.names], schema=EVENTS))


def kinds(rate: int) -> dict[int, int]:
    """Return of every tenth node what it is."""
    rng = Random(2)
    return {number: rng.randrange(20) for number in range(0, nodes_at(rate), 10)}


def static_kinds(rate: int) -> pa.Table:
    """Return a static graph that says of every tenth node what it is."""
    rows = []
    says = encode_text("<urn:bench:kind>")
    for node, kind in kinds(rate).items():
        s, o = encode_text(f"<urn:bench:n{node}>"), encode_text(f"<urn:bench:k{kind}>")
        rows.append((s.text, says.text, o.text, s.id, says.id, o.id, int(o.kind), None, None))
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, TRIPLES, strict=True)], schema=TRIPLES)


@dataclass(slots=True)
class Measured:
    """What a run has shown."""

    latencies: list[float] = field(default_factory=list)
    """Milliseconds from the hand-over of the first element behind a window to its report, in order."""
    behind: float = 0.0
    """Milliseconds by which the player fell behind, at most."""
    steps: dict[str, float] = field(default_factory=dict)
    """Milliseconds of each step in the whole run."""
    reports: int = 0
    rows: int = 0
    seconds: float = 0.0
    evaluation: str = ""
    """How the reports were evaluated, in words."""
    cpu: float = 0.0
    """Microseconds of processor time for each triple of the last third of the run, player and log included."""

    def percentile(self, share: float) -> float:
        """Return the latency that such a share does not exceed."""
        return float(np.percentile(self.latencies, 100 * share)) if self.latencies else float("nan")

    @property
    def lag(self) -> str:
        """`growing` if reports of the last third come clearly later than those of the first."""
        if not self.latencies:
            return "growing"
        third = max(1, len(self.latencies) // 3)
        first, last = np.median(self.latencies[:third]), np.median(self.latencies[-third:])
        return "growing" if last > 2 * first + 100 else "flat"


def measure(query: str, rate: int, seconds: int, *, placement: str, driver: str = "loop") -> Measured:
    """Play a stream at a rate to one live query, and note when its reports come."""
    static = static_kinds(rate) if query == "hybrid" else None
    parts = [*slices(rate, 1000 * seconds)]
    return played(api.query(QUERIES[query]), parts, static, placement=placement, driver=driver)


def grown(query: str, rate: int, seconds: int, span: str, *, placement: str) -> Measured:
    """Play a stream of passing nodes to a query with another window."""
    text = GROWING[query].replace(_SPAN, span)
    parts = [*slices(rate, 1000 * seconds, passing=True)]
    return played(api.query(text), parts, None, placement=placement)


def same(t: int) -> int:
    """Return the time of the element that closes a window: its close."""
    return t


def played(
    query: api.Query,
    parts: Sequence[Slice],
    static: Given | None,
    *,
    placement: str,
    driver: str = "loop",
    shown_by: Callable[[int], int] = same,
) -> Measured:
    """Play slices to a query when they are due; return how soon it reported.

    `shown_by` tells for the time of a report which slice, by its start, has what the report waits for; a report for
    which there is no such slice has no latency.
    """
    given: dict[int, float] = {}
    found: dict[int, float] = {}
    rows = 0

    def taken(unit: Unit) -> None:
        nonlocal rows
        found[unit.report.t] = time.perf_counter()
        rows += len(unit.report.rows)

    (name,) = {window.stream.value for window in query.algebra.windows}
    with tempfile.TemporaryDirectory(prefix="hydrograph-bench-") as directory:
        live = query.start(
            {name: "push:"},
            static,
            checkpoint=f"{directory}/checkpoint",
            results=f"{directory}/results",
            on_unit=taken,
            placement=placement,
            driver=driver,
        )
        stream = live.streams[name]
        measured = Measured()
        started = time.perf_counter()
        late, spent = parts[2 * len(parts) // 3].start, 0.0
        for part in parts:
            if part.start == late:
                spent = time.process_time()
            due = started + part.start / 1000
            wait = due - time.perf_counter()
            if wait > 0:
                threading.Event().wait(wait)
            measured.behind = max(measured.behind, -1000 * wait)
            given[part.start] = time.perf_counter()
            stream.send_table(part.events)
        measured.seconds = time.perf_counter() - started
        triples = sum(part.events.num_rows for part in parts if part.start >= late)
        measured.cpu = 1e6 * (time.process_time() - spent) / triples
        stream.end()
        live.wait()
        measured.steps = dict(live.runner.progress.totals)
        measured.evaluation = next((each["evaluation"] for each in live.status()["queries"].values()), "")
    closed = [t for t in sorted(found) if t > WARM[placement] and shown_by(t) in given]
    measured.latencies = [1000 * (found[t] - given[shown_by(t)]) for t in closed]
    measured.reports, measured.rows = len(found), rows
    return measured

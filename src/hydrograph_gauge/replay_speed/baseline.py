"""The best a practitioner has: one pyoxigraph store that adds and removes the slide's triples, asked once a slide."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyoxigraph as ox
from xxhash import xxh64_intdigest

from hydrograph.runtime.digest import Digest
from hydrograph_gauge.replay_speed.world import RATE

SLIDE, WIDTH = 1_000, 5_000
PER_SLIDE = SLIDE * RATE
_SEED, _MODULUS = 42, 2**64


@dataclass(frozen=True, slots=True)
class Timed:
    """What a run gave and how long its measured part took."""

    seconds: float
    store_seconds: float
    digests: list[Digest]


Slide: TypeAlias = "list[str] | pa.Table"
"""The triples of a slide: lines of timed N-Triples, or rows with the columns s, p and o."""


def run(query: str, slides: Iterable[Slide], static: pa.Table | None) -> Timed:
    """Answer `query` for every slide; `seconds` is all of it, `store_seconds` leaves out the making of quads.

    The quickest way to quads in Python is pyoxigraph's own parser, for rows of Parquet as well.
    """
    store = ox.Store()
    if static is not None:
        store.bulk_extend(_quads("\n".join(_statements(static))))
    window: deque[list[ox.Quad]] = deque()
    digests = []
    spent, reading = 0.0, 0.0
    for number, slide in enumerate(slides):
        started = time.perf_counter()
        quads = _quads(_text(slide))
        reading += time.perf_counter() - started
        if len(window) == WIDTH // SLIDE:
            for quad in window.popleft():
                store.remove(quad)
        store.extend(quads)
        window.append(quads)
        if len(window) == WIDTH // SLIDE:
            digests.append(_answer(store, query, (number + 1) * SLIDE))
        spent += time.perf_counter() - started
    return Timed(spent, spent - reading, digests)


def _answer(store: ox.Store, query: str, t: int) -> Digest:
    """Return row count and order-free hash, with the same definition as the engine's digests."""
    count, total = 0, 0
    solutions = store.query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    for solution in solutions:
        hashed = _SEED
        for term in solution:
            hashed = xxh64_intdigest(str(term).encode(), hashed)
        total += hashed
        count += 1
    return Digest(t, count, total % _MODULUS)


def line_slides(lines: list[str]) -> list[Slide]:
    """Cut lines in order of time into slides."""
    return [lines[start : start + PER_SLIDE] for start in range(0, len(lines) - PER_SLIDE + 1, PER_SLIDE)]


def row_slides(rows: pa.Table) -> list[Slide]:
    """Cut rows in order of time into slides."""
    return [rows.slice(start, PER_SLIDE) for start in range(0, len(rows) - PER_SLIDE + 1, PER_SLIDE)]


def _text(slide: Slide) -> str:
    if isinstance(slide, pa.Table):
        return "\n".join(_statements(slide))
    return "\n".join([line.partition("\t")[2] for line in slide])


def _quads(text: str) -> list[ox.Quad]:
    return list(ox.parse(text.encode(), format=ox.RdfFormat.N_TRIPLES, lenient=True))


def _statements(static: pa.Table) -> Iterator[str]:
    columns = (static.column(name).to_pylist() for name in ("s", "p", "o"))
    return (f"{s} {p} {o} ." for s, p, o in zip(*columns, strict=True))

"""The best a practitioner has: one pyoxigraph store that adds and removes the slide's triples, asked once a slide."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyoxigraph as ox
from xxhash import xxh64_intdigest

from hydrograph.bench.replay.world import RATE
from hydrograph.runtime.digest import Digest

SLIDE, WIDTH = 1_000, 5_000
_PER_SLIDE = SLIDE * RATE
_SEED, _MODULUS = 42, 2**64


@dataclass(frozen=True, slots=True)
class Timed:
    """What a run gave and how long its measured part took."""

    seconds: float
    digests: list[Digest]


def run(query: str, lines: list[str], static: pa.Table | None, *, parse: bool) -> Timed:
    """Answer `query` for every full slide of `lines`, which are timed N-Triples in order of time.

    With `parse` the reading of the text is measured, else it is done beforehand and only the store is.
    """
    store = ox.Store()
    if static is not None:
        store.bulk_extend(_quads("\n".join(_statements(static))))
    window: deque[list[ox.Quad]] = deque()
    digests = []
    spent = 0.0
    for number, slide in enumerate(_slides(lines)):
        started = time.perf_counter()
        quads = _quads(_without_times(slide))
        if not parse:
            started = time.perf_counter()
        if len(window) == WIDTH // SLIDE:
            for quad in window.popleft():
                store.remove(quad)
        store.extend(quads)
        window.append(quads)
        if len(window) == WIDTH // SLIDE:
            digests.append(_answer(store, query, (number + 1) * SLIDE))
        spent += time.perf_counter() - started
    return Timed(spent, digests)


def _answer(store: ox.Store, query: str, t: int) -> Digest:
    """Return row count and order-free hash, with the same definition as the engine's digests."""
    count, total = 0, 0
    for solution in store.query(query):
        hashed = _SEED
        for term in solution:
            hashed = xxh64_intdigest(str(term).encode(), hashed)
        total += hashed
        count += 1
    return Digest(t, count, total % _MODULUS)


def _slides(lines: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(lines) - _PER_SLIDE + 1, _PER_SLIDE):
        yield lines[start : start + _PER_SLIDE]


def _without_times(lines: list[str]) -> str:
    return "\n".join([line.partition("\t")[2] for line in lines])


def _quads(text: str) -> list[ox.Quad]:
    return list(ox.parse(text.encode(), format=ox.RdfFormat.N_TRIPLES, lenient=True))


def _statements(static: pa.Table) -> Iterator[str]:
    columns = (static.column(name).to_pylist() for name in ("s", "p", "o"))
    return (f"{s} {p} {o} ." for s, p, o in zip(*columns, strict=True))

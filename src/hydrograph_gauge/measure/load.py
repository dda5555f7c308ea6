"""Synthetic load of the live measurements: a random stream at a steady rate, a static graph, and the queries over them.

The same seed gives the same stream: as numbers (`draw_numbers`), as encoded rows for a live query (`make_slices`), and
as elements for an engine in a process of its own (`make_elements`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hydrograph.rdf.encoding import encode_text
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.streams.schema import EVENTS, TRIPLES
from hydrograph.windows.stream import Element

STREAM = "urn:bench:stream"
STEP = 1_000
RANGE = 5_000
SLICE = 20
"""Milliseconds of the stream that are handed over together."""
PREDICATES = "pqr"
Numbers: TypeAlias = NDArray[np.int64]
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
GROWTH_QUERIES = {
    "join": QUERIES["join"],
    "count": f"{_PREFIX} SELECT (COUNT(*) AS ?n) {_WINDOW} WHERE {{ {_CHAIN} }}",
    "aggregate": QUERIES["aggregate"],
}
"""Queries whose cost is compared over windows of several lengths: all answers, or a number computed from them."""
_BLOCK = "STREAM :stream [RANGE 5s]"
CHANGE_QUERIES = {
    "filter": f"{_PREFIX} SELECT ?a ?b {{ {_BLOCK} {{ ?a :p ?b FILTER(STRENDS(STR(?b), '7')) }} }}",
    "join": f"{_PREFIX} SELECT ?a ?b ?c ?d {{ {_BLOCK} {{ ?a :p ?b . ?b :q ?c . ?c :r ?d }} }}",
    "hybrid": f"{_PREFIX} SELECT ?a ?b ?kind {{ {_BLOCK} {{ ?a :p ?b }} ?b :kind ?kind }}",
}
"""Queries in CQELS' language, which report as soon as content changes."""


@dataclass(frozen=True, slots=True)
class NumberSlice:
    """Triples of some milliseconds as numbers: of nodes, and of predicates among `PREDICATES`."""

    start: int
    t: Numbers
    s: Numbers
    p: Numbers
    o: Numbers


@dataclass(frozen=True, slots=True)
class EventSlice:
    """Encoded rows of some milliseconds."""

    start: int
    events: pa.Table


def set_window(text: str, span: str) -> str:
    """Return a query of the load with another window, such as `RANGE 60s STEP 1s`."""
    return text.replace(_SPAN, span)


def count_nodes(rate: int) -> int:
    """Return the number of nodes in a stream of such a rate."""
    return max(1000, 6 * rate)


def draw_numbers(rate: int, milliseconds: int, seed: int = 1, *, passing: bool = False) -> Iterator[NumberSlice]:
    """Yield a stream of three predicates over many nodes as numbers, slice by slice.

    `passing` nodes occur for five seconds only, so that a longer window does not join more triples with each other.
    """
    rng = np.random.default_rng(seed)
    pool, each = count_nodes(rate), rate * SLICE // 1000
    for start in range(0, milliseconds, SLICE):
        s, o = rng.integers(0, pool, (2, each)) + (pool * start // _PASSING if passing else 0)
        yield NumberSlice(start, start + np.arange(each) * SLICE // each, s, rng.integers(0, len(PREDICATES), each), o)


def make_slices(rate: int, milliseconds: int, seed: int = 1, *, passing: bool = False) -> Iterator[EventSlice]:
    """Yield the stream as encoded rows, in slices of equal length that are computed on demand."""
    pool = count_nodes(rate)
    nodes = [f"<urn:bench:n{number}>" for number in range(pool + (pool * milliseconds // _PASSING if passing else 0))]
    node_ids = np.array([encode_text(text).id for text in nodes], np.int64)
    names = [f"<urn:bench:{name}>" for name in PREDICATES]
    name_ids = np.array([encode_text(text).id for text in names], np.int64)
    node_texts, name_texts = pa.array(nodes), pa.array(names)
    number, kind = 0, int(encode_text(nodes[0]).kind)
    for drawn in draw_numbers(rate, milliseconds, seed, passing=passing):
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
        yield EventSlice(drawn.start, pa.table([columns[name] for name in EVENTS.names], schema=EVENTS))


def make_elements(rate: int, milliseconds: int) -> Iterator[Element]:
    """Yield the stream as elements, one for each instant."""
    nodes = [Iri(f"urn:bench:n{number}") for number in range(count_nodes(rate))]
    predicates = [Iri(f"urn:bench:{name}") for name in PREDICATES]
    number = 0
    for drawn in draw_numbers(rate, milliseconds):
        by_time: dict[int, set[Triple]] = {}
        for t, s, p, o in zip(*(each.tolist() for each in (drawn.t, drawn.s, drawn.p, drawn.o)), strict=True):
            by_time.setdefault(t, set()).add(Triple(nodes[s], predicates[p], nodes[o]))
        for t, triples in by_time.items():
            yield Element(t, number, frozenset(triples))
            number += 1


def draw_kinds(rate: int) -> dict[int, int]:
    """Return a kind for every tenth node."""
    rng = Random(2)
    return {number: rng.randrange(20) for number in range(0, count_nodes(rate), 10)}


def make_static(rate: int) -> pa.Table:
    """Return the static graph, which gives every tenth node a kind."""
    rows = []
    predicate = encode_text("<urn:bench:kind>")
    for node, kind in draw_kinds(rate).items():
        s, o = encode_text(f"<urn:bench:n{node}>"), encode_text(f"<urn:bench:k{kind}>")
        rows.append((s.text, predicate.text, o.text, s.id, predicate.id, o.id, int(o.kind), None, None))
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, TRIPLES, strict=True)], schema=TRIPLES)

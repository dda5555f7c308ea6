"""A window of 24 hours that moves by a second, over a day of ten triples a second: work goes with runs of answers.

A row of the stream lies in 86,400 windows. If any step held it once for each, there would be 75 billion rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pyarrow as pa
import pytest

from hydrograph.compile.program import select_all
from hydrograph.language import parse
from hydrograph.rdf.encoding import Encoded, encode
from hydrograph.rdf.terms import Iri, Literal, Term
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.runtime import report_ranks as replay
from hydrograph.runtime.placement import Parameters
from hydrograph.runtime.placement.executor import execute
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Facts, plan
from hydrograph.streams.schema import EVENTS
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.report import Range

SECONDS, RATE = 86_400, 10
SENSORS, VALUES, NODES = 10, 100_000, 50
HEAD = "PREFIX : <urn:> SELECT {0} FROM NAMED WINDOW :w ON :s [RANGE PT24H STEP PT1S] WHERE {{ WINDOW :w {{ {1} }} }}"
MOST_ROWS = 3 * SECONDS * RATE


@dataclass(frozen=True, slots=True)
class Day:
    """A day of readings of sensors, and of edges between nodes that only lead on."""

    subjects: list[int]
    objects: list[int]
    """Values of readings; of edges, the node, counted on from the values."""


@pytest.fixture(scope="module")
def day() -> Day:
    rng = Random(1)
    subjects, objects = [], []
    for _ in range(SECONDS * RATE):
        if rng.random() < 0.1:
            node = rng.randrange(NODES - 1)
            subjects.append(SENSORS + node)
            objects.append(VALUES + min(node + rng.randrange(1, 4), NODES - 1))
        else:
            subjects.append(rng.randrange(SENSORS))
            objects.append(rng.randrange(VALUES))
    return Day(subjects, objects)


def table(day: Day) -> pa.Table:
    nodes: list[Term] = [Iri(f"urn:n{number}") for number in range(NODES)]
    subjects = [encode(Iri(f"urn:sensor{number}")) for number in range(SENSORS)] + [encode(node) for node in nodes]
    objects = [encode(Literal(str(value), XSD_INTEGER)) for value in range(VALUES)] + [encode(node) for node in nodes]
    predicates = [encode(Iri("urn:value")), encode(Iri("urn:next"))]
    which = [int(subject >= SENSORS) for subject in day.subjects]
    count = len(which)

    def column(name: str) -> pa.Array:
        type_ = EVENTS.field(name).type
        if name in ("t", "seq"):
            return (
                pa.array(range(count), type_)
                if name == "seq"
                else pa.array([number * 1_000 // RATE for number in range(count)], type_)
            )
        if name == "t_next":
            return pa.nulls(count, type_)
        place, _, part = name.partition("_")
        terms, chosen = {
            "s": (subjects, day.subjects), "p": (predicates, which), "o": (objects, day.objects),
        }[place]  # fmt: skip
        known: Callable[[Encoded], object] = lambda term: getattr(term, part or "text")  # noqa: E731
        return pa.array([known(term) for term in terms], type_).take(pa.array(chosen))

    return pa.table([column(name) for name in EVENTS.names], EVENTS)


class FewRows:
    """A placement that checks how many rows each query returns."""

    def __init__(self, placed: Local) -> None:
        """Check the queries of one placement."""
        self.placed = placed
        self.store = placed.store

    def query(self, text: str, parameters: Parameters) -> pa.Table:
        found = self.placed.query(text, parameters)
        assert found.num_rows < MOST_ROWS
        return found


def runs(day: Day, columns: str, pattern: str) -> list[dict[str, object]]:
    """Return the runs of answers, in order; no step may have more rows than a few for each event."""
    planned = plan(parse(HEAD.format(columns, pattern)), RSPQL, 0)
    program = planned.program(Facts({}, exact_numbers=True))
    ranks = replay.ranks_within(planned, Range(0, 2 * SECONDS * 1_000))
    assert len(ranks) > SECONDS
    with Local(threads=2) as local:
        for stream in program.streams:
            local.add_table(stream.name, table(day))
        assert program.domain is not None
        local.add_table(program.domain, replay.domain_table(replay.domain(None, ranks), None))
        prepared = local.prepare(program, [select_all(program.answer)])
        (found,) = execute(prepared, FewRows(local), replay.parameters(planned, program, ranks))
        return list(found.sort_by("lo").to_pylist())


def at(found: list[dict[str, object]], rank: int) -> dict[str, object]:
    starts = [row["lo"] for row in found]
    row = found[bisect_right(starts, rank) - 1]  # type: ignore[type-var]
    assert row["lo"] <= rank < row["hi"]  # type: ignore[operator]
    return row


def window(rank: int) -> range:
    """Return the events of the window that closes a day and `rank` seconds after the start."""
    return range(min(rank, SECONDS) * RATE, SECONDS * RATE)


RANKS = (0, 1, 777, SECONDS // 2, SECONDS - 1)


@pytest.mark.slow
def test_least_and_greatest(day: Day) -> None:
    found = runs(day, "(MIN(?v) AS ?least) (MAX(?v) AS ?greatest)", "?s :value ?v")
    assert len(found) <= SECONDS + 1
    for rank in RANKS:
        values = [day.objects[n] for n in window(rank) if day.objects[n] < VALUES]
        for wanted in (min(values), max(values)):
            assert encode(Literal(str(wanted), XSD_INTEGER)).text in at(found, rank).values()


@pytest.mark.slow
def test_distinct_values(day: Day) -> None:
    found = runs(day, "(COUNT(DISTINCT ?v) AS ?n)", "?s :value ?v")
    assert len(found) <= SECONDS + 1
    for rank in RANKS:
        wanted = len({day.objects[n] for n in window(rank) if day.objects[n] < VALUES})
        assert [value for name, value in at(found, rank).items() if name.endswith("_int")] == [wanted]


@pytest.mark.slow
def test_a_path(day: Day) -> None:
    found = runs(day, "(COUNT(*) AS ?n)", ":n0 :next+ ?y")
    assert len(found) <= SECONDS + 1
    for rank in RANKS:
        edges = {(day.subjects[n] - SENSORS, day.objects[n] - VALUES) for n in window(rank) if day.objects[n] >= VALUES}
        reached = {0}
        for source in range(NODES):  # edges only lead on
            if source in reached:
                reached |= {target for start, target in edges if start == source}
        assert [value for name, value in at(found, rank).items() if name.endswith("_int")] == [len(reached) - 1]

"""What Spark has read becomes arrivals: each stretch of a source once, without gaps, whatever order rows came in."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa

from hydrograph.live.driver.spark_driver import SparkDriver
from hydrograph.live.driver.spark_source import SPARK_ROWS
from hydrograph.live.step.records import InputBatch
from hydrograph.rdf.terms import Iri
from hydrograph.streams.schema import EVENTS

STREAM = Iri("urn:stream")


def row(place: tuple[int, int, int], t: int | None, rejected: int = 0) -> dict[str, object]:
    """Return a row of an input between two offsets; one without a time tells of what was rejected."""
    number, start, end = place
    return {"t": t, "seq": t, "input": number, "from_offset": start, "to_offset": end, "rejected": rejected}


def driver(known: int) -> SparkDriver:
    """Return a driver whose record has all of the first source up to an offset, and nothing of the second."""

    def read(_: Any, start: int, end: int) -> Iterator[InputBatch]:
        yield InputBatch(STREAM, pa.table([pa.array([], field.type) for field in EVENTS], schema=EVENTS), start, end)

    runner = SimpleNamespace(batch=SimpleNamespace(end={"first": known}), read=read)
    inputs = [SimpleNamespace(name=name, stream=STREAM, number=n) for n, name in enumerate(("first", "second"))]
    reachable = [SimpleNamespace(number=number) for number in range(2)]
    return SparkDriver(*cast("tuple[Any, ...]", (runner, inputs, reachable, None, "")))


def test_rows_of_spark_become_ordered_input_without_gaps() -> None:
    rows = [
        row((1, 0, 4), 7),
        row((0, 20, 30), 5),
        row((0, 10, 20), 2),
        row((0, 20, 30), 4),
        row((0, 0, 10), 1),
        row((0, 40, 50), None, rejected=3),
    ]
    found = driver(10).uncommitted_input(pa.Table.from_pylist(rows, schema=SPARK_ROWS))
    said = [(a.partition, a.start, a.end, sorted(a.events.column("t").to_pylist()), a.rejected) for a in found]
    assert said == [
        (0, 10, 20, [2], 0),  # what lies before it is known
        (0, 20, 30, [4, 5], 0),
        (0, 30, 40, [], 0),  # read outside of Spark
        (0, 40, 50, [], 3),
        (1, 0, 4, [7], 0),
    ]
    assert all(a.events.schema == EVENTS for a in found)


def test_no_rows_become_no_input() -> None:
    assert driver(0).uncommitted_input(SPARK_ROWS.empty_table()) == []

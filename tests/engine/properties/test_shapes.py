"""Shapes of queries and streams: every feasible pair of their properties is put to the oracle, replayed and live.

`tests/support/random_shapes.py` lists the dimensions. Simple shapes are also compared with a brute force that shares no
code with the engine or the oracle. HYDROGRAPH_SHAPES sets how many random simple shapes are drawn for that.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from hydrograph.algebra.windows import TimeWindow
from hydrograph.live.step.records import InputBatch, Lateness, QuerySpec, partition_of
from hydrograph.rdf.nquads import term_text
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import plan
from hydrograph.runtime.replay.replay import Data
from hydrograph.runtime.replay.run import Options, Run
from hydrograph.runtime.reports import Report
from hydrograph.streams.sources import open_stream
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.compare import compare_reports
from tests.support.brute_force import Answer, Event, Settings, SlidingWindow, answer_by_brute_force
from tests.support.live_histories import History, replayed
from tests.support.planted_mistakes import bounds_of_all_streams
from tests.support.random_cases import Case, shrink
from tests.support.random_shapes import (
    DISORDER,
    PARTITION,
    ShapeCase,
    cover,
    covering_case,
    covering_shapes,
    draw_shape,
    query_text,
    read_streams,
    shape_case,
)
from tests.support.replay_adapter import encode_elements
from tests.support.reported import answer_any, reports_any
from tests.support.seed_blocks import seed_blocks
from tests.support.step_harness import StepHarness

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = 12
"""Parts into which the covering cases are dealt; `make test` runs some of them."""
SIMPLE = int(os.environ.get("HYDROGRAPH_SHAPES", "400"))
BLOCK = 20
REPORTED = {
    "time_windows": "two",
    "further_window": "none",
    "report": "any close",
    "content": "any",
    "empty_answers": "reported",
    "t0": "at the first event",
}
"""Values with which every close within the range is a report."""


def dealt(part: int) -> range:
    """Return the numbers of the cases of a part."""
    return range(part, len(covering_shapes()), PARTS)


def check(case: Case, placed: Local | Spark, chunk: int | None) -> None:
    """Compare replay with the oracle; a failure shows the smallest case."""

    def differences(one: Case) -> list[object]:
        if isinstance(placed, Local):
            placed.forget()
        return list(compare_reports(one.expected(), answer_any(one, placed, chunk=chunk)))

    if differences(case):
        small = shrink(case, lambda one: bool(differences(one)))
        pytest.fail(f"chunks {chunk}\n{small}\n" + "\n".join(map(str, differences(small))))


def test_all_feasible_pairs_are_covered() -> None:
    # The parts below, quick and slow, run all of these cases.
    found = cover()
    assert not found.missing, [dict(part) for part in found.missing]
    assert all(found.infeasible.values())
    assert found.covered == found.feasible
    assert found.feasible[2] > 2_000


def test_the_cases_notice_bounds_of_all_streams(monkeypatch: pytest.MonkeyPatch, placed: Local) -> None:
    bounds_of_all_streams(monkeypatch)
    shape = draw_shape(Random(0), ranges="different", steps="equal", extents="apart", asked="everything", **REPORTED)
    noticed = 0
    for seed in range(8):
        case = shape_case(seed, shape).case
        placed.forget()
        noticed += bool(compare_reports(case.expected(), answer_any(case, placed)))
    assert noticed


@pytest.mark.parametrize("part", seed_blocks(range(PARTS), quick=2, every=True))
def test_every_pair_of_properties_equals_the_oracle(part: int, placed: Local) -> None:
    for number in dealt(part):
        check(covering_case(number).case, placed, chunk=None if number % 2 else 3)


@pytest.mark.parametrize("part", seed_blocks(range(PARTS), quick=1, every=True))
def test_live_equals_replay_for_every_pair_of_properties(part: int, placed: Local) -> None:
    for number in dealt(part):
        shaped = covering_case(number)
        case = replace(shaped.case, from_=None, until=None)  # which a live query does not have
        expected = replayed(case, placed)
        found = lived(replace(shaped, case=case), placed, Random(number))
        assert found == expected, f"number {number}\n{case}"


@pytest.mark.slow
@pytest.mark.parametrize("first", [pytest.param(1_000 * n, id=f"round-{n}") for n in range(1, 11)])
def test_other_cases_of_every_pair_equal_the_oracle(first: int, placed: Local) -> None:
    for number, shape in enumerate(covering_shapes()):
        check(shape_case(first + number, shape).case, placed, chunk=3 if number % 2 else None)


@pytest.mark.spark
@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(7, 90, 9))])
def test_shapes_on_spark(number: int, spark: SparkSession) -> None:
    with Spark(spark) as placed:
        check(covering_case(number).case, placed, chunk=None if number % 2 else 3)


def lived(shaped: ShapeCase, placed: Local, rng: Random) -> list[str]:
    """Return the lines of a live query that gets the streams partition by partition, cut into batches at random."""
    case = shaped.case
    streams = read_streams(case)
    left: dict[tuple[int, int], list[Element]] = {
        (stream, partition): [e for e in case.elements[name] if e.seq // PARTITION == partition]
        for stream, name in enumerate(streams)
        for partition in range(shaped.partitions)
    }
    names = {key: partition_of(streams[key[0]], key[1]) for key in left}
    spec = QuerySpec(
        name="query",
        plan=plan(case.query, case.profile, None if shaped.waits else case.t0),
        lateness=Lateness(delay=DISORDER),
        partitions=tuple(names.values()),
    )
    harness = StepHarness(spec, placed, History(case, (), spec.lateness).static())
    offsets: Counter[tuple[int, int]] = Counter()
    ended: set[str] = {names[key] for key in left if not left[key]} if rng.random() < 0.5 else set()
    while any(left.values()):
        batches = []
        for key in left:
            taken = left[key][: rng.randrange(4)]
            if taken:
                left[key] = left[key][len(taken) :]
                start = offsets[key]
                offsets[key] += len(taken)
                batches.append(InputBatch(streams[key[0]], encode_elements(taken), start, offsets[key], key[1]))
        harness.step(batches, ended=ended)
        if rng.random() < 0.2:
            harness.restart()
    harness.step([], ended=spec.partitions)
    while harness.record.decision.more:
        harness.step([], ended=spec.partitions)
    assert harness.record.counts.late_partial == harness.record.counts.late_dropped == 0
    return harness.lines


def by_brute_force(shaped: ShapeCase, names: tuple[str, ...]) -> list[Answer]:
    """Return the reports of a case by brute force."""
    case, shape = shaped.case, shaped.shape
    policy = case.profile.report
    windows = []
    for window in case.query.windows:
        assert isinstance(window.definition, TimeWindow)
        assert window.definition.slide is not None
        events = tuple(
            Event(e.t, tuple(" ".join(map(term_text, (t.subject, t.predicate, t.object))) for t in e.triples))
            for e in case.elements[window.stream]
        )
        windows.append(SlidingWindow(window.definition.width, window.definition.slide, events))
    merged = shape["graph"] == "default"
    how = Settings(
        t0=case.t0,
        align=shape["alignment"],
        report=shape["report"],
        period=policy.period or 1,
        non_empty=policy.non_empty,
        operator=shape["operator"],
        as_sets=case.profile.r2s_set,
        emit_empty=case.profile.emit_empty,
        after=case.from_,
        until=case.until,
        merged=merged,
    )
    text = query_text(shape["pattern"], len(windows), "" if merged else "GRAPH")
    return answer_by_brute_force(windows, text, names, how)


def found_by_engine(case: Case, placed: Local) -> tuple[list[Answer], list[Report]]:
    """Return the reports of replay in the form of the brute force, and as they are."""
    placed.forget()
    reports = reports_any(case, placed)
    return [(report.t, Counter(report.rows)) for report in reports], reports


def simple_case(seed: int) -> ShapeCase:
    """Return a random case with time windows and the time tick, with two windows or more mostly."""
    rng = Random(f"simple {seed}")
    number = rng.choice(("one", "two", "two", "three"))
    shape = draw_shape(rng, time_windows=number, further_window="none", tick="time")
    return shape_case(seed, shape)


@pytest.mark.parametrize("first", seed_blocks(range(0, SIMPLE, BLOCK), quick=1))
def test_simple_shapes_equal_a_brute_force(first: int, placed: Local) -> None:
    for seed in range(first, first + BLOCK):
        shaped = simple_case(seed)
        names = plan(shaped.case.query, shaped.case.profile, shaped.case.t0).variables
        expected = by_brute_force(shaped, names)
        found, _ = found_by_engine(shaped.case, placed)
        assert found == expected, f"seed {seed}\n{shaped.case}"


def from_files(shaped: ShapeCase, folder: Path, options: Options) -> list[Answer]:
    """Return the reports of a replay of files: a stream is a directory, and each of its partitions a file."""
    case = shaped.case
    streams = {}
    for number, (name, elements) in enumerate(case.elements.items()):
        place = folder / str(number)
        place.mkdir()
        for partition in range(shaped.partitions):
            lines = [
                f"{e.t}\t{' '.join(map(term_text, (t.subject, t.predicate, t.object)))} .\n"
                for e in elements
                if e.seq // PARTITION == partition
                for t in sorted(e.triples, key=str)
            ]
            (place / f"{partition}.tnt").write_text("".join(lines), "utf-8")
        streams[name] = open_stream(str(place), name=name.value)
    planned = plan(case.query, case.profile, None if shaped.waits else case.t0)
    with Run(planned, Data(streams), replace(options, after=case.from_, until=case.until)) as run:
        return [(report.t, Counter(report.rows)) for report in run.reports()]


@pytest.mark.parametrize("first", seed_blocks(range(1_000, 1_000 + SIMPLE, BLOCK), quick=1))
def test_simple_shapes_from_files_equal_a_brute_force(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + BLOCK):
        shaped = simple_case(seed)
        names = plan(shaped.case.query, shaped.case.profile, shaped.case.t0).variables
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = from_files(shaped, folder, Options(placement=PlacementChoice.LOCAL))
        assert found == by_brute_force(shaped, names), f"seed {seed}\n{shaped.case}"


@pytest.mark.spark
@pytest.mark.parametrize("seed", [1_000, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1_001, 1_013))])
def test_simple_shapes_from_files_equal_a_brute_force_on_spark(seed: int, tmp_path: Path, spark: SparkSession) -> None:
    shaped = simple_case(seed)
    names = plan(shaped.case.query, shaped.case.profile, shaped.case.t0).variables
    found = from_files(shaped, tmp_path, Options(placement=PlacementChoice.SPARK, session=spark))
    assert found == by_brute_force(shaped, names), f"seed {seed}\n{shaped.case}"


def test_the_published_case_by_brute_force() -> None:
    # See tests/engine/runtime/test_report_range.py for the same case in the engine.
    windows = [
        SlidingWindow(1_000, 1_000, (Event(20_500, ("<urn:s> <urn:p> <urn:o>",)),)),
        SlidingWindow(10_000, 1_000, (Event(100, ("<urn:s> <urn:p> <urn:o>",)),)),
    ]
    found = answer_by_brute_force(windows, query_text("count", 2, "GRAPH"), ["n"], Settings())
    counts = [int(str(row[0]).split('"')[1]) for _, rows in found for row in rows]
    assert [t for t, _ in found] == list(range(10_000, 21_001, 1_000))
    assert counts == [1, *[0] * 10, 1]


@pytest.mark.parametrize("first", seed_blocks(range(0, SIMPLE, 50), quick=1))
def test_the_oracle_equals_a_brute_force(first: int) -> None:
    with_rows = 0
    for seed in range(first, first + 50):
        shaped = simple_case(seed)
        names = plan(shaped.case.query, shaped.case.profile, shaped.case.t0).variables
        expected = by_brute_force(shaped, names)
        found = [
            (report.t, Counter({tuple(map(_text, row)): count for row, count in report.rows.items()}))
            for report in shaped.case.expected()
        ]
        assert found == expected, f"seed {seed}\n{shaped.case}"
        with_rows += any(rows for _, rows in expected)
    assert with_rows > 12


def _text(term: object) -> str | None:
    return None if term is None else term_text(term)  # type: ignore[arg-type]

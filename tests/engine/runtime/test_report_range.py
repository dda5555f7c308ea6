"""Range of the reports of several windows: each window reads one stream, and only its own events make its reports (A1).

The published case: two windows of equal step and different range, over streams of different extent. `a` holds one event
at 20500, and its window of 1 s closes at 21000. `b` holds one at 100, in the window of 10 s that closes at 10000. So
there are 12 reports from 10000 to 21000, not 30 from 1000 to 30000.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hydrograph import api
from hydrograph.language import parse
from hydrograph.live.step.records import Lateness
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.reports import Report
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.queries.query_sets import read_query_set
from tests.support.live_histories import History, lived, replayed
from tests.support.random_cases import Case
from tests.support.random_shapes import query_text
from tests.support.reported import answer_any, reports_any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A, B = Iri("urn:a"), Iri("urn:b")
TEXT = """
SELECT {operator} (COUNT(*) AS ?n)
FROM NAMED WINDOW <urn:wa> ON <urn:a> [RANGE PT{a}S STEP PT1S]
FROM NAMED WINDOW <urn:wb> ON <urn:b> [RANGE PT{b}S STEP PT{step}S]
WHERE {{ {{ WINDOW <urn:wa> {{ ?s ?p ?o }} }} UNION {{ WINDOW <urn:wb> {{ ?s ?p ?o }} }} }}"""
QUERY = TEXT.format(operator="", a=1, b=10, step=1)
TRIPLE = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
TIMES = list(range(10_000, 21_001, 1_000))
COUNTS = [1, *[0] * 10, 1]


def case_of(query: str = QUERY, a: tuple[int, ...] = (20_500,), b: tuple[int, ...] = (100,)) -> Case:
    streams = {A: a, B: b}
    elements = {
        name: tuple(Element.of(t, seq, TRIPLE) for seq, t in enumerate(times)) for name, times in streams.items()
    }
    return Case(0, parse(query), elements)


def written(folder: Path, case: Case) -> dict[str, Path]:
    """Return the streams of a case as files."""
    files = {}
    for name, elements in case.elements.items():
        files[name.value] = folder / f"{name.value.removeprefix('urn:')}.tnt"
        lines = [f"{element.t}\t<urn:s> <urn:p> <urn:o> .\n" for element in elements]
        files[name.value].write_text("".join(lines), "utf-8")
    return files


def counted(reports: list[Report]) -> list[tuple[int, int]]:
    """Return time and count of each report."""
    return [(report.t, int(str(report.rows[0][0]).split('"')[1])) for report in reports]


def test_reports_of_the_published_case(tmp_path: Path) -> None:
    files = written(tmp_path, case_of())
    with api.query(QUERY).over(files, placement="local") as run:
        assert counted(list(run.reports())) == list(zip(TIMES, COUNTS, strict=True))
    with api.query(QUERY).over(files, placement="local") as run:
        assert [digest.t for digest in run.digests()] == TIMES


@pytest.mark.spark
def test_reports_of_the_published_case_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    files = written(tmp_path, case_of())
    with api.query(QUERY).over(files, placement="spark", session=spark) as run:
        assert counted(list(run.reports())) == list(zip(TIMES, COUNTS, strict=True))
    with api.query(QUERY).over(files, placement="spark", session=spark) as run:
        assert [digest.t for digest in run.digests()] == TIMES
        assert sorted(row["t"] for row in run.frame().collect()) == TIMES


def live_counts(folder: Path, placement: str, session: SparkSession | None = None) -> list[tuple[int, int]]:
    """Return time and count of each report of the published case, sent to a live query."""
    seen: list[Report] = []
    live = api.query(QUERY).start(
        {"urn:a": "push:", "urn:b": "push:"},
        checkpoint=folder / "checkpoint",
        placement=placement,
        session=session,
        on_unit=lambda unit: seen.append(unit.report),
    )
    for name, file in written(folder, case_of()).items():
        live.streams[name].send_lines(file.read_text("utf-8").splitlines())
        live.streams[name].end()
    assert live.wait(120)
    return counted(seen)


def test_live_reports_of_the_published_case(tmp_path: Path) -> None:
    assert live_counts(tmp_path, "local") == list(zip(TIMES, COUNTS, strict=True))


@pytest.mark.spark
def test_live_reports_of_the_published_case_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    assert live_counts(tmp_path, "spark", spark) == list(zip(TIMES, COUNTS, strict=True))


ORDERS = {
    "b first": ({B: (0,)}, {A: (0,)}),
    "a first": ({A: (0,)}, {B: (0,)}),
    "together": ({A: (0,), B: (0,)},),
}


@pytest.mark.parametrize("batches", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("operator", ["", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize(("a", "b", "step"), [(1, 10, 1), (10, 1, 1), (3, 7, 1), (1, 10, 2), (5, 5, 1)])
def test_live_equals_replay_equals_the_oracle(
    batches: tuple[dict[Iri, tuple[int, ...]], ...], operator: str, a: int, b: int, step: int, placed: Local
) -> None:
    case = case_of(TEXT.format(operator=operator, a=a, b=b, step=step))
    cut = tuple(
        {name: tuple(case.elements[name][n] for n in taken) for name, taken in each.items()} for each in batches
    )
    expected = replayed(case, placed)
    assert lived(History(case, cut, Lateness(delay=0)), placed)[0] == expected
    placed.forget()
    assert not compare_reports(case.expected(), answer_any(case, placed))


def test_a_window_over_an_empty_stream_makes_no_report(placed: Local) -> None:
    # Dstream over two windows: the short one, over a stream without events, must not report where it would hold 1004.
    query = parse(
        "SELECT DSTREAM ?s FROM NAMED WINDOW <urn:wa> ON <urn:a> [RANGE PT0.001S STEP PT0.001S] "
        "FROM NAMED WINDOW <urn:wb> ON <urn:b> [RANGE PT0.005S STEP PT0.001S] { <urn:x> <urn:p> ?s }"
    )
    case = Case(0, query, {A: (), B: (Element.of(1_004, 0, TRIPLE),)}, t0=1_001)
    assert [report.t for report in reports_any(case, placed)] == [1_006, 1_007, 1_008, 1_009]
    placed.forget()
    assert not compare_reports(case.expected(), answer_any(case, placed))


@pytest.mark.parametrize("name", ["q5", "q6", "q9"])
def test_published_windows_of_two_ranges(name: str, placed: Local) -> None:
    # LSBench: likes of the last second about posts or photos of the last minute. The first like is at 5.5 s; the last
    # window of a minute that holds a post opens at 30 s.
    published = parse(
        next(query for query in read_query_set("lsbench") if query.name == name).text({"USER": "urn:user"})
    )
    windows = tuple(replace(each, name=Iri(f"urn:w{number}")) for number, each in enumerate(published.windows))
    query = replace(parse(query_text("count", len(windows))), windows=windows)
    times = {True: range(5_500, 25_000, 1_000), False: range(200, 31_000, 1_000)}
    elements = {
        window.stream: tuple(Element.of(t, n, TRIPLE) for n, t in enumerate(times["liked" in window.stream.value]))
        for window in windows
    }
    case = Case(0, query, elements)
    assert [report.t for report in reports_any(case, placed)] == list(range(6_000, 90_001, 1_000))
    placed.forget()
    assert not compare_reports(case.expected(), answer_any(case, placed))


@pytest.mark.parametrize(("a", "b"), [((), ()), ((20_500,), ()), ((), (100,))])
@pytest.mark.parametrize(("after", "until"), [(None, 12_000), (3_000, None), (3_000, 12_000), (None, None)])
def test_streams_without_events_make_no_reports(
    a: tuple[int, ...], b: tuple[int, ...], after: int | None, until: int | None, tmp_path: Path
) -> None:
    # An end of the range that is not given is that of the data; without data there is no such end.
    case = case_of(a=a, b=b)
    with api.query(QUERY).over(written(tmp_path, case), placement="local", after=after, until=until) as run:
        found = [report.t for report in run.reports()]
    case = Case(0, case.query, case.elements, from_=after, until=until)
    assert found == [report.t for report in case.expected()]
    if not a and not b:
        assert found == (list(range(4_000, 12_001, 1_000)) if after and until else [])

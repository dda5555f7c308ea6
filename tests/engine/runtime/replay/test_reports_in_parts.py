"""Reports that are computed in parts are those that are computed together (S17)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hydrograph
from hydrograph.runtime.placement import Parameters
from hydrograph.runtime.placement import spark as spark_placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.runtime.replay import replay
from hydrograph.runtime.report_ranks import ReportRanks, parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[4]
VISITS = ROOT / "examples" / "data" / "visits.tnt"
BUILDING = ROOT / "src" / "hydrograph_gauge" / "workloads" / "rooms" / "building.tnt"
START = "PREFIX : <http://example.org/> "
WINDOW = " FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT1S] WHERE "
SEEN = "WINDOW :w { ?who :detectedAt ?room }"
QUERIES = {
    "rstream": f"{START} SELECT ?who ?room {WINDOW} {{ {SEEN} }}",
    "istream": f"{START} REGISTER ISTREAM <urn:q> AS SELECT ?who ?room {WINDOW} {{ {SEEN} }}",
    "dstream": f"{START} REGISTER DSTREAM <urn:q> AS SELECT ?who ?room {WINDOW} {{ {SEEN} }}",
    "count": f"{START} SELECT (COUNT(*) AS ?n) {WINDOW} {{ {SEEN} }}",
    "changed count": f"{START} REGISTER ISTREAM <urn:q> AS SELECT (COUNT(*) AS ?n) {WINDOW} {{ {SEEN} }}",
    "group": f"{START} SELECT ?room (COUNT(DISTINCT ?who) AS ?n) {WINDOW} {{ {SEEN} }} GROUP BY ?room",
    "ask": f"{START} ASK {WINDOW} {{ WINDOW :w {{ ?who :detectedAt :green }} }}",
    "optional": f"{START} SELECT * {WINDOW} {{ {SEEN} OPTIONAL {{ WINDOW :w {{ ?x :detectedAt ?room, :red }} }} }}",
    "order": f"{START} SELECT ?who {WINDOW} {{ {SEEN} }} ORDER BY DESC(?who) LIMIT 2",
    "construct": f"{START} CONSTRUCT {{ ?who :in [ :at ?room ] }} {WINDOW} {{ {SEEN} }}",
    "path": f"{START} SELECT * {WINDOW} {{ WINDOW :w {{ ?a (:detectedAt/^:detectedAt)+ ?b }} }}",
    "nothing": f"{START} SELECT * {WINDOW} {{ FILTER NOT EXISTS {{ WINDOW :w {{ ?who :detectedAt :red }} }} }}",
}


@pytest.mark.parametrize(("location", "at_once"), [(VISITS, 9), (BUILDING, 400)], ids=["visits", "building"])
@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_parts(text: str, location: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query = hydrograph.query(text)
    with query.over(location, placement="local") as run:
        together = list(run.reports())
    monkeypatch.setattr(replay, "ROWS_AT_ONCE", at_once)
    with query.over(location, placement="local") as run:
        assert list(run.reports()) == together
        assert list(run.reports()) == together  # a second time, after the tables of the last part
    assert len(together) > 20


def test_static_steps_are_computed_once_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{START} SELECT ?who ?floor {WINDOW} {{ {SEEN} ?room :floor ?floor . ?room :label ?label }}"
    query, static = hydrograph.query(text), BUILDING.with_suffix(".nt")
    with query.over(BUILDING, static, placement="local") as run:
        together = list(run.reports())
    asked: list[str] = []
    answered = Local.query

    def heard(self: Local, sql: str, parameters: Parameters) -> pa.Table:
        asked.append(sql)
        return answered(self, sql, parameters)

    monkeypatch.setattr(Local, "query", heard)
    monkeypatch.setattr(replay, "ROWS_AT_ONCE", 400)
    with query.over(BUILDING, static, placement="local") as run:
        asked.clear()
        assert list(run.reports()) == together
    reading = [position for position, sql in enumerate(asked) if re.search(r"FROM static\b", sql)]
    assert reading, "expected static data to be read"
    assert len(asked) > len(reading) + 2, "expected several parts"
    assert reading == [*range(len(reading))], "expected static data to be read before the first part alone"
    assert any(report.rows for report in together)


@pytest.mark.parametrize("path", ["?room :floor* :first", "FILTER EXISTS { ?room (:floor|:label)+ :first }"])
def test_static_paths_from_a_constant_in_parts(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "green", "floor", "first"
    static = tmp_path / "rooms.nt"
    static.write_text(" ".join(f"<http://example.org/{name}>" for name in names) + " .\n")
    query = hydrograph.query(f"{START} SELECT ?who ?room {WINDOW} {{ {SEEN} {path} }}")
    with query.over(VISITS, static, placement="local") as run:
        together = list(run.reports())
    monkeypatch.setattr(replay, "ROWS_AT_ONCE", 9)
    with query.over(VISITS, static, placement="local") as run:
        assert list(run.reports()) == together
    assert any(report.rows for report in together)


@pytest.mark.spark
def test_spark_keeps_what_is_not_asked_for_yet(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rstream", "count", "order"):
        query = hydrograph.query(QUERIES[name])
        with query.over(BUILDING, placement="local") as run:
            together = list(run.reports())
        most = max(len(report.rows) for report in together)
        monkeypatch.setattr(replay, "ROWS_AT_ONCE", 4 * most)
        with query.over(BUILDING, placement="spark", session=spark) as run:
            monkeypatch.setattr(spark_placement, "collect", noted := _Noted())
            assert list(run.reports()) == together, name
            monkeypatch.undo()
        _, *parts = noted.rows  # first come the counts
        assert max(parts) <= 4 * most
        assert len(parts) > 2, name
        assert sum(parts) == sum(len(report.rows) for report in together)


class _Noted:
    """Collects rows, and notes how many came at a time."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def __call__(self, frame: DataFrame) -> pa.Table:
        table = frame.toArrow()
        self.rows.append(table.num_rows)
        return table


def test_the_length_of_parts() -> None:
    parsed = hydrograph.query(QUERIES["rstream"])  # an event is in ten windows
    planned = plan(parsed.algebra, parsed.profile, 0)
    assert parts(planned, ReportRanks(5, 105), 1000, 10_000) == [ReportRanks(5, 105)]
    assert parts(planned, ReportRanks(5, 105), 1000, 3000) == [
        ReportRanks(5, 30),
        ReportRanks(30, 55),
        ReportRanks(55, 80),
        ReportRanks(80, 105),
    ]
    assert parts(planned, ReportRanks(5, 8), 10**9, 1) == [ReportRanks(5, 6), ReportRanks(6, 7), ReportRanks(7, 8)]
    assert parts(planned, ReportRanks(5, 5), 10**9, 1) == [ReportRanks(5, 5)]

"""Order of files whose names give their times: by these times, in replay, conversion and live directories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hydrograph
from hydrograph.cli.main import main
from hydrograph.live.sources.directory.source import DirectoryPartition
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri
from hydrograph.streams.event_time import EventTime, order_by_time
from hydrograph.streams.sources import events_as_arrow, open_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://example.org/stream"
NAMES = {0: "0.ttl", 1000: "1000.ttl", 2000: "2000.ttl", 10_000: "10000.ttl"}
"""As documented; sorted as text, 10000 comes before 2000."""
LAST = f"SELECT ?o FROM NAMED WINDOW <urn:w> ON <{STREAM}> [ELEMENTS 1] {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "in"
    place.mkdir()
    for t, name in NAMES.items():
        (place / name).write_text(f"<urn:s> <urn:p> {t} .\n")
    return place


@pytest.mark.parametrize("time", ["name", None])
def test_files_are_numbered_in_the_order_of_their_times(folder: Path, time: str | None) -> None:
    events = events_as_arrow(open_stream(str(folder), name=STREAM, time=time)).read_all().sort_by("seq")
    assert events.column("t").to_pylist() == [0, 1000, 2000, 10_000]


@pytest.mark.parametrize(
    "names",
    [
        ["room7_900.ttl", "room7_1000.ttl", "a_20000.ttl"],
        ["5_0002.ttl", "5_0003.ttl", "40_0001.ttl"],
        ["-500.ttl", "-20.ttl", "0.ttl", "3.ttl.gz"],
        ["z_2026-01-31T11-00-00Z.ttl", "a_2026-01-31T13-30-00+01-00.ttl", "b_2026-01-31T12-00-00-01-00.ttl"],
        ["0999-12-31.ttl", "1000-01-01.ttl", "10000-01-01.ttl"],
        ["900.ttl", "1000.ttl", "nothing.ttl"],
    ],
    ids=["prefix", "number behind", "negative", "zones", "years", "no time"],
)
def test_prefixes_dates_and_zones_count_as_the_times_they_are(names: list[str]) -> None:
    # A zone is written without a colon, which some file systems refuse, or with one.
    given = [name.replace("+01-00", "+0100").replace("00-01-00.", "00-0100.") for name in names]
    assert order_by_time(reversed(given), EventTime.read("name")) == given


def test_names_count_only_where_times_may_come_from_them() -> None:
    by_text = ["1000.ttl", "900.ttl"]
    assert order_by_time(by_text, EventTime.read("sosa:resultTime")) == by_text
    assert order_by_time([*by_text, "notes.ttl"], EventTime()) == [*by_text, "notes.ttl"]
    assert order_by_time(by_text, EventTime()) == ["900.ttl", "1000.ttl"]


def test_lines_with_times_of_their_own_stay_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("10.tnt", "9.tnt"):
        (tmp_path / name).write_text("5\t<urn:s> <urn:p> <urn:o> .\n")
    assert [Path(file).name for file in open_stream(str(tmp_path), time="name").files] == ["10.tnt", "9.tnt"]


def test_a_window_of_the_last_element_sees_them_in_order(folder: Path) -> None:
    with hydrograph.query(LAST).over({STREAM: hydrograph.stream(folder, time="name")}, placement="local") as run:
        assert [[str(row[0]).split('"')[1] for row in report.rows] for report in run.reports()] == WRITTEN


@pytest.mark.spark
def test_a_window_of_the_last_element_sees_them_in_order_on_spark(folder: Path, spark: SparkSession) -> None:
    stream = hydrograph.stream(folder, time="name")
    with hydrograph.query(LAST).over({STREAM: stream}, placement="spark", session=spark) as run:
        assert [[str(row[0]).split('"')[1] for row in report.rows] for report in run.reports()] == WRITTEN


def test_conversion_writes_them_in_order(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "stream.tnt"
    main(["convert", str(folder), str(target), "--time", "name"])
    assert [line.partition(":")[0].partition("\t")[0] for line in target.read_text().splitlines()] == [
        str(t) for t in NAMES
    ]


def test_a_live_directory_counts_files_seen_together_in_order_and_later_ones_later(
    folder: Path, tmp_path: Path
) -> None:
    log = LocalFiles(tmp_path / "log")
    source = open_partition(Iri(STREAM), f"{folder}?time=name", log)
    assert isinstance(source, DirectoryPartition)
    source.resume(Lease(log), 0)
    assert source.end() == len(NAMES)
    assert source.index.names == list(NAMES.values())
    (folder / "1500.ttl").write_text("<urn:s> <urn:p> 1500 .\n")
    source.poll = type(source.poll)(folder)
    assert source.end() == len(NAMES) + 1
    assert source.index.names == [*NAMES.values(), "1500.ttl"]
    times = [t for chunk in source.read(0, 5) for t in chunk.events.column("t").to_pylist()]
    assert times == [0, 1000, 2000, 10_000, 1500]


WRITTEN = [[str(t)] for t in NAMES]

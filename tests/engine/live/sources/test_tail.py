"""Growing files: `tail:GLOB` reads whole elements as they are written, one partition per file, and refuses rotation."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hydrograph import api
from hydrograph.errors import DataError, UsageError
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.sources import tail
from hydrograph.live.sources.registry import make_source, open_partition
from hydrograph.live.sources.source import PartitionReader
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri

STREAM = "urn:stream"
QUERY = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"
LINES = [f"{t}\t<urn:s{t % 7}> <urn:p> <urn:o{t % 3}> .\n" for t in range(0, 9000, 250)]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.005)


def resumed(file: Path, known: int = 0, options: str = "", bad: str = "skip") -> PartitionReader:
    log = LocalFiles(file.parent / "log")
    reader = open_partition(Iri(STREAM), f"tail:{file}{options}", log, key=str(file), bad=bad)
    reader.resume(Lease(log), known)
    return reader


def append(file: Path, text: str) -> None:
    with file.open("a", newline="") as out:
        out.write(text)


def rows(reader: PartitionReader, start: int, end: int) -> list[tuple[int, int, str]]:
    table = pa.concat_tables([chunk.events for chunk in reader.read(start, end)])
    return list(zip(*(table[name].to_pylist() for name in ("t", "seq", "o")), strict=True))


def test_files_are_partitions_and_the_reports_are_those_of_replay(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.tnt").write_text("".join(LINES[number:18:3]))
    given: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "results": tmp_path / "results", "lateness": 60_000}
    with api.query(QUERY).live({STREAM: f"tail:{tmp_path}/*.tnt"}, **given) as query:
        assert [Path(each.locator.key).name for each in query.inputs] == ["0.tnt", "1.tnt", "2.tnt"]
        until(lambda: query.status()["used"] == 18)
    for number in range(3):
        append(tmp_path / f"{number}.tnt", "".join(LINES[18 + number :: 3]))
    with api.query(QUERY).live({STREAM: f"tail:{tmp_path}/*.tnt?end=eof"}, **given) as query:
        assert query.wait(30)
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "all.tnt").write_text("".join(LINES))
    with api.query(QUERY).over(str(tmp_path / "all" / "all.tnt"), placement="local") as run:
        expected = [report.json("query") for report in run.reports()]
    assert [text for _, text in read_units(LocalFiles(tmp_path / "results"))] == expected


def test_a_line_counts_when_it_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "a.tnt"
    file.write_text(LINES[0] + LINES[1][:10])
    reader = resumed(file)
    assert reader.end() == len(LINES[0])
    append(file, LINES[1][10:])
    assert reader.end() == len(LINES[0] + LINES[1])
    assert not reader.has_ended()


def test_an_element_of_several_lines_counts_when_the_next_one_begins(tmp_path: Path) -> None:
    file, part = tmp_path / "a.tnt", "5:1\t<urn:s> <urn:p> <urn:o{}> .\n"
    file.write_text(LINES[0] + part.format(1))
    reader = resumed(file)
    assert reader.end() == len(LINES[0])
    append(file, part.format(2))
    assert reader.end() == len(LINES[0])
    append(file, LINES[1])
    end = reader.end()
    assert end == file.stat().st_size
    first = len(LINES[0]) + 1
    assert [(t, seq) for t, seq, _ in rows(reader, 0, end)][1:] == [
        (5, first),
        (5, first),
        (250, end - len(LINES[1]) + 1),
    ]


def test_rows_do_not_depend_on_how_a_range_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.tnt"
    groups = [f"{t}:{n}\t<urn:s> <urn:p> <urn:o{i}> .\n" for t, n in ((1, 1), (1, 2), (1, 1), (2, 1)) for i in range(3)]
    file.write_text("".join(groups + LINES + groups) + LINES[0])
    reader = resumed(file)
    end = reader.end()
    whole = rows(reader, 0, end)
    monkeypatch.setattr(tail, "CHUNK_BYTES", 1)
    chunks = [*reader.read(0, end)]
    assert len(chunks) > len(LINES)
    assert rows(reader, 0, end) == whole
    assert [row for chunk in chunks for row in rows(reader, chunk.start, chunk.end)] == whole


def test_a_complete_file_ends_with_its_last_line(tmp_path: Path) -> None:
    file = tmp_path / "a.tnt"
    file.write_text(LINES[0] + LINES[1].rstrip("\n"))
    reader = resumed(file, options="?end=eof")
    assert [t for t, _, _ in rows(reader, 0, reader.end())] == [0, 250]
    assert reader.has_ended()
    append(file, "\n" + LINES[2])
    again = resumed(file, known=reader.end())
    again.finish()
    assert again.end() == reader.end()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda file: file.write_text(LINES[0]), "has .* bytes, expected at least"),
        (lambda file: (file.rename(file.with_suffix(".1")), file.write_text("".join(LINES)))[0], "was replaced"),
        (lambda file: file.unlink(), "No such file"),
    ],
)
def test_rotation_ends_the_query_with_the_name_of_the_file(
    tmp_path: Path, change: Callable[[Path], object], reason: str
) -> None:
    file = tmp_path / "a.tnt"
    file.write_text("".join(LINES[:5]))
    reader = resumed(file)
    assert reader.end() == file.stat().st_size
    change(file)
    with pytest.raises(DataError, match=f"a.tnt.* {reason}"):
        reader.end()


def test_another_file_of_the_same_name_is_refused_at_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "a.tnt"
    file.write_text("".join(LINES[:5]))
    known = resumed(file).end()
    file.write_text("".join(LINES[5:]))
    with pytest.raises(DataError, match="begins with another line than before"):
        resumed(file, known)


def test_broken_lines_are_counted_or_end_the_query(tmp_path: Path) -> None:
    file = tmp_path / "a.tnt"
    file.write_text(LINES[0] + "nonsense\n" + LINES[1])
    reader = resumed(file)
    assert [chunk.rejected for chunk in reader.read(0, reader.end())] == [1]
    with pytest.raises(DataError, match="expected an event time"):
        [*resumed(file, bad="fail").read(0, reader.end())]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("tail:{}/*.nothing", "no file matches"),
        ("tail:{}/*?format=trig", "expected timed N-Triples"),
        ("tail:{}/*?end=soon", "expected end=never or eof"),
    ],
)
def test_urls_that_cannot_be_followed_are_refused(tmp_path: Path, url: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        make_source(Iri(STREAM), url.format(tmp_path)).list_partitions()

"""Files of a directory that can't be read: counted once and for all where that is wanted, else said in one line."""

from __future__ import annotations

import errno
import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hydrograph import api
from hydrograph.cli.main import main
from hydrograph.errors import DataError
from hydrograph.live.sources.directory.source import DirectoryPartition
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.source import PartitionReader
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri
from hydrograph.streams import sources
from hydrograph.streams.schema import encode_events

STREAM = "urn:stream"
QUERY = "SELECT ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"
GOOD = "100\t<urn:s> <urn:p> <urn:o> .\n"
ROWS = pa.Table.from_batches([encode_events([(100, 1, "<urn:s>", "<urn:p>", "<urn:o>")])])


def no_term(file: Path) -> None:
    pq.write_table(ROWS.set_column(3, "s", pa.array(["nonsense"])), file)


def another_schema(file: Path) -> None:
    pq.write_table(pa.table({"t": [1]}), file)


def broken_inside(file: Path) -> None:
    many = pa.concat_tables([ROWS] * 5000)
    pq.write_table(many, file, use_dictionary=False, compression="none")
    data = bytearray(file.read_bytes())
    data[10:2000] = bytes(1990)
    file.write_bytes(data)


UNREADABLE: dict[str, Callable[[Path], object]] = {
    "b.tnt.gz": lambda file: file.write_bytes(gzip.compress(GOOD.encode() * 1000)[:50]),
    "b.trig": lambda file: file.write_text("garbage { ."),
    "b.jsonld": lambda file: file.write_text("{"),
    "b.parquet": lambda file: file.write_bytes(b"garbage"),
    "b-term.parquet": no_term,
    "b-schema.parquet": another_schema,
    "b-inside.parquet": broken_inside,
}


def opened(path: Path, log: Path, known: int = 0, bad: str = "skip") -> PartitionReader:
    files = LocalFiles(log)
    source = open_partition(Iri(STREAM), str(path), files, bad=bad)
    source.resume(Lease(files), known)
    return source


def found(source: PartitionReader, start: int = 0) -> list[tuple[int, int]]:
    """Return rows and rejected elements of each file."""
    return [(chunk.events.num_rows, chunk.rejected) for chunk in source.read(start, source.end())]


def inside(tmp_path: Path, name: str) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    (made / "a.tnt").write_text(GOOD)
    UNREADABLE[name](made / name)
    (made / "c.tnt").write_text(GOOD)
    return made


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_can_not_be_read_is_one_rejected_element_for_ever(name: str, tmp_path: Path) -> None:
    place, log = inside(tmp_path, name), tmp_path / "log"
    first = opened(place, log)
    assert found(first) == [(1, 0), (0, 1), (1, 0)]
    assert isinstance(first, DirectoryPartition)
    assert f"1 files count as rejected, last: {place / name}" in str(first.trouble)
    (place / name).unlink()
    assert found(first) == [(1, 0), (0, 1), (1, 0)]
    assert found(opened(place, log, known=3)) == [(1, 0), (0, 1), (1, 0)]
    (place / name).write_text(GOOD)  # at last in another form
    assert found(opened(place, log, known=3)) == [(1, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("name", UNREADABLE)
def test_it_stops_the_query_where_none_may_be_and_says_what_to_do(name: str, tmp_path: Path) -> None:
    place, log = inside(tmp_path, name), tmp_path / "log"
    with pytest.raises(DataError, match=r"put a file that can be read in its place.*--bad-lines skip") as raised:
        found(opened(place, log, bad="fail"))
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(str(place / name))
    assert found(opened(place, log, known=1)) == [(1, 0), (0, 1), (1, 0)]


def test_a_file_that_vanishes_before_it_is_read_is_rejected(tmp_path: Path) -> None:
    place = inside(tmp_path, "b.trig")
    source = opened(place, tmp_path / "log")
    assert source.end() == 3
    (place / "b.trig").unlink()
    assert found(source) == [(1, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"")], ids=["gone", "torn"])
def test_a_file_that_was_read_has_to_stay(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    """It is part of what has been reported: to leave it out would be another answer."""
    place, log = tmp_path / "in", tmp_path / "log"
    place.mkdir()
    pq.write_table(ROWS, place / "a.parquet")
    source = opened(place, log)
    assert found(source) == [(1, 0)]
    damage(place / "a.parquet")
    for again in (source, opened(place, log, known=1)):
        with pytest.raises(DataError, match="it was read before and is still needed: bring it back as it was"):
            found(again)
    assert found(opened(place, log)) == [(0, 1)]


def test_what_a_process_that_reads_for_the_driver_could_not_read_is_known_to_the_next(tmp_path: Path) -> None:
    place, log = inside(tmp_path, "b.trig"), tmp_path / "log"
    driver = opened(place, log)
    assert driver.end() == 3
    reader = open_partition(Iri(STREAM), str(place), LocalFiles(log))
    assert found(reader) == [(1, 0), (0, 1), (1, 0)]
    (place / "b.trig").unlink()
    (place / "b.trig").write_text("")
    for _ in range(3):
        assert found(open_partition(Iri(STREAM), str(place), LocalFiles(log))) == [(1, 0), (0, 1), (1, 0)]
        assert found(opened(place, log, known=3)) == [(1, 0), (0, 1), (1, 0)]
    assert LocalFiles(log).names("unreadable") == []  # taken over into the index, and forgotten


def test_what_is_wrong_with_the_machine_is_not_the_fault_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = inside(tmp_path, "b.trig")
    source = opened(place, tmp_path / "log")

    def fails(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(sources, "events_as_arrow", fails)
        with pytest.raises(OSError, match="Too many"):
            found(source)
    assert found(source) == [(1, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("bad", ["skip", "fail"])
def test_files_that_nobody_understands_are_left_aside(tmp_path: Path, bad: str) -> None:
    place = tmp_path / "in"
    place.mkdir()
    (place / "a.tnt").write_text(GOOD)
    for name in ("README", "notes.txt"):
        (place / name).write_text("hello")
    source = opened(place, tmp_path / "log", bad=bad)
    assert found(source) == [(1, 0)]
    assert isinstance(source, DirectoryPartition)
    assert "2 of its files are left aside, as README" in str(source.trouble)


def test_a_directory_that_is_gone_is_said(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = opened(tmp_path / "in", tmp_path / "log")
    (tmp_path / "in").rmdir()
    with pytest.raises(DataError, match="bring the directory back"):
        source.end()


def test_a_query_goes_on_behind_files_that_can_not_be_read(tmp_path: Path) -> None:
    place = inside(tmp_path, "b.parquet")
    (place / "README").write_text("hello")
    (place / "_END").touch()
    live = api.query(QUERY).start({STREAM: str(place)}, checkpoint=tmp_path / "checkpoint", bad="skip")
    assert live.wait(30)
    status = live.status()
    assert (status["used"], status["rejected"]) == (2, 1)
    (trouble,) = (each.reader.trouble for each in live.inputs)
    assert trouble is not None
    assert trouble.startswith(f"{place}: 1 of its files are left aside, as README")


def test_the_command_ends_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = inside(tmp_path, "b.parquet")
    (place / "_END").touch()
    with pytest.raises(SystemExit) as end:
        main(["run", "--follow", "-q", QUERY, "--stream", str(place), "--bad-lines", "fail"])
    assert end.value.code == DataError.exit_code
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "no --checkpoint" not in line)
    assert "b.parquet: expected a Parquet file" in line
    assert "--bad-lines skip" in line

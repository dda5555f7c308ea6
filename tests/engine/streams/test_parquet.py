"""Recorded streams: layout, next arrivals, and what a half-written one gets."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hydrograph.errors import DataError, UsageError
from hydrograph.streams.formats import parquet
from hydrograph.streams.schema import EVENTS, check_files
from hydrograph.streams.sources import bounds, events_as_arrow, events_on_spark, has_next, open_stream, parquet_paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A stream with repeated triples, elements of several triples, blank nodes, and disorder in time."""
    draw = random.Random(3)
    lines = []
    for _ in range(3000):
        time = draw.choice([f"{draw.randrange(400)}", f"{draw.randrange(400)}:{draw.randrange(3)}"])
        o = draw.choice(["<urn:o>", f'"{draw.randrange(3)}"', "_:b"])
        lines.append(f"{time}\t<urn:s{draw.randrange(4)}> <urn:p{draw.randrange(3)}> {o} .\n")
    file = tmp_path / "in.tnt"
    file.write_text("".join(lines))
    return file


def brute_force(table: pa.Table) -> list[tuple[object, ...]]:
    """Return (t, seq, s, p, o, t_next) of all rows, found by looking at each triple's arrivals in canonical order."""
    rows = sorted(zip(*(table[name].to_pylist() for name in ("t", "seq", "s", "p", "o")), strict=True))
    found = []
    for at, (t, seq, *triple) in enumerate(rows):
        later = (row[0] for row in rows[at + 1 :] if list(row[2:]) == triple)
        found.append((t, seq, *triple, next(later, None)))
    return sorted(found, key=repr)


def stored(location: Path) -> pa.Table:
    return events_as_arrow(open_stream(str(location))).read_all()


def check(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check all that is promised of the recorded stream `target`."""
    original, table = events_as_arrow(open_stream(str(source))).read_all(), stored(target)
    columns = ("t", "seq", "s", "p", "o", "t_next")
    assert sorted(zip(*(table[c].to_pylist() for c in columns), strict=True), key=repr) == brute_force(original)
    stream = open_stream(str(target))
    assert has_next(stream)
    known, here = bounds(stream), bounds(open_stream(str(source)))
    assert (known.first, known.last, known.rows, known.blanks) == (here.first, here.last, here.rows, True)
    seen: set[int] = set()
    assert len(parquet_paths(stream)) > 3
    for file in parquet_paths(stream):
        part = pq.read_table(file)
        order = list(zip(*(part[name].to_pylist() for name in ("p_id", "t", "seq")), strict=True))
        assert order == sorted(order)
        assert not seen & set(part["t"].to_pylist())
        assert not seen or max(seen) < min(part["t"].to_pylist())
        seen |= set(part["t"].to_pylist())


def test_writing_without_spark(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet.ranges, "__defaults__", (500,))
    parquet.write_arrow(events_as_arrow(open_stream(str(text))), tmp_path / "out", salt="ab")
    check(text, tmp_path / "out", monkeypatch)


@pytest.mark.spark
def test_writing_by_spark(text: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet.ranges, "__defaults__", (500,))
    stream = open_stream(str(text))
    parquet.write_spark(events_on_spark(stream, spark, need_seq=True), tmp_path / "out", salt="ab")
    check(text, tmp_path / "out", monkeypatch)
    read = events_on_spark(open_stream(str(tmp_path / "out")), spark)
    assert read.count() == 3000
    assert read.columns == EVENTS.names


def test_an_empty_stream(tmp_path: Path) -> None:
    (tmp_path / "in.tnt").write_text("# nothing\n")
    parquet.write_arrow(events_as_arrow(open_stream(str(tmp_path / "in.tnt"))), tmp_path / "out", salt="ab")
    stream = open_stream(str(tmp_path / "out"))
    assert bounds(stream).first is None
    assert events_as_arrow(stream).read_all().num_rows == 0


def test_a_half_written_directory_is_refused(text: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    parquet.write_arrow(events_as_arrow(open_stream(str(text))), target, salt="ab")
    manifest = (target / parquet.MANIFEST).read_text()
    (target / parquet.MANIFEST).unlink()
    with pytest.raises(DataError, match=r"no _hydrograph\.json"):
        open_stream(str(target))
    (target / parquet.MANIFEST).write_text(manifest[:-20])
    with pytest.raises(DataError, match="expected a manifest"):
        open_stream(str(target))
    (target / parquet.MANIFEST).write_text(manifest.replace('"version": 1', '"version": 99'))
    with pytest.raises(DataError, match="version"):
        open_stream(str(target))
    (target / parquet.MANIFEST).write_text(manifest)
    (target / "part-00000.parquet").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="missing"):
        open_stream(str(target))
    (target / "part-00000.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match="expected a Parquet file"):
        open_stream(str(target))


def test_nothing_stays_behind_if_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "in.tnt").write_text("1\t<urn:s> <urn:p> <urn:o> .\nbroken\n")
    with pytest.raises(DataError, match=r"in\.tnt, line 2: "):
        parquet.write_arrow(events_as_arrow(open_stream(str(tmp_path / "in.tnt"))), tmp_path / "out", salt="ab")
    assert [file.name for file in tmp_path.iterdir()] == ["in.tnt"]


def test_only_a_recorded_stream_is_replaced(text: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    for force in (False, True):
        parquet.write_arrow(events_as_arrow(open_stream(str(text))), target, salt="ab", force=force)
    with pytest.raises(UsageError, match="--force"):
        parquet.check_target(target, force=False)
    (target / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"holds thesis\.tex"):
        parquet.check_target(target, force=True)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"t": pa.array([1], pa.int64())}), file)
    with pytest.raises(DataError, match=r"no column 'seq'; it has t"):
        check_files([file], EVENTS)
    pq.write_table(pa.table({"t": pa.array(["1"])}), file)
    with pytest.raises(DataError, match=r"column 't' is string, expected int64"):
        check_files([file], EVENTS)


def test_two_terms_with_one_id_are_refused(text: Path, tmp_path: Path) -> None:
    rows = events_as_arrow(open_stream(str(text))).read_all()
    twice = rows["o_id"].to_pylist()
    twice[0] = twice[-1]
    assert rows["o"][0] != rows["o"][-1]
    rows = rows.set_column(rows.schema.get_field_index("o_id"), "o_id", pa.array(twice, pa.int64()))
    with pytest.raises(DataError, match="have the same 64-bit id"):
        parquet.write_arrow(rows.to_reader(), tmp_path / "out", salt="ab")
    assert not (tmp_path / "out").exists()


def test_every_file_is_checked(tmp_path: Path, text: Path) -> None:
    target = tmp_path / "out"
    parquet.write_arrow(events_as_arrow(open_stream(str(text))), target, salt="ab")
    manifest = parquet.Manifest.read(target)
    pq.write_table(pa.table({"t": pa.array([1], pa.int64())}), target / "part-00009.parquet")
    with pytest.raises(DataError, match=r"part-00009\.parquet: no column 'seq'"):
        parquet.paths(target, replace(manifest, files=(*manifest.files, "part-00009.parquet")))

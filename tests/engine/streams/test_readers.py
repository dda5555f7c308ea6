"""The reader in Python and the reader on Spark give the same rows, and refuse the same lines."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import zstandard

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import EVENT_COLUMNS
from hydrograph.streams.bad_lines import BadLines
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.sources import bounds, data_errors, events_as_arrow, events_on_spark, open_stream
from tests.support.tnt_lines import BROKEN, STATEMENTS, random_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SKIP = BadLines("skip")


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows in canonical order; NaN is written as text so that it equals itself."""
    columns = [["NaN" if value != value else value for value in table[name].to_pylist()] for name in EVENT_COLUMNS]
    return sorted(zip(*columns, strict=True), key=repr)


def both(location: Path, spark: SparkSession, bad_lines: BadLines | None = None) -> tuple[pa.Table, pa.Table]:
    """Return what the two readers make of the stream at `location`."""
    stream = open_stream(str(location), name="urn:stream", bad_lines=bad_lines)
    here, there = bounds(stream), bounds(stream, spark)
    assert (here.first, here.last, here.rows, here.bad) == (there.first, there.last, there.rows, there.bad)
    assert (here.blanks, here.grouped) == (there.blanks, there.grouped)
    on_spark = events_on_spark(stream, spark, need_seq=True, known=there).toArrow()
    return events_as_arrow(stream).read_all(), on_spark.select(list(EVENT_COLUMNS)).cast(EVENTS)


@pytest.mark.spark
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_corpus(tmp_path: Path, spark: SparkSession, end: str) -> None:
    file = tmp_path / "a b%20#{x}.tnt"
    file.write_bytes(end.join(STATEMENTS).encode("utf-8-sig"))
    python, plan = both(file, spark)
    assert rows(python) == rows(plan)
    assert len(python) > len(STATEMENTS) - 20


@pytest.mark.spark
def test_random_lines(tmp_path: Path, spark: SparkSession) -> None:
    draw = random.Random(7)
    for number in range(3):
        text = "\n".join(random_line(draw) for _ in range(4000))
        (tmp_path / f"{number}.tnt").write_bytes(text.encode("utf-8"))
    python, plan = both(tmp_path, spark, SKIP)
    assert rows(python) == rows(plan)
    assert len(python) > 5000


@pytest.mark.spark
def test_broken_lines(tmp_path: Path, spark: SparkSession) -> None:
    good = b"1\t<urn:s> <urn:p> <urn:o> .\n"
    file, kept = tmp_path / "bad.tnt", tmp_path / "kept"
    file.write_bytes(good + b"\n".join(BROKEN) + b"\n" + good)
    python, plan = both(file, spark, SKIP)
    assert rows(python) == rows(plan)
    assert len(python) == 2
    stream = open_stream(str(file), bad_lines=BadLines.read(str(kept)))
    assert bounds(stream).bad == len(BROKEN)
    here = kept.read_bytes().splitlines()
    assert bounds(stream, spark).bad == len(BROKEN)
    assert here == kept.read_bytes().splitlines() == BROKEN


@pytest.mark.spark
def test_spark_says_file_line_and_reason(tmp_path: Path, spark: SparkSession) -> None:
    file = tmp_path / "bad one.tnt"
    for broken in (*BROKEN[:4], b'1\t<urn:s> <urn:p> "\xff" .', b'1\t<urn:s> <urn:p> "a\x1b\\q" .'):
        file.write_bytes(b"# first\n1\t<urn:s> <urn:p> <urn:o> .\n" + broken + b"\n")
        stream = open_stream(str(file))
        with pytest.raises(DataError, match=r"bad one\.tnt, line 3: (column \d+: )?expected ") as there, data_errors():
            events_on_spark(stream, spark).toArrow()
        with pytest.raises(DataError) as here:
            events_as_arrow(stream).read_all()
        assert str(here.value) == str(there.value)
        assert str(here.value).isprintable()


@pytest.mark.spark
def test_compressed_files_and_directories(tmp_path: Path, spark: SparkSession) -> None:
    text = "".join(f"{line}\n" for line in STATEMENTS).encode()
    (tmp_path / "b.tnt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.tnt").write_bytes(text)
    half = len(text) // 2
    (tmp_path / "c.tnt.zst").write_bytes(zstandard.compress(text[:half]) + zstandard.compress(text[half:]))
    (tmp_path / "_ignored.tnt").write_bytes(b"broken")
    python, plan = both(tmp_path, spark)
    assert rows(python) == rows(plan)


@pytest.mark.spark
def test_line_numbers_over_many_splits(tmp_path: Path, spark: SparkSession) -> None:
    for number in range(3):
        lines = [f"{at}\t_:b <urn:p{number}> <urn:o{at % 7}> ." for at in range(5000)]
        (tmp_path / f"{number}.tnt").write_text("\n".join(lines))
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    try:
        python, plan = both(tmp_path, spark)
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(before))
    assert rows(python) == rows(plan)
    assert len(set(plan["s"].to_pylist())) == 15_000


@pytest.mark.spark
def test_no_setting_of_the_session_matters(tmp_path: Path, spark: SparkSession) -> None:
    file = tmp_path / "in.tnt"
    file.write_text("\n".join(STATEMENTS))
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.caseSensitive": "true",
        "spark.sql.codegen.wholeStage": "false",
    }
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        python, plan = both(file, spark)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert rows(python) == rows(plan)


@pytest.mark.spark
def test_nothing_is_computed_for_columns_that_nobody_reads(tmp_path: Path, spark: SparkSession) -> None:
    file = tmp_path / "in.tnt"
    file.write_text("1\t<urn:s> <urn:p> <urn:o> .\n")
    plan = events_on_spark(open_stream(str(file)), spark).select("t", "p_id")
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert text.count("xxhash64") == 1
    assert "lexical" not in text


def test_in_python_only(tmp_path: Path) -> None:
    file = tmp_path / "in.tnt"
    file.write_text("5:1\t_:a <urn:p> _:b .\n7\t<urn:s> <urn:p> _:a .\n5:1\t_:a <urn:q> <urn:o> .\n")
    table = events_as_arrow(open_stream(str(file), name="urn:stream")).read_all()
    assert table["seq"].to_pylist() == [1, 2, 1]
    assert table["s"].to_pylist()[0] == table["s"].to_pylist()[2] == "_:e1xc1c861f68f5107dxa"
    assert table["o"].to_pylist()[1] != table["s"].to_pylist()[0]


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_broken_lines_in_python(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "in.tnt"
    file.write_bytes(b"\n" + line)
    with pytest.raises(DataError, match=r"in\.tnt, line 2: .*expected .*, in: ") as caught:
        events_as_arrow(open_stream(str(file))).read_all()
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_locations(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        open_stream(str(tmp_path / "x.tnt"))
    (tmp_path / "x.csv").touch()
    with pytest.raises(DataError, match=r"\.tnt, \.nq, .*\.parquet, all but the last also with \.gz or \.zst"):
        open_stream(str(tmp_path / "x.csv"))
    with pytest.raises(DataError, match="holds no file of a known format"):
        open_stream(str(tmp_path))
    (tmp_path / "x.tnt.gz").write_bytes(gzip.compress(b"1\t<urn:s> <urn:p> <urn:o> .\n" * 1000)[:-20])
    with pytest.raises(DataError, match="damaged"):
        events_as_arrow(open_stream(str(tmp_path / "x.tnt.gz"))).read_all()

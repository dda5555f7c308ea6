"""Writer of worlds: the same rows at any partition count, readable by the engine, with a correct manifest."""

from __future__ import annotations

from bisect import bisect_right
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.errors import DataError, UsageError
from hydrograph.streams.sources import events_as_arrow, open_stream
from hydrograph.streams.static_graphs import read_static
from hydrograph_gauge.worlds import writer
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.manifest import WorldManifest
from hydrograph_gauge.worlds.settings import Settings
from hydrograph_gauge.worlds.stream_files import FileBoundaries
from hydrograph_gauge.worlds.terms import date_time, encode_triples, floating, integer, iri, simple_literal
from hydrograph_gauge.worlds.world import StreamPlan, World, WorldPlan
from hydrograph_gauge.worlds.writer import add_next_times, check_id_collisions, write_world

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Dice(Settings):
    """A world for tests."""

    throws: int = 300
    partitions: int = 1
    rules: Path | None = None


def throws(spark: SparkSession, settings: Dice) -> WorldPlan:
    """Return a stream of throws, some of them twice, and a static graph of all kinds of terms."""
    from pyspark.sql import functions as F  # noqa: N812

    i = F.col("id")
    eyes = Draws(settings.seed).below("eyes", 6).column(i)
    rows = spark.range(0, settings.throws, 1, settings.partitions)
    player = iri("urn:player", i % 2).text
    events = rows.select(F.floor(i / 4).alias("t"), i.alias("seq"), F.lit(None).alias("t_next"), "id")
    thrown = add_next_times(encode_triples(events, player, iri("urn:threw").text, integer(eyes), "t", "seq", "t_next"))
    values = [
        integer(i - 3),
        floating(i / 10),
        simple_literal(i.cast("string")),
        date_time(i * 86_399_999),
        iri("urn:x", i),
    ]
    graphs = [encode_triples(rows.limit(9), player, iri("urn:p", i).text, value) for value in values]
    static = graphs[0]
    for graph in graphs[1:]:
        static = static.union(graph)
    stream = StreamPlan(name="throws", iri="urn:throws", elements=thrown, expand=same)
    return WorldPlan(streams=(stream,), static=static)


def same(rows: DataFrame) -> DataFrame:
    return rows


DICE = World("dice", "Throws of dice.", Dice, throws, texts=("tnt", "watdiv", "yabench"))


@pytest.mark.spark
def test_a_world_is_written_the_same_at_any_partition_count(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROWS_PER_FILE", 90)
    made = {
        count: write_world(spark, DICE, Dice(partitions=count), tmp_path / str(count), forms=("tnt",))
        for count in (1, 2, 7)
    }
    assert len({manifest.checksum for manifest in made.values()}) == 1
    assert WorldManifest.read(tmp_path / "7") == made[7]
    part = made[7].streams["throws"]
    assert (part.triples, part.elements, part.first, part.last) == (300, 300, 0, 74)
    assert len(part.files) == 4

    stream = open_stream(str(tmp_path / "2" / "throws"))
    assert stream.manifest is not None
    assert stream.manifest.kinds == (4,)
    events = sorted(events_as_arrow(stream).read_all().to_pylist(), key=lambda row: row["seq"])
    for at, row in enumerate(events):
        later = [other["t"] for other in events[at + 1 :] if (other["s"], other["o"]) == (row["s"], row["o"])]
        assert row["t_next"] == (later[0] if later else None)

    # The written columns of every term equal those encoded from its text.
    text = open_stream(str(tmp_path / "2" / "throws.tnt"), name="urn:throws")
    columns = ("t", "s", "p", "o", "s_id", "p_id", "o_id", "o_kind", "o_num", "o_dec")
    read = [tuple(row[name] for name in columns) for row in events_as_arrow(text).read_all().to_pylist()]
    assert sorted(map(repr, read)) == sorted(repr(tuple(row[name] for name in columns)) for row in events)
    written, parsed = (read_static(str(tmp_path / "1" / name)) for name in ("static", "static.nt"))
    assert sorted(map(repr, written.to_pylist())) == sorted(map(repr, parsed.to_pylist()))
    assert made[1].static is not None
    assert made[1].static.triples == len(parsed) > 40

    rules = tmp_path / "rules.txt"
    rules.write_text("six wins\n", "utf-8")
    with_rules = Dice(seed=3, rules=rules)
    other = write_world(spark, DICE, with_rules, tmp_path / "7", force=True, forms=("watdiv", "yabench"))
    assert other.checksum != made[1].checksum
    # The file that a setting names goes with the world, wherever that goes and whatever becomes of the file.
    rules.write_text("one wins\n", "utf-8")
    (tmp_path / "7").rename(tmp_path / "moved")
    moved = Dice.model_validate(WorldManifest.read(tmp_path / "moved").settings)
    assert moved.rules == tmp_path / "moved" / "settings" / "rules" / "rules.txt"
    assert moved.rules.read_text("utf-8") == "six wins\n"
    assert other.files == {"rules": sha256(b"six wins\n").hexdigest()}
    assert made[1].files == {}
    (tmp_path / "moved").rename(tmp_path / "7")
    first = (tmp_path / "7" / "throws.txt").read_text("utf-8").splitlines()[0].split("\t")
    assert (first[0], first[1], first[3]) == ("urn:player0", "urn:threw", "0")
    line = (tmp_path / "7" / "throws.n3t").read_text("utf-8").splitlines()[-1]
    assert line.startswith("<urn:player1> <urn:threw> ")
    assert line.endswith(' "74" .')


@pytest.mark.spark
def test_a_long_stream_is_counted_in_cells(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    monkeypatch.setattr(writer, "ROWS_PER_FILE", 100)
    monkeypatch.setattr(writer, "MOST_CELLS", 64)
    rows = spark.range(0, 1000, 1, 2).select((F.col("id") * 1000 + 37).alias("t"))
    starts = writer._starts(rows, None)
    # A cell has 15 or 16 rows, and a file begins with a cell.
    assert len(starts) == 10
    assert {(start - 37) % (999_000 // 64 + 1) for start in starts} == {0}
    sizes = [sum(begin <= 1000 * i + 37 < end for i in range(1000)) for begin, end in pairwise([*starts, 10**9])]
    assert all(84 < size < 116 for size in sizes)
    # What is known of the span need not be tight, and a world without rows has no files.
    assert len(writer._starts(rows, (0, 1_500_000))) == 10
    assert writer._starts(rows.where("t < 0"), None) == []
    assert writer._starts(rows.where("t < 0"), (0, 9)) == []


def test_only_a_world_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="exists"):
        writer._make_way(tmp_path, force=False)
    with pytest.raises(UsageError, match="not a generated world"):
        writer._make_way(tmp_path, force=True)


def test_what_a_plan_kept_is_taken_away_if_it_can_not_be_written(tmp_path: Path) -> None:
    class Broken:
        def count(self) -> int:
            raise DataError("no rows today")

    class Conf(dict[str, str]):
        set = dict.__setitem__

    released: list[bool] = []
    size, compressed = "spark.sql.execution.arrow.maxBytesPerBatch", "spark.sql.inMemoryColumnarStorage.compressed"
    session: Any = SimpleNamespace(conf=Conf({size: "7", compressed: "true"}))
    static: Any = Broken()
    plan = WorldPlan(streams=(), static=static, done=lambda: released.append(True))
    world = World("broken", "Nothing comes of it.", Dice, lambda spark, settings: plan)  # noqa: ARG005
    with pytest.raises(DataError, match="no rows today"):
        write_world(session, world, Dice(), tmp_path / "world")
    assert released == [True]
    assert session.conf == {size: "7", compressed: "true"}
    assert not list(tmp_path.iterdir())


def test_a_file_of_the_settings_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rules\.txt: No such file"):
        writer._copied(Dice(rules=tmp_path / "rules.txt"), tmp_path / "world")


def test_a_directory_without_manifest_is_no_world(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="generation did not finish"):
        WorldManifest.read(tmp_path)


@given(st.lists(st.integers(-(2**40), 2**41), min_size=1, max_size=40, unique=True), st.data())
def test_a_time_is_in_the_last_file_that_starts_before_it(starts: list[int], data: st.DataObject) -> None:
    starts.sort()
    cuts = FileBoundaries.of(starts)
    near = data.draw(st.sampled_from(starts)) + data.draw(st.integers(-3, 3))
    for t in (near, data.draw(st.integers(starts[0], starts[-1] + 9))):
        assert cuts.value(t) == max(0, bisect_right(starts, t) - 1)


def test_even_files_are_found_with_one_comparison() -> None:
    assert FileBoundaries.of(range(0, 475_000_000, 1_000_000)).most == 1


@pytest.mark.spark
def test_the_column_finds_the_same_files(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    for starts in ([7], [-50, -3, 0, 1, 2, 900], list(range(0, 5000, 50))):
        cuts = FileBoundaries.of(starts)
        times = spark.range(-100, 6000, 37, 1)
        found = times.select("id", cuts.column(F.col("id")).alias("file")).collect()
        assert [row["file"] for row in found] == [cuts.value(row["id"]) for row in found]


def test_two_terms_with_one_id_are_found(tmp_path: Path) -> None:
    def written(name: str, rows: list[tuple[str, int, str, int, str, int]]) -> Path:
        columns = dict(zip(("s", "s_id", "p", "p_id", "o", "o_id"), map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), tmp_path / name)
        return tmp_path / name

    stream = written("stream.parquet", [("<a>", 1, "<p>", 2, "<b>", 3), ("<a>", 1, "<p>", 2, "<c>", 4)])
    static = written("static.parquet", [("<c>", 4, "<q>", 5, "<d>", 6)])
    check_id_collisions([[stream], [static]], tmp_path)
    check_id_collisions([[], []], tmp_path)
    clash = written("clash.parquet", [("<other>", 4, "<q>", 5, "<d>", 6)])
    with pytest.raises(DataError, match="<c> and <other> have the same 64-bit id"):
        check_id_collisions([[stream], [clash]], tmp_path)

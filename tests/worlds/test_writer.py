"""The writer: the same rows at any partition count, readable by the engine, with a manifest that says what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hydrograph.errors import DataError, UsageError
from hydrograph.streams.sources import events_as_arrow, open_stream
from hydrograph.streams.static import read_static
from hydrograph.worlds import writer
from hydrograph.worlds.draws import Draws
from hydrograph.worlds.manifest import WorldManifest
from hydrograph.worlds.plan import StreamPlan, World, WorldPlan
from hydrograph.worlds.settings import Settings
from hydrograph.worlds.terms import date_time, floating, integer, iri, plain, with_terms
from hydrograph.worlds.writer import with_next, write_world

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Dice(Settings):
    """A world for tests."""

    throws: int = 300
    partitions: int = 1


def throws(spark: SparkSession, settings: Dice) -> WorldPlan:
    """Return a stream of throws, some of them twice, and a static graph of all kinds of terms."""
    from pyspark.sql import functions as F  # noqa: N812

    i = F.col("id")
    eyes = Draws(settings.seed).below("eyes", 6).column(i)
    rows = spark.range(0, settings.throws, 1, settings.partitions)
    player = iri("urn:player", i % 2).text
    events = rows.select(F.floor(i / 4).alias("t"), i.alias("seq"), F.lit(None).alias("t_next"), "id")
    thrown = with_next(with_terms(events, player, iri("urn:threw").text, integer(eyes), "t", "seq", "t_next"))
    values = [integer(i - 3), floating(i / 10), plain(i.cast("string")), date_time(i * 86_399_999), iri("urn:x", i)]
    graphs = [with_terms(rows.limit(9), player, iri("urn:p", i).text, value) for value in values]
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

    # What is written says of every term what reading its text says.
    text = open_stream(str(tmp_path / "2" / "throws.tnt"), name="urn:throws")
    columns = ("t", "s", "p", "o", "s_id", "p_id", "o_id", "o_kind", "o_num", "o_dec")
    read = [tuple(row[name] for name in columns) for row in events_as_arrow(text).read_all().to_pylist()]
    assert sorted(map(repr, read)) == sorted(repr(tuple(row[name] for name in columns)) for row in events)
    written, parsed = (read_static(str(tmp_path / "1" / name)) for name in ("static", "static.nt"))
    assert sorted(map(repr, written.to_pylist())) == sorted(map(repr, parsed.to_pylist()))
    assert made[1].static is not None
    assert made[1].static.triples == len(parsed) > 40

    other = write_world(spark, DICE, Dice(seed=3), tmp_path / "7", force=True, forms=("watdiv", "yabench"))
    assert other.checksum != made[1].checksum
    first = (tmp_path / "7" / "throws.txt").read_text("utf-8").splitlines()[0].split("\t")
    assert (first[0], first[1], first[3]) == ("urn:player0", "urn:threw", "0")
    line = (tmp_path / "7" / "throws.n3t").read_text("utf-8").splitlines()[-1]
    assert line.startswith("<urn:player1> <urn:threw> ")
    assert line.endswith(' "74" .')


def test_only_a_world_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="exists"):
        writer._make_way(tmp_path, force=False)
    with pytest.raises(UsageError, match="no generated world"):
        writer._make_way(tmp_path, force=True)


def test_a_directory_without_manifest_is_no_world(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="was not finished"):
        WorldManifest.read(tmp_path)

"""The shop: its model, what the model promises, and the stream that comes of it."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.xsd import Kind
from hydrograph.streams.sources import events_as_arrow, open_stream
from hydrograph.streams.static_graphs import read_static
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.shop.activities import Timing
from hydrograph_gauge.worlds.shop.encoding import TripleEncoder, build_tables, encode_rows
from hydrograph_gauge.worlds.shop.expectation import compute_expectation, probability
from hydrograph_gauge.worlds.shop.model import ActivityMode, Distribution, read_model
from hydrograph_gauge.worlds.shop.world import WORLD, ShopSettings, build_population, build_timing, generate, load_model
from hydrograph_gauge.worlds.writer import write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WSDBM = "http://db.uwaterloo.ca/~galuc/wsdbm/"
PUBLISHED = {
    (1, 1): (55_504, 56_978),
    (1, 100): (59_251, 5_576_489),
    (100, 1): (5_536_852, 4_754_669),
    (100, 100): (5_572_466, 475_211_828),
}

SMALL = """
#namespace ex=http://example.org/
// a comment
<type> ex:Person 40
<pgroup> 0.5
#predicate ex:name name
#predicate ex:born date 1970-01-01 1970-01-31 normal
</pgroup>
</type>
<type*> ex:Town 5
</type>
#association ex:Person ex:lives ex:Town 2 1 0.5 ZIPFIAN
#association ex:Person ex:knows ex:Person 2 4[normal] 1.0 uniform
#association ex:Person ex:owns ex:Town 1 1 1.0 uniform
#activity meet ex:knows
#statistics ex:Person
"""


def test_the_built_in_model_is_that_of_stream_watdiv() -> None:
    model = load_model(None)
    assert {type_.name.removeprefix(WSDBM): type_.count for type_ in model.types if type_.scales} == {
        "User": 1000, "Website": 50, "Product": 250, "Retailer": 12, "Offer": 900, "Purchase": 1500, "Review": 1500,
    }  # fmt: skip
    assert (len(model.types), len(model.associations)) == (17, 47)
    assert [activity.name for activity in model.activities] == [
        "follow", "like", "subscribe", "offer", "purchase", "review",
    ]  # fmt: skip


def test_the_numbers_of_the_thesis_are_a_preset_that_contradicts_its_sizes() -> None:
    """Table 2.2 has 22 retailers and 25 languages; with those the stream of table 3.1 would be 18 % larger."""
    released, thesis = load_model(None), load_model(None, "thesis")
    changed = {
        one.name.removeprefix(WSDBM): (one.count, other.count)
        for one, other in zip(released.types, thesis.types, strict=True)
        if one != other
    }
    assert changed == {"Retailer": (12, 22), "Language": (35, 25)}
    assert (released.associations, released.activities) == (thesis.associations, thesis.activities)
    sizes = {
        one.entities: compute_expectation(build_population(None, one)).stream
        for one in (ShopSettings(stream=100), ShopSettings(stream=100, entities="thesis"))
    }
    assert sizes["release"] / PUBLISHED[1, 100][1] == pytest.approx(1, abs=0.001)
    assert sizes["thesis"] / PUBLISHED[1, 100][1] == pytest.approx(1.18, abs=0.01)
    with pytest.raises(UsageError, match="a model file has its own numbers of entities"):
        read_settings(ShopSettings, None, {"entities": "thesis", "model": "small.model"})


def test_a_model_in_watdivs_syntax_is_read() -> None:
    model = read_model(SMALL, "small")
    person = model.type("http://example.org/Person")
    assert (person.count, person.scales, model.types[1].scales) == (40, True, False)
    born = person.groups[0].attributes[1]
    assert (born.low, born.high, born.distribution) == (0, 30, Distribution.NORMAL)
    lives, knows, owns = model.associations
    assert (lives.cover, lives.distribution) == (0.5, Distribution.ZIPFIAN)
    assert (knows.most, knows.spread, owns.exclusive) == (4, Distribution.NORMAL, True)
    assert [(one.name, one.entity, one.mode) for one in model.activities] == [("meet", None, ActivityMode.REQUIRED)]


def test_a_model_without_activities_gets_those_of_stream_watdiv() -> None:
    text = load_text().replace("#activity", "#statistics")
    assert read_model(text, "x").activities == load_model(None).activities


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("<type> ex:Person many", "expected a whole number, got 'many'"),
        ("#association ex:A ex:b ex:C 3 1", "expected cardinalities such as"),
        ("#association ex:A ex:b", "expected a line of a WatDiv model"),
        ("#association ex:A ex:b ex:C 2 1 1.5", "expected a number from 0 to 1"),
        ("#association ex:A no:b ex:C", "expected a name with one of the prefixes ex"),
        ("#association ex:A ex:b ex:C", "which is not a type of the model"),
        ("#predicate ex:x string", "expected a line of a WatDiv model"),
        ("<type> ex:A 1", "expected </type> for"),
    ],
)
def test_a_wrong_model_is_refused(line: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        read_model(f"#namespace ex=http://example.org/\n{line}\n", "wrong")


@pytest.mark.parametrize("scale", PUBLISHED)
def test_the_expectation_is_near_the_published_sizes(scale: tuple[int, int]) -> None:
    wanted = compute_expectation(build_population(None, ShopSettings(static=scale[0], stream=scale[1])))
    static, stream = PUBLISHED[scale]
    # Static sizes vary by 3.4 % at scale 1 (friendships), streams at scale 1 by 2.9 %.
    assert abs(wanted.static / static - 1) < (0.06 if scale[0] == 1 else 0.01)
    assert abs(wanted.stream / stream - 1) < (0.04 if scale == (1, 1) else 0.001)


def test_roles_are_as_likely_as_they_are_drawn() -> None:
    people = build_population(None, ShopSettings())
    user, role = WSDBM + "User", WSDBM + "Role"
    zeros = probability(people, user, role + "0")
    # One role for all, two different ones for a tenth, all three for a hundredth.
    one, two = 6 / 11, 6 / 11 + 3 / 11 * (6 / 11) / (8 / 11) + 2 / 11 * (6 / 11) / (9 / 11)
    assert zeros == pytest.approx(1 - (1 - one) * (1 - 0.1 * two) * 0.99)


def test_batches_follow_the_rate() -> None:
    timings = [build_timing(ShopSettings(rate=rate)) for rate in (100, 1000, 10_000)]
    assert [(timing.batch, timing.interval) for timing in timings] == [(1, 10), (1, 1), (10, 1)]
    assert [build_timing(ShopSettings(rate=2000, start=7)).value(i) for i in range(5)] == [7, 7, 8, 8, 9]
    assert build_timing(ShopSettings(batch=3, interval=50)).value(8) == 100


@pytest.mark.parametrize("rate", [1, 7, 100, 600, 999, 1000, 1500, 2000, 10_000, 12_345])
def test_a_second_has_as_many_triples_as_the_rate_says(rate: int) -> None:
    times = build_timing(ShopSettings(rate=rate, start=7))
    seconds = [(times.value(i) - 7) // 1000 for i in range(3 * rate)]
    assert Counter(seconds) == {0: rate, 1: rate, 2: rate}
    assert times.array(np.arange(3 * rate)).tolist() == [7 + i * 1000 // rate for i in range(3 * rate)]


def test_a_faithful_rate_is_that_of_whole_batches() -> None:
    for rate, real in ((600, 1000), (1500, 1000), (2500, 2000), (400, 500), (500, 500)):
        times = build_timing(ShopSettings(rate=rate, faithful=True))
        assert times.batch * 1000 / times.interval == real


@pytest.mark.spark
def test_times_on_spark_are_those_of_the_driver(spark: SparkSession) -> None:
    some = [0, 1, 2, 3, 1499, 1500, 10**9 + 1, 2**40 + 7]
    numbers = spark.createDataFrame(pa.table({"i": pa.array(some, pa.int64())}))
    for rate in (600, 1500, 12_345):
        times = build_timing(ShopSettings(rate=rate, start=-5))
        found = numbers.select(times.column(numbers["i"]).alias("t")).toArrow()["t"].to_pylist()
        assert found == [times.value(i) for i in some]


@pytest.mark.spark
@pytest.mark.slow
def test_the_stream_is_numbered_timed_and_knows_its_repetitions(spark: SparkSession, tmp_path: Path) -> None:
    model = tmp_path / "small.model"
    model.write_text(_few(load_text()), "utf-8")
    settings = ShopSettings(stream=3, rate=2000, model=model)
    made = write_world(spark, WORLD, settings, tmp_path / "world", forms=("watdiv",))
    rows = events_as_arrow(open_stream(str(tmp_path / "world" / "shop"))).read_all().to_pylist()
    rows.sort(key=lambda row: row["seq"])
    assert [row["seq"] for row in rows] == list(range(len(rows)))
    assert [row["t"] for row in rows] == [row["seq"] // 2 for row in rows]
    later: dict[tuple[str, ...], int] = {}
    for row in reversed(rows):
        triple = row["s"], row["p"], row["o"]
        assert row["t_next"] == later.get(triple)
        later[triple] = row["t"]
    assert len(later) < len(rows)

    # Reviews are whole: reviewer, product and rating, once each.
    reviews = Counter(row["p"] for row in rows if "stuff/rev#" in row["p"])
    whole = [reviews[f"<http://purl.org/stuff/rev#{name}>"] for name in ("reviewer", "hasReview", "rating")]
    assert whole[0] > 0
    assert len(set(whole)) == 1
    bought = Counter(row["o"] for row in rows if row["p"] == f"<{WSDBM}makesPurchase>")
    assert set(bought.values()) == {1}

    # Static data speaks about the entities of the stream; what is streamed is not in it.
    static = read_static(str(tmp_path / "world" / "static")).to_pylist()
    assert made.static is not None
    assert len(static) == made.static.triples == len({(row["s"], row["p"], row["o"]) for row in static})
    assert not {row["p"] for row in rows} & {row["p"] for row in static}
    lines = (tmp_path / "world" / "shop.txt").read_text("utf-8").splitlines()
    assert len(lines) == len(rows)
    assert lines[0].split("\t")[3] == "0"

    # The same activities with a time and an element each.
    other = write_world(
        spark, WORLD, ShopSettings(stream=3, rate=2000, model=model, per="activity"), tmp_path / "other"
    )
    part = other.streams["shop"]
    assert part.triples == len(rows)
    assert part.elements < part.triples
    events = events_as_arrow(open_stream(str(tmp_path / "other" / "shop"))).read_all().to_pylist()
    assert {(row["s"], row["p"], row["o"]) for row in events} == set(later)
    assert {row["seq"] for row in events} <= {row["seq"] for row in rows}
    assert all(row["t"] == row["seq"] // 2 for row in events)


@pytest.mark.spark
@pytest.mark.parametrize("faithful", [False, True])
def test_triples_made_in_arrays_are_those_made_by_spark(spark: SparkSession, *, faithful: bool) -> None:
    people = build_population(spark, ShopSettings(faithful=faithful, seed=7))
    # Every row of the model, streamed or not; one subject twice, so that terms recur.
    numbered = [(code, subject) for code in range(len(people.rows)) for subject in (0, 3, 41, 3)]
    seq = range(len(numbered))
    narrow = pa.table(
        {
            "seq": pa.array(seq, pa.int64()),
            "next": pa.array([None if at % 3 else at + 8 for at in seq], pa.int64()),
            "code": pa.array([code for code, _ in numbered], pa.int32()),
            "s": pa.array([subject for _, subject in numbered], pa.int64()),
            "o": pa.array([code % 5 for code, _ in numbered], pa.int64()),
        }
    )
    times = Timing(batch=4, interval=3, start=7)
    rows = spark.createDataFrame(narrow)
    timed = {"t": times.column(rows["seq"]), "t_next": times.column(rows["next"])}
    by_spark = encode_rows(people, rows.withColumns(timed), "t", "seq", "t_next").toArrow().to_pylist()
    encoder = TripleEncoder(build_tables(people, times))
    order = encoder.order(narrow).tolist()
    in_arrays = encoder(narrow.take(order)).to_pylist()
    assert in_arrays == sorted(by_spark, key=lambda row: (row["p_id"], row["t"], row["seq"]))
    # What was met before is the same when it comes again.
    assert encoder(narrow.take(order)).to_pylist() == in_arrays
    kinds = {Kind.IRI, Kind.STRING} | (set() if faithful else {Kind.INTEGER, Kind.DATE})
    assert {row["o_kind"] for row in in_arrays} == kinds


ENTITIES = """
#namespace ex=http://example.org/
<type> ex:Person 10
<pgroup> 1.0
#predicate ex:name name
</pgroup>
</type>
<type> ex:Letter 15
<pgroup> 1.0
#predicate ex:pages integer 1 9
#predicate ex:day integer 1 9
</pgroup>
</type>
#association ex:Person ex:writes ex:Letter 2 2 1.0 uniform
#association ex:Person ex:knows ex:Person 2 2 1.0 uniform
#activity meet ex:knows
#activity write ex:writes ex:Letter each
"""


@pytest.mark.spark
def test_the_clock_of_activities_counts_triples_and_a_faithful_one_activities(
    spark: SparkSession, tmp_path: Path
) -> None:
    model = tmp_path / "letters.model"
    model.write_text(ENTITIES, "utf-8")

    def elements(*, faithful: bool) -> list[tuple[int, int, int]]:
        """Return the kind, the number and the time of each activity in their order."""
        settings = ShopSettings(model=model, rate=1500, per="activity", faithful=faithful)
        plan = generate(spark, settings)
        rows = plan.streams[0].elements.select("kind", "seq", "t").collect()
        plan.done()
        return sorted(((row["kind"], row["seq"], row["t"]) for row in rows), key=lambda one: one[1])

    sane, old = elements(faithful=False), elements(faithful=True)
    assert {kind for kind, _, _ in sane} == {0, 1}
    # A letter has three triples: two attributes, and who wrote it.
    sizes = [1 if kind == 0 else 3 for kind, _, _ in sane]
    assert [seq for _, seq, _ in sane] == [0, *accumulate(sizes)][:-1]
    assert [t for _, _, t in sane] == [seq * 1000 // 1500 for _, seq, _ in sane]
    assert [seq for _, seq, _ in old] == list(range(len(sane)))
    assert [t for _, _, t in old] == [seq for _, seq, _ in old]


def load_text() -> str:
    file = Path(read_model.__code__.co_filename).with_name("watdiv.model")
    return file.read_text("utf-8")


def _few(text: str) -> str:
    """Return the model with a tenth of the entities, for speed."""
    for count in (1000, 250, 900, 1500):
        text = text.replace(f" {count}\n", f" {count // 10}\n")
    return text

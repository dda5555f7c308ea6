"""The social network on Spark: one small world is generated, read back by DuckDB, and asked LSBench's queries."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from hydrograph.api import query
from hydrograph.rdf.encoding import encode_text
from hydrograph.temporal import HOUR
from hydrograph_gauge.queries.constants import choose_lsbench_constants
from hydrograph_gauge.queries.query_sets import SetQuery, locate_static_graphs, locate_streams, read_query_set
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.manifest import WorldManifest
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.social.dictionaries import dictionaries
from hydrograph_gauge.worlds.social.people import People
from hydrograph_gauge.worlds.social.settings import DAY, STREAMS, SocialSettings
from hydrograph_gauge.worlds.social.triples import DBPPROP, DC, FOAF, SIB, SIOC, STREAM_IRIS, instant_triple
from hydrograph_gauge.worlds.social.world import WORLD, make_sources
from hydrograph_gauge.worlds.spark import force_task_count
from hydrograph_gauge.worlds.writer import write_world
from tests.support.compared_answers import compared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # a world takes minutes where Spark compiles for the first time

SMALL: dict[str, object] = {
    "users": 120,
    "events": 2,
    "max_event_fixes": 10,
    "gps_probability": 0.05,
    "max_gps_times": 5,
    "max_albums": 2,
    "max_photos": 12,
}
RATES = {"posts": 40, "post_likes": 150, "photos": 40, "photo_likes": 150, "gps": 60, "tags": 40, "photo_tags": 30}
QUERIES = read_query_set("lsbench")


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("social") / "world"
    settings = read_settings(SocialSettings, None, {**SMALL, "rate": RATES})
    write_world(spark, WORLD, settings, target)
    return target


def rows(world: Path, sql: str, **names: str) -> list[tuple[Any, ...]]:
    """Ask DuckDB; each stream and `static` is a view, each of `names` a text."""
    with duckdb.connect() as database:
        manifest = WorldManifest.read(world)
        parts = {**manifest.streams, "static": manifest.static}
        for name, part in parts.items():
            assert part is not None
            files = [str(world / part.path / file) for file in part.files]
            database.read_parquet(files).create_view(name)
        return database.execute(sql, names or None).fetchall()


def test_every_stream_is_there_with_its_name(world: Path) -> None:
    manifest = WorldManifest.read(world)
    assert {name: part.iri for name, part in manifest.streams.items()} == STREAM_IRIS
    assert all(part.triples >= part.elements > 0 for part in manifest.streams.values())


@pytest.mark.parametrize("stream", STREAMS)
def test_elements_have_places_without_gaps_and_times_by_the_rate(world: Path, stream: str) -> None:
    manifest = WorldManifest.read(world)
    start = manifest.streams[stream].first
    found = rows(world, f"SELECT DISTINCT seq, t FROM {stream} ORDER BY seq")
    assert [seq for seq, _ in found] == list(range(manifest.streams[stream].elements))
    assert [t for _, t in found] == [(start or 0) + seq * 1000 // RATES[stream] for seq, _ in found]


@pytest.mark.parametrize("part", [*STREAMS, "static"])
def test_encoded_columns_are_what_the_texts_say(world: Path, part: str) -> None:
    found = rows(world, f"SELECT DISTINCT o, o_id, o_kind, o_num, o_dec FROM {part}")
    for text, number, kind, num, dec in found:
        known = encode_text(text)
        assert (known.id, int(known.kind), known.num, known.dec) == (number, kind, num, dec), text
    for column in "sp":
        ids = rows(world, f"SELECT DISTINCT {column}, {column}_id FROM {part}")
        assert all(encode_text(text).id == number for text, number in ids)


@pytest.mark.parametrize("part", [*STREAMS, "static"])
def test_no_triple_comes_twice(world: Path, part: str) -> None:
    assert rows(world, f"SELECT s, p, o FROM {part} GROUP BY ALL HAVING count(*) > 1 LIMIT 1") == []
    if part != "static":
        assert rows(world, f"SELECT count(t_next) FROM {part}") == [(0,)]


def test_friends_know_each_other_and_subscribe_to_each_others_walls(world: Path) -> None:
    knows = set(rows(world, "SELECT s, o FROM static WHERE p = $knows", knows=f"<{FOAF}knows>"))
    assert knows == {(b, a) for a, b in knows}
    assert all(a != b for a, b in knows)
    accepted = rows(
        world,
        """SELECT a.o, b.o FROM static a JOIN static b ON a.s = b.s AND a.p = $memb AND b.p = $memb AND a.o != b.o
        WHERE a.s IN (SELECT s FROM static WHERE p IN ($approved, $reapproved))""",
        memb=f"<{SIB}memb>",
        approved=f"<{SIB}approved>",
        reapproved=f"<{SIB}reapproved>",
    )
    assert set(accepted) == knows
    walls = rows(world, "SELECT s, o FROM static WHERE p = $on AND s LIKE '%/user/%'", on=f"<{SIOC}subscriber_of>")
    subscribed = {(_number(user), _number(forum) // 2) for user, forum in walls}
    own = {(user, user) for user in range(120)}
    assert subscribed == own | {(_number(a), _number(b)) for a, b in knows}


def _number(iri: str) -> int:
    return int("".join(mark for mark in iri.rpartition("/")[2] if mark.isdigit()))


def test_comments_answer_what_was_there_before(world: Path) -> None:
    found = rows(
        world,
        """SELECT c.o, d.o, m.seq, n.seq FROM posts c JOIN posts m ON m.s = c.s AND m.p = $created
        JOIN posts n ON n.s = c.o AND n.p = $created JOIN posts d ON d.s = c.o AND d.p = $created
        WHERE c.p = $reply""",
        created=f"<{DC}created>",
        reply=f"<{SIOC}reply_of>",
    )
    assert found
    assert all(later >= earlier for _, _, later, earlier in found)


@pytest.mark.parametrize("shares", [(0.3, 0.3, 0.4), (0, 0, 1)])
def test_everything_happens_within_the_period_also_without_correlation(
    spark: SparkSession, shares: tuple[float, ...]
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    settings = read_settings(SocialSettings, None, {**SMALL, "friend_shares": shares})
    for stream in make_sources(spark, settings)[0]:
        found = stream.elements.agg(F.count("*"), F.min("created"), F.max("created")).collect()[0]
        assert found[0] > 0, stream.name
        assert settings.first <= found[1] <= found[2] < settings.last, stream.name


def test_every_post_has_one_author_and_one_place_and_its_tags(world: Path) -> None:
    counted = rows(
        world,
        """SELECT count(*) FILTER (p = $by), count(*) FILTER (p = $within), count(DISTINCT seq), count(DISTINCT t)
        FROM posts GROUP BY CASE WHEN p IN ($by, $within) THEN o ELSE s END""",
        by=f"<{SIOC}creator_of>",
        within=f"<{SIOC}container_of>",
    )
    assert set(counted) == {(1, 1, 1, 1)}
    tags = rows(world, "SELECT s, o FROM posts WHERE p = $tag ORDER BY ALL", tag=f"<{SIB}hashtag>")
    assert tags == rows(world, "SELECT s, o FROM tags ORDER BY ALL")


def test_fixes_are_within_the_period_and_nobody_is_at_an_event_twice(world: Path) -> None:
    asked = read_settings(SocialSettings, None, SMALL)
    times = rows(world, "SELECT min(o), max(o) FROM gps WHERE p = $time", time=f"<{SIB}trackedTime>")[0]
    assert f'"{asked.start}T' <= times[0] <= times[1] < f'"{asked.end + timedelta(days=1)}T'
    at_once = rows(
        world,
        """SELECT u.s FROM gps u JOIN gps w ON w.s = u.o AND w.p = $time WHERE u.p = $at GROUP BY u.s, w.o
        HAVING count(*) > 1""",
        at=f"<{SIB}trackedAt>",
        time=f"<{SIB}trackedTime>",
    )
    assert at_once == []


def test_attendees_are_close_to_their_event(world: Path) -> None:
    found = rows(
        world,
        """SELECT w.o, a.o_num, b.o_num FROM gps w JOIN gps a ON a.s = w.s AND a.p = $latd
        JOIN gps b ON b.s = w.s AND b.p = $longd WHERE w.p = $place""",
        latd=f"<{DBPPROP}latd>",
        longd=f"<{DBPPROP}longd>",
        place=f"<{SIB}trackedLocation>",
    )
    places = {f'"{place.name}"': place for place in dictionaries().places}
    attended = [(places[name], latitude, longitude) for name, latitude, longitude in found if name in places]
    assert 0 < len(attended) < len(found)
    for place, latitude, longitude in attended:
        assert 0 <= latitude - place.latitude < 0.01 + 1e-9
        assert 0 <= longitude - place.longitude < 0.01 + 1e-9


@pytest.mark.parametrize("asked", QUERIES, ids=[asked.name for asked in QUERIES])
def test_every_query_has_answers(world: Path, asked: SetQuery) -> None:
    manifest = WorldManifest.read(world)
    parts = [manifest.streams[name] for name in asked.about.streams]
    streams = {str(part.iri): world / part.path for part in parts}
    static = locate_static_graphs(world) if "static" in asked.about.features else None
    until = max(part.last or 0 for part in parts) + 1000
    text = asked.text(choose_lsbench_constants(world))
    with query(text).over(streams, static, placement="local", until=until) as run:
        assert any(report.rows for report in run.reports())


@pytest.mark.parametrize("asked", QUERIES, ids=[asked.name for asked in QUERIES])
def test_answers_are_the_oracles(world: Path, asked: SetQuery) -> None:
    start = min(WorldManifest.read(world).streams[name].first or 0 for name in asked.about.streams)
    streams = locate_streams(asked, world)
    compared(
        asked.text(choose_lsbench_constants(world)),
        streams,
        locate_static_graphs(world),
        after=start,
        until=start + 8_000,
    )


def test_a_faithful_world_repeats_likes_and_is_the_same_at_any_partition_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = read_settings(SocialSettings, None, {**SMALL, "users": 60, "faithful": True, "element": "triple"})
    before = spark.conf.get("spark.sql.shuffle.partitions")
    found = []
    try:
        for partitions in (1, 3):
            spark.conf.set("spark.sql.shuffle.partitions", partitions)
            with force_task_count(partitions):
                found.append(write_world(spark, WORLD, settings, tmp_path / str(partitions)))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before or 2)
    assert found[0].checksum == found[1].checksum
    for stream in STREAMS:
        part = found[0].streams[stream]
        assert part.triples == part.elements
        wrong = rows(
            tmp_path / "1",
            f"""SELECT * FROM (SELECT t_next, lead(t) OVER (PARTITION BY s_id, p_id, o_id ORDER BY t, seq) AS right_one
            FROM {stream}) WHERE t_next IS DISTINCT FROM right_one LIMIT 1""",
        )
        assert wrong == [], stream
    repeated = rows(tmp_path / "1", "SELECT DISTINCT n FROM (SELECT count(*) AS n FROM post_likes GROUP BY s, o)")
    assert repeated == [(10,)]
    titles = rows(tmp_path / "1", "SELECT DISTINCT o FROM posts WHERE p LIKE '%/title>'")
    assert titles == [('"null"',)]
    faithful_places_and_subscriptions(tmp_path / "1", settings)


def faithful_places_and_subscriptions(world: Path, settings: SocialSettings) -> None:
    """A user who reports k times sends k fixes each time, a day apart; users subscribe to their own forums alone."""
    fixes = rows(
        world,
        """SELECT u.s, u.t, w.o FROM gps u JOIN gps w ON w.s = u.o AND w.p = $place WHERE u.p = $at ORDER BY ALL""",
        at=f"<{SIB}trackedAt>",
        place=f"<{SIB}trackedLocation>",
    )
    countries = {f'"{country.name}"' for country in dictionaries().countries}
    own: dict[str, list[int]] = {}
    for user, t, where in fixes:
        if where in countries:
            own.setdefault(user, []).append(t)
    assert any(len(times) > 1 for times in own.values())
    for times in own.values():
        k = round(len(times) ** 0.5)
        assert times == [times[0] + time * DAY + i * 5_000 for time in range(k) for i in range(k)]
    subscribed = rows(world, "SELECT s, o FROM static WHERE p = $on AND s LIKE '%/user/%'", on=f"<{SIOC}subscriber_of>")
    assert {(_number(user), _number(forum)) for user, forum in subscribed} == {
        (user, 2 * user + forum) for user in range(settings.users) for forum in (0, 1)
    }


def test_a_faithful_clock_has_twelve_hours(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    hours = spark.range(0, 24, 1, 1)
    s, t = F.lit("<s>"), F.col("id") * HOUR + 61_000
    both = [instant_triple(s, "p", t, faithful=faithful)["o"].alias(str(faithful)) for faithful in (False, True)]
    shown = [[text[12:20] for text in row] for row in hours.select(*both).collect()]
    assert shown == [[f"{hour:02}:01:01", f"{(hour - 1) % 12 + 1:02}:01:01"] for hour in range(24)]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 3.0])
def test_the_mean_of_friends_wanted_goes_with_alpha(spark: SparkSession, alpha: float) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    settings = read_settings(SocialSettings, None, {"alpha": alpha, "skew": "bounded"})
    wanted = People(settings, Draws(settings.seed)).wanted(F.col("id"))
    found = spark.range(0, 20_000, 1, 1).agg(F.avg(wanted), F.min(wanted), F.max(wanted)).collect()[0]
    assert found[0] == pytest.approx(5 + 35 * alpha / (alpha + 1), rel=0.02)
    assert 5 <= found[1] <= found[2] < 40

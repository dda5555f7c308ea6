"""Weather stations: exact periods, seven triples, profiles of the rate, and disorder that only moves arrivals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hydrograph.errors import UsageError
from hydrograph.streams.sources import events_as_arrow, open_stream
from hydrograph.streams.static_graphs import read_static
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.hashing import NumberArray
from hydrograph_gauge.worlds.java_random import JavaRandom
from hydrograph_gauge.worlds.sensors import generators as sg1
from hydrograph_gauge.worlds.sensors.generators import GENERATORS, find_generator
from hydrograph_gauge.worlds.sensors.settings import SensorSettings
from hydrograph_gauge.worlds.sensors.world import WORLD
from hydrograph_gauge.worlds.writer import write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROCEDURE = "<http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#procedure>"


def test_generators_are_found_by_name() -> None:
    assert find_generator("SG1") is GENERATORS["SG1"]
    with pytest.raises(UsageError, match="expected a generator"):
        find_generator("SG2")


def made(spark: SparkSession, target: Path, **given: Any) -> list[dict[str, Any]]:
    write_world(spark, WORLD, SensorSettings(**given), target, forms=given.pop("forms", ()))
    rows: list[dict[str, Any]] = events_as_arrow(open_stream(str(target / "sensors"))).read_all().to_pylist()
    return rows


EXPERIMENT_4: dict[str, Any] = {"seed": 1430236808, "stations": 1, "interval": 1000, "duration": 20_000}


def test_a_published_seed_gives_the_published_stream() -> None:
    """Compare with the published results of YABench's experiment 4.

    Its windows [0, 5000), [5000, 10000), … hold 35 triples, the borders that it finds in gracious mode are the times
    1031, 6031, 11031 and 16031, and each window has 10 pairs of observations of which one is warmer.
    """
    drawn = sg1.draw_java_observations(SensorSettings(**EXPERIMENT_4, random="java", faithful=True))
    assert drawn.t.tolist() == [0, *range(1031, 20_000, 1000)]
    assert {1031, 6031, 11_031, 16_031} <= set(drawn.t.tolist())
    for window in range(4):
        values = drawn.value[drawn.t // 5000 == window].tolist()
        assert len(values) * 7 == 35
        assert sum(one > other for one in values for other in values) == 10


WARM = {
    50: ([119, 137, 128, 117, 120, 121], 1750),
    1000: ([2462, 2463, 2422, 2497, 2452, 2518], 35_021),
    10_000: ([24_531, 24_473, 24_397, 24_568, 24_514, 24_617], 350_098),
}
PAIRS = {
    50: ([501, 501, 501, 498, 498, 499], 1757),
    200: ([1988, 1986, 1987, 1978, 1985, 1992], 7007),
    500: ([4966, 4959, 4961, 4956, 4971, 4946], 17_514),
}
"""By stations: rows and triples that the published results of C-SPARQL state as expected in each window."""


@pytest.mark.parametrize("stations", WARM)
def test_windows_of_experiment_1_hold_what_was_published(stations: int) -> None:
    found = windows_of(1430236906, stations)
    assert [int((values > 50).sum()) for _, values in found] == WARM[stations][0]
    assert {len(values) * 7 for _, values in found} == {WARM[stations][1]}


@pytest.mark.parametrize("stations", PAIRS)
def test_windows_of_experiment_3_hold_what_was_published(stations: int) -> None:
    found = windows_of(1430236808, stations)
    assert [count_pairs(each, values) for each, values in found] == PAIRS[stations][0]
    assert {len(values) * 7 for _, values in found} == {PAIRS[stations][1]}


def windows_of(seed: int, stations: int) -> list[tuple[NumberArray, NumberArray]]:
    """Return stations and values in the windows of YABench's oracle, which are closed at both ends."""
    settings = SensorSettings(
        seed=seed, stations=stations, interval=1000, duration=30_000, random="java", faithful=True
    )
    drawn = sg1.draw_java_observations(settings)
    held = [(drawn.t >= start) & (drawn.t <= start + 5000) for start in range(0, 30_000, 5000)]
    return [(drawn.station[each], drawn.value[each]) for each in held]


def count_pairs(stations: NumberArray, values: NumberArray) -> int:
    """Return how many pairs of observations of one station there are of which the first is warmer."""
    order = stations.argsort(kind="stable")
    cuts = [*(stations[order][1:] != stations[order][:-1]).nonzero()[0] + 1]
    each = [part.tolist() for part in np.split(values[order], cuts)]
    return sum(one > other for part in each for one in part for other in part)


def test_java_draws_offsets_of_all_stations_and_then_values_in_order_of_time() -> None:
    settings = SensorSettings(
        seed=1430236906, stations=50, interval=1000, duration=30_000, random="java", faithful=True
    )
    random = JavaRandom(settings.seed)
    offsets = [random.next_int_below(1000) for _ in range(50)]
    waiting = sorted([offset, station] for station, offset in enumerate(offsets))
    expected, t = [], 0
    while t <= 30_000:
        due, station = waiting.pop(0)
        expected.append((station, t, random.next_int_below(100)))
        waiting.append([due + 1000, station])
        t = waiting[0][0]
    drawn = sg1.draw_java_observations(settings)
    assert list(zip(drawn.station.tolist(), drawn.t.tolist(), drawn.value.tolist(), strict=True)) == expected
    plain = sg1.draw_java_observations(settings.model_copy(update={"faithful": False}))
    assert plain.t[0] == min(offsets)
    assert plain.value.tolist() == drawn.value.tolist()[: len(plain.t)]


@pytest.mark.parametrize(
    "given",
    [
        {"generator": "weather"},
        {"profile": "random"},
        {"properties": ("WindSpeed",)},
        {"interval": 2**31},
        {"stations": 2**30},
    ],
    ids=lambda given: next(iter(given)),
)
def test_java_draws_only_what_yabench_draws(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="with random=java"):
        SensorSettings(**{"random": "java", **given})


@pytest.mark.spark
def test_the_written_stream_is_yabenchs(spark: SparkSession, tmp_path: Path) -> None:
    settings = SensorSettings(**EXPERIMENT_4, random="java", faithful=True, static=False)
    write_world(spark, WORLD, settings, tmp_path / "w", forms=("yabench",))
    lines = (tmp_path / "w" / "sensors.n3t").read_text("utf-8").splitlines()
    drawn = sg1.draw_java_observations(settings)
    values = [line.split()[2].partition("^")[0] for line in lines if "floatValue" in line]
    assert values == [f"{value}.0" for value in drawn.value.tolist()]
    assert [int(line.split('"')[-2]) for line in lines] == [t for t in drawn.t.tolist() for _ in range(7)]


@pytest.mark.spark
def test_stations_observe_at_exact_intervals(spark: SparkSession, tmp_path: Path) -> None:
    settings = SensorSettings(stations=50, interval=1000, duration=15_000)
    write_world(spark, WORLD, settings, tmp_path / "w", forms=("yabench", "tnt"))
    rows = events_as_arrow(open_stream(str(tmp_path / "w" / "sensors"))).read_all().to_pylist()
    assert Counter(row["t"] // 5000 for row in rows) == {0: 1750, 1: 1750, 2: 1750}
    assert set(Counter(row["seq"] for row in rows).values()) == {7}
    times: dict[str, list[int]] = {}
    for row in rows:
        if row["p"] == PROCEDURE:
            times.setdefault(row["o"], []).append(row["t"])
    offset = Draws(1024).below("offset", 1000)
    for station, seen in times.items():
        k = int(station.rpartition("_A")[2].rstrip(">"))
        assert sorted(seen) == [offset.value(k) + 1000 * number for number in range(15)]

    lines = (tmp_path / "w" / "sensors.n3t").read_text("utf-8").splitlines()
    # The seven triples of an observation in YABench's order, one observation after the other in the order of time.
    kinds = [line.split()[0].removeprefix("<http://knoesis.wright.edu/ssw/").partition("_")[0] for line in lines]
    names = [line.split()[1].rpartition("#")[2].rstrip(">") for line in lines]
    assert kinds == (["Observation"] * 4 + ["MeasureData"] * 3) * 750
    assert names == ["type", "observedProperty", "procedure", "result", "type", "floatValue", "uom"] * 750
    stamps = [int(line.split('"')[-2]) for line in lines]
    assert stamps == sorted(stamps)
    values = [line.split()[2] for line in lines if "floatValue" in line]
    assert all(value.endswith(".0^^<http://www.w3.org/2001/XMLSchema#float>") for value in values)
    text = events_as_arrow(open_stream(str(tmp_path / "w" / "sensors.tnt"))).read_all().to_pylist()
    columns = ("t", "s", "p", "o", "o_kind", "o_num")
    assert Counter(tuple(row[name] for name in columns) for row in text) == Counter(
        tuple(row[name] for name in columns) for row in rows
    )

    static = read_static(str(tmp_path / "w" / "static"))
    systems = Counter(row["p"].rpartition("#")[2] for row in static.to_pylist() if "/System_A" in row["s"])
    assert systems["processLocation>"] == 50


@pytest.mark.spark
def test_faithful_stations_begin_at_once_and_observe_at_the_very_end(spark: SparkSession) -> None:
    draws = Draws(1024)
    offsets = [draws.below("offset", 1000).value(k) for k in range(5)]
    first, last = (choose(range(5), key=lambda k: (offsets[k], k)) for choose in (min, max))
    end = 3000 + offsets[last]

    def seen(*, faithful: bool) -> set[tuple[int, int]]:
        settings = SensorSettings(stations=5, interval=1000, duration=end, faithful=faithful)
        rows = sg1.observation_times(spark, settings, draws).collect()
        return {(row["station"], row["t"]) for row in rows}

    exact = {(k, offsets[k] + 1000 * number) for k in range(5) for number in range(4)} - {(last, end)}
    assert seen(faithful=False) == exact
    opening, own = (first, 0), (first, offsets[first])
    assert opening != own
    assert seen(faithful=True) == (exact - {own}) | {opening, (last, end)}


@pytest.mark.spark
def test_profiles_and_disorder(spark: SparkSession, tmp_path: Path) -> None:
    common = {"stations": 20, "interval": 1000, "duration": 60_000, "static": False}
    steady = made(spark, tmp_path / "steady", **common)
    shaken = made(
        spark, tmp_path / "shaken", **common, late=0.1, disorder=0.2, duplicates=0.1, properties=("AirTemperature",)
    )
    # Event times and values are the same; some elements come twice, and the log is out of order.
    assert {(row["t"], row["s"], row["o"]) for row in steady} == {(row["t"], row["s"], row["o"]) for row in shaken}
    twice = sum(row["t_next"] is not None for row in shaken)
    assert len(shaken) == len(steady) + twice
    assert 0.05 * len(steady) < twice < 0.15 * len(steady)
    for row in shaken:
        assert row["t_next"] in (None, row["t"])
    log = [row["t"] for row in sorted(shaken, key=lambda row: row["seq"])]
    assert log != sorted(log)
    assert [row["t"] for row in sorted(steady, key=lambda row: row["seq"])] == sorted(row["t"] for row in steady)

    ramp = made(spark, tmp_path / "ramp", **common, profile="ramp", peak=3.0)
    halves = Counter(row["t"] // 30_000 for row in ramp)
    assert len(ramp) / len(steady) == pytest.approx(2, rel=0.02)
    assert halves[1] / halves[0] == pytest.approx(2.5 / 1.5, rel=0.05)
    burst = made(spark, tmp_path / "burst", **common, profile="burst", burst_every=20_000, burst_length=5000)
    inside = sum(row["t"] % 20_000 >= 15_000 for row in burst)
    assert inside / (len(burst) - inside) == pytest.approx(4 * 5 / 15, rel=0.05)
    random = made(spark, tmp_path / "random", **common, profile="random", shape="srbench", per="triple")
    assert len(random) / len(steady) * 7 / 10 == pytest.approx(1, rel=0.1)
    assert len({row["seq"] for row in random}) == len(random)

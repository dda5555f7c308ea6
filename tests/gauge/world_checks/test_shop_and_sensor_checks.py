"""The checks of shop and sensors hold for what is right, and fail for what is a little different."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hydrograph_gauge.worlds.shop.expectation import compute_expectation
from hydrograph_gauge.worlds.shop.world import ShopSettings, build_population
from tests.support.world_checks import sensors, shop
from tests.support.world_checks.checks import Check, Measured, flat_memory
from tests.support.world_checks.sensors import Shaken
from tests.support.world_checks.shop import PUBLISHED, Counted

PEOPLE = build_population(None, ShopSettings())
WANTED = compute_expectation(PEOPLE)
SEEN = Shaken(elements=12_600, far=1_220, near=2_310, twice=600)


def failed(checks: list[Check]) -> list[str]:
    return [check.name for check in checks if not check.passed]


def counted(deviation: int, **wrong: int) -> Counted:
    """Return what a seed gives that is off by a few triples in every row, and by `wrong` in all."""
    rows = {code: round(n) + deviation for code, n in WANTED.rows.items()}
    static, stream = round(WANTED.static) + wrong.get("static", 0), round(WANTED.stream) + wrong.get("stream", 0)
    return Counted(rows, static + deviation, stream + deviation)


def test_seeds_around_the_expectation_pass_and_others_do_not() -> None:
    right = [counted(deviation) for deviation in (-2, -1, 0, 1, 2)]
    assert failed(list(shop.expected(right, WANTED, PEOPLE))) == []
    for name in ("static", "stream"):
        few = [counted(deviation, **{name: -round(0.04 * getattr(WANTED, name))}) for deviation in (-1, 0, 1)]
        assert failed(list(shop.expected(few, WANTED, PEOPLE))) == [f"shop: {name} triples within 3 %"]
    code = PEOPLE.rows[0].code
    shifted = [replace(one, rows={**one.rows, code: one.rows[code] + 9}) for one in right]
    without = [replace(one, rows={**one.rows, code: 0}) for one in right]
    for rows in (shifted, without):
        assert failed(list(shop.expected(rows, WANTED, PEOPLE))) == [
            "shop: each row of the model within 4 deviations of the mean"
        ]


def test_a_published_size_that_is_far_from_ours_is_told() -> None:
    static, stream = PUBLISHED[1, 1]
    near = [Counted({}, static + off, stream - off) for off in (-100, 0, 100)]
    assert failed(list(shop.published((1, 1), near))) == []
    far = [Counted({}, static + off + 1000, stream) for off in (-100, 0, 100)]
    far[0] = replace(far[0], stream=stream + 1)
    assert failed(list(shop.published((1, 1), far))) == ["shop {1,1}: static triples of Table 3.1"]


SMALL = Measured(triples=5_000_000, seconds=30, cpu_seconds=50, memory=2_000)
LARGE = Measured(triples=48_000_000, seconds=180, cpu_seconds=350, memory=2_900)


@pytest.mark.parametrize(
    ("large", "wrong"),
    [
        (LARGE, []),
        (replace(LARGE, memory=3_100), ["shop {1,100} to {10,100}: memory stays flat, at most 1.5 times"]),
        (
            replace(LARGE, memory=6_200),
            [
                "shop {10,100}: memory of all processes below 6 GiB",
                "shop {1,100} to {10,100}: memory stays flat, at most 1.5 times",
            ],
        ),
        (replace(LARGE, cpu_seconds=530), ["shop: linear growth of CPU time"]),
        (replace(LARGE, seconds=200), ["shop {10,100}: 250,000 triples/s on two cores"]),
    ],
)
def test_speed_memory_and_growth(large: Measured, wrong: list[str]) -> None:
    assert failed([shop.speed(large), *shop.growth(SMALL, large)]) == wrong


def test_memory_of_two_worlds_of_one_size_says_nothing() -> None:
    assert not flat_memory("shop", SMALL, SMALL).passed


@pytest.mark.parametrize(
    ("seen", "wrong"),
    [
        (SEEN, []),
        (replace(SEEN, far=0), ["sensors: 10% are late"]),
        (replace(SEEN, far=2_440), ["sensors: 10% are late"]),
        (replace(SEEN, near=60), ["sensors: 20% are overtaken"]),
        (replace(SEEN, twice=0), ["sensors: 5% arrive twice"]),
        (Shaken(12_600, 0, 0, 0), ["sensors: 10% are late", "sensors: 20% are overtaken", "sensors: 5% arrive twice"]),
    ],
)
def test_each_kind_of_disorder_is_told_from_the_others(seen: Shaken, wrong: list[str]) -> None:
    assert failed(list(sensors.shares(seen))) == wrong


def log(place: Path, rows: list[tuple[int, int, int | None, str, str]]) -> list[str]:
    names = ("t", "seq", "t_next", "p", "o")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), place)
    return [str(place)]


def test_the_log_shows_who_is_behind(tmp_path: Path) -> None:
    p = sensors._PROCEDURE
    rows = [
        (0, 0, None, p, "a"), (0, 0, None, "<q>", "b"),  # one element of two triples
        (5_000, 1, None, p, "a"),
        (4_000, 2, None, p, "b"),  # as far behind as disorder can make it
        (3_999, 3, 3_999, p, "b"), (3_999, 4, None, p, "b"),  # farther, and twice
        (6_000, 5, None, p, "c"),
    ]  # fmt: skip
    assert sensors.look(log(tmp_path / "log.parquet", rows)) == Shaken(elements=6, far=2, near=1, twice=1)


def test_another_number_of_triples_and_another_period_are_told(tmp_path: Path) -> None:
    def steady(gap: int) -> list[tuple[int, int, int | None, str, str]]:
        times = [(station, at * gap + station) for station in range(50) for at in range(30)]
        return [(t, t, None, p, f"{s}") for s, t in times for p in (sensors._PROCEDURE, *"123456")]

    assert failed(list(sensors.periods(log(tmp_path / "right", steady(1000))))) == []
    late = [(t + (s == "7" and t > 20_000), seq, next_, p, s) for t, seq, next_, p, s in steady(1000)]
    assert failed(list(sensors.periods(log(tmp_path / "late", late)))) == ["sensors: each station is exactly periodic"]
    few = [row for row in steady(1000) if row[3] != "6" or row[0] > 100]
    assert failed(list(sensors.periods(log(tmp_path / "few", few)))) == [
        "sensors: s=50, i=1 s gives 1,750 triples a window"
    ]

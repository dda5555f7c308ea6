"""The sets of queries over small generated worlds: there are answers, and they are the oracle's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hydrograph.api import query as query_of
from hydrograph.bench.engines.replay import as_expected
from hydrograph.bench.oracle.compare import compare_reports
from hydrograph.bench.oracle.dataset import StaticData
from hydrograph.bench.oracle.evaluate import Report, expected
from hydrograph.bench.oracle.recorded import elements_of, graph_of
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.streams.sources import open_stream
from hydrograph.streams.static import read_graphs
from hydrograph.windows.stream import Element
from hydrograph.worlds.queries.constants import constants_for
from hydrograph.worlds.queries.load import SetQuery, about_set, query_set, recorded_streams
from hydrograph.worlds.queries.places import static_graphs, streams_of
from hydrograph.worlds.registry import find_world
from hydrograph.worlds.settings import read_settings
from hydrograph.worlds.writer import write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@cache
def elements(place: Path, iri: str) -> tuple[Element, ...]:
    return elements_of(open_stream(str(place), name=iri))


@cache
def triples(place: Path) -> frozenset[Triple]:
    return frozenset(triple for table in read_graphs([(None, str(place))]).tables for triple in graph_of(table))


def compared(
    text: str, streams: Mapping[str, Path], static: Mapping[str | None, Path], until: int | None = None
) -> list[Report]:
    """Return the engine's reports, after they were compared with the oracle's."""
    query = query_of(text)
    with query.over(streams, static, placement="local", until=until) as run:
        got = as_expected(run.reports())
    named = {Iri(name): triples(place) for name, place in static.items() if name is not None}
    known = StaticData(triples(static[None]) if None in static else frozenset(), named)
    wanted = {Iri(iri): elements(place, iri) for iri, place in streams.items()}
    right = expected(query.algebra, wanted, known, profile=query.profile, until=until)
    assert "\n".join(map(str, compare_reports(right, got))) == ""
    return got


def answers(name: str, asked: SetQuery, world: Path, until: int | None = None) -> int:
    """Return how many rows the reports have in all."""
    text = asked.text(constants(name, world))
    reports = compared(text, streams_of(asked, world), static_graphs(world), until)
    return sum(sum(report.rows.values()) for report in reports)


@cache
def constants(name: str, world: Path) -> dict[str, str]:
    return constants_for(name, world)


def generated(spark: SparkSession, name: str, target: Path, **changed: object) -> Path:
    """Return a world for a set, with its settings or some of them changed."""
    about = about_set(name)
    assert about.world is not None
    world = find_world(about.world)
    write_world(spark, world, read_settings(world.settings, None, {**about.settings, **changed}), target / name)
    return target / name


@pytest.mark.parametrize("asked", query_set("functional"), ids=lambda asked: asked.name)
def test_the_functional_experiments(asked: SetQuery) -> None:
    (stream,) = asked.about.streams
    reports = compared(asked.text({}), {"http://ex.org/streams/test": recorded_streams("functional")[stream]}, {})
    assert any(report.rows for report in reports) is (asked.name != "experiment2a"), "there nobody meets anybody"


@pytest.mark.spark
def test_few_stations_answer_csrbench_and_yabench(spark: SparkSession, tmp_path: Path) -> None:
    world = generated(spark, "csrbench", tmp_path, stations=8, duration="12s", static=False)
    for name in ("csrbench", "yabench"):
        for asked in query_set(name):
            assert answers(name, asked, world) > 0, f"{name} {asked.name}"


@pytest.fixture(scope="module")
def worlds(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    target = tmp_path_factory.mktemp("worlds")
    smaller = {"srbench": {"stations": 30, "interval": "20m"}}
    return {
        name: generated(spark, name, target, **smaller.get(name, {}))
        for name in ("csrbench", "yabench", "srbench", "watdiv")
    }


FULL = [(name, asked) for name in ("csrbench", "yabench", "srbench", "watdiv") for asked in query_set(name)]
EMPTY = {"watdiv-c1", "watdiv-c2", "watdiv-f4"}
"""Complex templates with so many conditions that a world of the least scale has nothing that fulfils them."""
LOOK = {"watdiv": 8_000}
"""The shop's windows are large for the oracle: only the first ones are compared."""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(("name", "asked"), FULL, ids=[f"{name}-{asked.name}" for name, asked in FULL])
def test_answers_are_the_oracles(worlds: dict[str, Path], name: str, asked: SetQuery) -> None:
    found = answers(name, asked, worlds[name], LOOK.get(name))
    if name != "watdiv":
        assert found > 0


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("asked", query_set("watdiv"), ids=lambda asked: asked.name)
def test_the_shop_has_answers_with_the_constants_chosen(worlds: dict[str, Path], asked: SetQuery) -> None:
    world = worlds["watdiv"]
    text = asked.text(constants("watdiv", world))
    with query_of(text).over(streams_of(asked, world), static_graphs(world), placement="local", until=60_000) as run:
        found = any(report.rows for report in run.reports())
    assert found is (f"watdiv-{asked.name}" not in EMPTY)

"""Experiments that come with Hydrograph: all that they ask for is known, before hours are spent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import pytest

from hydrograph.errors import UsageError
from hydrograph_gauge.cli.generate import command as generate
from hydrograph_gauge.cli.workload import command as workload
from hydrograph_gauge.engines import registry
from hydrograph_gauge.experiments.data import ExperimentData, format_options, prepare_data, read_elements
from hydrograph_gauge.experiments.model import ExperimentTest, PlayTable, QueriesTable, list_shipped, read_experiment
from hydrograph_gauge.experiments.options import ignore_progress
from hydrograph_gauge.experiments.queries import load_queries
from hydrograph_gauge.experiments.run import resolve_world, run_experiment
from hydrograph_gauge.queries.query_sets import read_query_set
from hydrograph_gauge.run_records import OutcomeRecord, read_records
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.world import find_world

TESTS = [(name, test) for name in list_shipped() for test in read_experiment(name).tests]


def parsed(group: click.Group, name: str, settings: dict[str, object]) -> dict[str, object]:
    """Return what a sub-command understands of the options that a run would call it with; it is not run."""
    context = click.Context(group)
    found = group.get_command(context, name)
    assert found is not None
    made = found.make_context(name, ["target", *format_options(settings)], parent=context)
    return {key: value for key, value in made.params.items() if value not in (None, ())}


@pytest.mark.parametrize(
    ("name", "test"), TESTS, ids=lambda each: each.name if isinstance(each, ExperimentTest) else each
)
def test_what_it_asks_for_is_known(name: str, test: ExperimentTest) -> None:
    for engine in test.engines:
        registry.get_engine(engine)
    if test.queries.set is not None:
        assert set(test.queries.names) <= {query.name for query in read_query_set(test.queries.set)}
    world = resolve_world(test)
    if world.name is not None:
        given = parsed(generate, world.name, {"seed": test.seed, **world.settings})
        settings = find_world(world.name).settings
        read_settings(settings, None, {key: value for key, value in given.items() if key in settings.model_fields})
    if test.queries.workload:
        parsed(workload, "shop", {"seed": test.seed, **test.queries.workload})
    assert test.measure == "functional" or world.name or world.streams, name


def test_an_unknown_setting_would_be_noticed() -> None:
    with pytest.raises(click.UsageError, match="--colour"):
        parsed(generate, "shop", {"colour": "red"})


def test_photos_are_taken_in_the_social_networks_that_are_asked_about_them() -> None:
    """Below `max_albums` means that 1 is none, and four of LSBench's queries would have nothing to answer."""
    asked = [test for _, test in TESTS if test.queries.set == "lsbench" and not test.queries.names]
    assert asked
    assert all(test.world.settings.get("max_albums", 3) > 1 for test in asked)


def test_queries_of_stream_watdiv_are_the_same_at_every_rate() -> None:
    """Which ones are right is found out at one rate, and their latency measured at others."""
    tests = [test for test in read_experiment("watdiv").tests if test.measure != "functional"]
    assert len({test.world.settings["rate"] for test in tests}) > 1
    assert len({test.seed for test in tests}) == 1
    assert {test.queries.workload_world["rate"] for test in tests} == {10_000}
    assert all(test.queries.workload["measure"] for test in tests)


def test_lsbench_counts_triples_where_the_paper_does() -> None:
    """Its rates, its rows and its executions a second are of streams whose elements are single triples."""
    tests = [test for test in read_experiment("lsbench").tests if "rate" in test.world.settings]
    counted = [test for test in tests if test.name != "functionality"]
    assert {test.world.settings["element"] for test in counted} == {"triple"}
    assert {test.world.settings["rate"]["posts"] for test in counted} == {100, 1000}
    # All of |S_pc| = 102,955 triples, of which the published rows are.
    lengths = {test.world.settings["rate"]["posts"]: test.world.duration for test in counted if "correct" in test.name}
    assert {rate: rate * duration // 1000 for rate, duration in lengths.items()} == {100: 103_000, 1000: 103_000}


def test_stream_watdiv_is_the_published_workload() -> None:
    """{1,100} at 10,000 triples a second, a hundred queries of up to 5 patterns, windows of 5 s (chapter 4)."""
    tests = [test for test in read_experiment("watdiv").tests if test.name.startswith("correctness")]
    settings = [read_settings(find_world("shop").settings, None, test.world.settings) for test in tests]
    assert {(one.static, one.stream, one.rate, one.entities) for one in settings} == {(1, 100, 10_000, "release")}
    asked = [test.queries.workload for test in tests]
    assert [(one["number"], one["window"], one["slide"]) for one in asked] == [(100, "5s", "5s"), (100, "5s", "1s")]
    assert {test.seed for test in tests} == {1024}
    closed = read_experiment("watdiv", ["closed=true"], only=["correctness, tumbling"]).tests
    assert [test.queries.workload["closed"] for test in closed] == [True]


OBSERVED = """
@prefix om: <http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#> .
@prefix w: <http://knoesis.wright.edu/ssw/ont/weather.owl#> .
@prefix s: <http://knoesis.wright.edu/ssw/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
s:Observation_{t} om:observedProperty w:_AirTemperature ; om:procedure s:System_{station} ; om:result s:Data_{t} .
s:Data_{t} om:floatValue "{value}"^^xsd:double .
"""


def test_csrbench_is_asked_of_the_original_graphs_where_there_are_some(tmp_path: Path) -> None:
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    for t, station, value in ((0, "A1", 70), (1000, "C1190", 76), (2000, "A1", 81), (3000, "C1190", 95)):
        (graphs / f"{t}.ttl").write_text(OBSERVED.format(t=t, station=station, value=value))
    given = [f"graphs={graphs}", "engines=oxigraph"]
    with pytest.raises(UsageError, match="test original graphs needs data of your own"):
        read_experiment("csrbench", only=["original graphs"])
    experiment = read_experiment("csrbench", given, only=["original graphs"])
    (test,) = experiment.tests
    data = prepare_data(resolve_world(test), test.seed, tmp_path / "kept")
    (stream,) = data.streams.values()
    assert [(element.t, len(element.triples)) for element in read_elements(stream.name, stream.location)] == [
        (t, 4) for t in (0, 1000, 2000, 3000)
    ]
    assert [query.name for query in load_queries(test, data, tmp_path, ignore_progress)] == [
        f"q{n}" for n in range(1, 8)
    ]
    hurried = test.model_copy(update={"play": PlayTable()})
    run_experiment(replace(experiment, tests=(hurried,)), tmp_path / "run")
    found = {each.key.query: each for each in read_records(tmp_path / "run") if isinstance(each, OutcomeRecord)}
    assert {each.verdict for each in found.values()} == {"ok"}
    rows = {name: each.output for name, each in found.items()}
    # Q1, Q2: 81 and 95; Q4: their mean; Q5: in 3 and 4 windows; Q6: 95 and 76; Q7: 81 and 95 beside C1190's 76.
    assert rows == {"q1": 2, "q2": 2, "q3": 0, "q4": 1, "q5": 7, "q6": 1, "q7": 2}


def test_constants_that_no_query_has_are_refused(tmp_path: Path) -> None:
    test = ExperimentTest(name="t", queries=QueriesTable(set="csrbench", names=("q1",), constants={"TMEP": "5"}))
    with pytest.raises(
        UsageError, match="the set csrbench has no constant 'TMEP'; it has HIGH, LOW, SENSOR, TEMP, WARM"
    ):
        load_queries(test, ExperimentData({}, {}, {}), tmp_path, ignore_progress)


def test_latency_of_stream_watdiv_is_measured_at_both_rates_tumbling_and_sliding() -> None:
    found = [test for test in read_experiment("watdiv").tests if test.name.startswith("latency")]
    assert [
        (test.name, test.settings, test.world.settings["rate"], test.queries.workload["slide"], test.only_right)
        for test in found
    ] == [
        (f"latency, {way}", {"rate": rate}, rate, slide, f"correctness, {way}")
        for way, slide in (("tumbling", "5s"), ("sliding", "1s"))
        for rate in (1000, 10_000)
    ]


def test_an_engine_that_goes_by_the_clock_is_given_time() -> None:
    """As fast as elements are taken, its windows hold what a race decides, and no query would be right on all."""
    clocked = [
        (name, test)
        for name, test in TESTS
        if test.measure in ("windows", "cmet") and any(registry.get_engine(each).by_clock for each in test.engines)
    ]
    assert {name for name, _ in clocked} == {"csrbench", "demo", "lsbench", "yabench"}
    assert [(name, test.name) for name, test in clocked if test.play.pace in ("fast", "step")] == []


@pytest.mark.parametrize("name", ["lsbench", "rate", "watdiv", "yabench"])
def test_what_an_engine_can_do_comes_before_any_figure_of_speed(name: str) -> None:
    tests = read_experiment(name).tests
    assert tests[0].measure == "functional"
    assert {engine for test in tests for engine in test.engines} == set(tests[0].engines)


def test_what_was_measured_of_generated_queries_is_a_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {
        "cardinality": 21.0,
        "patterns": {"mean": 0.5, "deviation": 0.1},
        "restricted": {"mean": 0.25, "deviation": 0.2},
        "joined": {"mean": 1.0, "deviation": 0.0},
    }
    text = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 5s] { WINDOW <urn:w> { ?s <urn:p> ?o } }"
    test = ExperimentTest(name="t", queries=QueriesTable(workload={"number": 1}))
    monkeypatch.setattr("hydrograph_gauge.experiments.queries.generate_once", lambda *_: tmp_path)
    (tmp_path / "q1.rspql").write_text(text)
    entry = {"name": "q1", "kind": "pure", "template": "t1", "languages": ["rspql"], "measured": measured}
    (tmp_path / "workload.json").write_text(json.dumps({"queries": [entry]}))
    (query,) = load_queries(test, ExperimentData({}, {}, {}), tmp_path, ignore_progress)
    features = query.features()
    assert (features["cardinality"], features["f-TP selectivity"], features["f-TP deviation"]) == (21, 0.5, 0.1)
    assert (features["BGP-restricted deviation"], features["join-restricted selectivity"]) == (0.2, 1)
    assert features["template"] == "t1"

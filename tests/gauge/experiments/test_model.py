"""Experiments as files: what they say, what is refused, and by which name."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrograph.errors import UsageError
from hydrograph_gauge.experiments.model import Experiment, list_shipped, parse_experiment, read_experiment

RAW = {
    "title": "T",
    "engines": ["hydrograph"],
    "parameters": {"stations": 50, "size": "5s"},
    "sweep": {"stations": [50, 1000]},
    "world": {"name": "sensors", "settings": {"stations": "${stations}", "interval": "1s"}},
    "queries": {"texts": {"q": "SELECT ?s [RANGE ${size}] <${USER}>"}},
    "test": [{"name": "a"}, {"name": "b", "sweep": {"stations": [7]}, "world": {"settings": {"interval": "2s"}}}],
}


def read(*given: str, only: tuple[str, ...] = ()) -> Experiment:
    return parse_experiment("e", RAW, given, only=only)


def test_a_sweep_makes_a_test_for_each_value_and_parameters_are_filled_in() -> None:
    found = read()
    assert [(test.name, test.settings) for test in found.tests] == [
        ("a", {"stations": 50}),
        ("a", {"stations": 1000}),
        ("b", {"stations": 7}),
    ]
    assert [test.world.settings for test in found.tests] == [
        {"stations": 50, "interval": "1s"},
        {"stations": 1000, "interval": "1s"},
        {"stations": 7, "interval": "2s"},
    ]
    assert found.tests[0].queries.texts["q"] == "SELECT ?s [RANGE 5s] <${USER}>"  # constants are for the data


def test_the_command_line_overrides_parameters_sweeps_and_settings() -> None:
    found = read("stations=3", "size=9s", "engines=oxigraph", "repetitions=4", "seed=7")
    assert [test.settings for test in found.tests] == [{"stations": 3}, {"stations": 3}]
    one = found.tests[0]
    assert (one.engines, one.repetitions, one.seed, found.seed) == (("oxigraph",), 4, 7, 7)
    assert "RANGE 9s" in one.queries.texts["q"]
    assert [test.settings for test in read("stations=1,2", only=("a",)).tests] == [{"stations": 1}, {"stations": 2}]
    assert found.parameters["stations"] == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wrld": {}}, "unknown key 'wrld'"),
        ({"world": {"name": "sensors", "stations": 5}}, "unknown key 'world.stations'"),
        ({"play": {"pase": "fast"}}, "unknown key 'play.pase'"),
        ({"test": [{"name": "a", "speed": 3}]}, "unknown key 'speed' of a test"),
        ({"play": {"pace": "rate"}}, "the pace rate needs a rate"),
        ({"world": {"name": "x", "folder": "y"}}, "one of name, folder and streams"),
        ({"test": [{"name": "a", "only_right": "z"}]}, "only_right names no test: 'z'"),
        ({"queries": {"texts": {"q": "${nope}"}}}, "no parameter 'nope'"),
        ({"repetitions": 0}, "repetitions"),
    ],
)
def test_what_is_not_known_is_refused_by_its_name(change: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_experiment("e", {**RAW, **change})


def test_wrong_overrides_and_tests_are_refused() -> None:
    with pytest.raises(UsageError, match="no parameter 'station'; it has"):
        read("station=3")
    with pytest.raises(UsageError, match="expected key=value"):
        read("stations")
    with pytest.raises(UsageError, match="no test 'c'; it has a, b"):
        read(only=("c",))
    with pytest.raises(UsageError, match="no experiment 'lsbanch'"):
        read_experiment("lsbanch")


def test_a_test_that_needs_another_brings_it_along() -> None:
    raw = {"test": [{"name": "right"}, {"name": "fast", "only_right": "right"}, {"name": "other"}]}
    assert [test.name for test in parse_experiment("e", raw, only=["fast"]).tests] == ["right", "fast"]


def test_paths_start_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[world]\nstreams = {"urn:s" = "s.tnt"}\n[queries]\nfiles = ["q.rq"]\n')
    (test,) = read_experiment(str(file)).tests
    assert test.world.streams == {"urn:s": str(tmp_path / "s.tnt")}
    assert test.queries.files == (tmp_path / "q.rq",)


@pytest.mark.parametrize("name", list_shipped())
def test_every_experiment_that_is_shipped_can_be_read(name: str) -> None:
    found = read_experiment(name)
    assert found.tests
    assert found.about

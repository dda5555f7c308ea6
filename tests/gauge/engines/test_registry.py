"""Engines by name: what their options say, what they consist of, and which of them are waited for."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from hydrograph.errors import UsageError
from hydrograph.language import parse
from hydrograph.windows.profile import PRESETS, RSPQL
from hydrograph_gauge.engines import registry
from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.run import play_experiment
from hydrograph_gauge.experiments.run_folder import list_played, read_played

QUERY = parse("SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s] WHERE { WINDOW <urn:w> { ?s <urn:p> ?o } }")


def test_options_say_what_an_engine_of_ones_own_is_like() -> None:
    plain, name = (
        registry.get_engine("program:cat"),
        "program?eager=true&by_clock=yes&dialect=cqels&profile=cqels:cat -u",
    )
    assert (plain.eager, plain.by_clock, plain.dialect, plain.profile) == (False, False, "rspql", RSPQL)
    found = registry.get_engine(name)
    assert (found.eager, found.by_clock, found.profile) == (True, True, PRESETS["cqels"])
    assert registry.start_command(name) == ("cat", "-u")
    assert "STREAM <urn:s> [RANGE 1s" in registry.print_for_engine(name, QUERY)
    assert registry.find_engine(name) == found

    behind = "http://localhost:8175/?settle=3"
    service = registry.get_engine(f"rsp-services?by_clock=false&dialect=rspql&profile=rspql&announces=1:{behind}")
    assert (service.by_clock, service.dialect, service.profile, service.announces) == (False, "rspql", RSPQL, True)
    assert registry.start_command(f"rsp-services?eager=true:{behind}")[-1] == behind
    assert not registry.get_engine(f"rsp-services:{behind}").announces


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("program?speed=3:cat", "option speed of program: .*; options: dialect, profile, by_clock, eager, announces"),
        ("program?eager=perhaps:cat", "option eager of program: Input should be a valid boolean"),
        ("program?profile=mine:cat", "no preset named 'mine'"),
        ("program?eager:cat", "expected options such as eager=true&profile=cqels, got 'eager'"),
        ("oxigraph?eager=true", "oxigraph takes no options, got 'eager=true'"),
        ("csparql?eager=true:folder", "csparql takes no options"),
    ],
)
def test_options_that_are_none(name: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        registry.get_engine(name)


def test_the_versions_of_what_an_engine_consists_of(tmp_path: Path) -> None:
    assert registry.engine_versions("oxigraph").keys() == {"hydrograph", "pyoxigraph"}
    assert registry.engine_versions("hydrograph").keys() == {"hydrograph", "duckdb", "pyarrow"}
    assert registry.engine_versions("program:cat") == {}
    if shutil.which("node"):
        found = registry.engine_versions("rsp-js")
        assert found["rsp-js"] == "1.3.5"
        assert found["node"].startswith("v")
    for name in ("cqels-1.0.jar", "jena.jar"):
        (tmp_path / name).touch()
    supplied = registry.engine_versions(f"cqels:{tmp_path}")
    assert supplied["cqels"] == "cqels-1.0.jar"
    assert ("java" in supplied) == (shutil.which("java") is not None)


def test_a_part_that_does_not_say_its_version_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    commands = {
        "python": [sys.executable, "--version"],
        "mute": ["true"],
        "sick": ["false"],
        "gone": ["no-such-program"],
    }
    lines = "".join(f"{name} = {command}\n" for name, command in commands.items())
    file.write_text(f'name = "own"\ncommand = ["own"]\n[versions]\n{lines}[input]\ntriple = ""\n[output]\nrow = ""\n')
    found = registry.engine_versions(f"described:{file}")
    assert found.keys() == {"python"}
    assert found["python"].startswith("Python 3.")


LINE_PROGRAM = f"""
name = "lines"
eager = true
command = ["{sys.executable}", "{Path(__file__).with_name("line_program.py")}", "{{query}}", "{{static}}"]
settle = 0.2
[input]
triple = "{{s}} {{p}} {{o}} {{t}}"
end = "bye"
[output]
row = "> (.*)"
separator = "|"
"""


def test_engines_that_do_not_announce_executions_are_not_waited_for(tmp_path: Path) -> None:
    """Most elements have no row, so that the second would never have come."""
    (tmp_path / "lines.toml").write_text(LINE_PROGRAM)
    lines = (f"{t * 500}\t<urn:s{t % 3}> <urn:p> <urn:o{t % 2}> .\n" for t in range(20))
    (tmp_path / "stream.tnt").write_text("".join(lines))
    file = tmp_path / "experiment.toml"
    file.write_text(
        f"""engines = ["described:{tmp_path / "lines.toml"}"]
limits = {{seconds = 60}}
play = {{pace = "step"}}
[world.streams]
"urn:stream" = "stream.tnt"
[queries.texts]
all = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s] {{ WINDOW <urn:w> {{ ?s <urn:p> ?o }} }}"
[[test]]
name = "step"
measure = "cmet"
"""
    )
    play_experiment(read_experiment(str(file)), tmp_path / "run")
    (place,) = list_played(tmp_path / "run")
    record = read_played(place)
    assert record.endings == {}
    assert (record.elements, record.executions, record.hurried) == (20, {"all": 20}, True)
    assert [registry.get_engine(f"{name}:x").announces for name in ("csparql", "cqels", "etalis")] == [True, True, True]

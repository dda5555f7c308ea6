"""Runs of engines with a process for each query: what was not asked, who failed, and when each query took elements."""

from __future__ import annotations

import sys
from pathlib import Path

from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.run import run_experiment
from hydrograph_gauge.experiments.run_folder import list_played, read_handed, read_played
from hydrograph_gauge.experiments.summary import format_summary
from hydrograph_gauge.run_records import OutcomeRecord, WindowRecord, read_records

PROGRAM = Path(__file__).parents[1] / "engines" / "shared_program.py"
DESCRIPTION = f"""
name = "shared"
version = "csparql-0.9.7"
dialect = "csparql"
profile = "csparql-engine"
by_clock = true
command = ["{sys.executable}", "{PROGRAM}", "{{query}}"]
settle = 1.0
[input]
triple = "triple\\t{{s}}\\t{{p}}\\t{{o}}"
element = "element\\t{{n}}"
[output]
ready = 'ready\\t(?P<query>\\d+)'
row = 'row\\t(?P<query>\\d+)\\t(?P<terms>.*)'
finished = 'finished\\t(?P<query>\\d+)'
taken = 'taken\\t(?P<n>\\d+)\\t(?P<at>[\\d.]+)'
"""
QUERY = (
    "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s STEP 1s] {{ WINDOW <urn:w> {{ ?s <urn:p> ?o }} }}"
)
EXPERIMENT = """
engines = ["described:shared.toml"]
together = true
[world.streams]
"urn:stream" = "stream.tnt"
[play]
pace = "event-time"
[queries.texts]
quick = "PREFIX IGNORED: <urn:i:> QUERY"
slow = "PREFIX SLOW: <urn:i:> QUERY"
odd = "ODD"
[[test]]
name = "clock"
"""


def test_a_run_by_the_clock_goes_by_what_each_query_took(tmp_path: Path) -> None:
    (tmp_path / "shared.toml").write_text(DESCRIPTION)
    (tmp_path / "stream.tnt").write_text("".join(f"{t * 150}\t<urn:s{t}> <urn:p> <urn:o> .\n" for t in range(12)))
    text = QUERY.format()
    file = tmp_path / "run.toml"
    odd = text.replace("1s STEP", "1500ms STEP")
    file.write_text(
        EXPERIMENT.replace("shared.toml", str(tmp_path / "shared.toml")).replace("QUERY", text).replace("ODD", odd)
    )
    folder = tmp_path / "run"
    run_experiment(read_experiment(str(file)), folder)

    (place,) = list_played(folder)
    quick, slow = (read_handed(place, name).column("at").to_pylist() for name in ("quick", "slow"))
    assert len(quick) == len(slow) == 12
    # The slow one needs 300 ms for each element, and its windows are expected over the times at which it took them.
    assert slow[-1] > quick[-1] + 500
    windows = {
        name: {each.close for each in read_records(folder) if isinstance(each, WindowRecord) and each.key.query == name}
        for name in ("quick", "slow")
    }
    assert max(filter(None, windows["slow"])) > max(filter(None, windows["quick"]))

    outcomes = {each.key.query: each for each in read_records(folder) if isinstance(each, OutcomeRecord)}
    assert (outcomes["odd"].verdict, outcomes["odd"].origin) == ("not asked", None)
    assert outcomes["odd"].words == "because C-SPARQL 0.9.7 has no windows in milliseconds, such as 1500 ms"
    assert (outcomes["quick"].verdict, outcomes["quick"].origin) == ("wrong", "engine")
    assert outcomes["quick"].errors == ("warning: IGNORED is ignored",)
    assert "IGNORED is ignored" in (place / "stderr.txt").read_text()
    assert set(read_played(place).errors) == {"quick"}
    lines = list(format_summary([folder]))
    assert any("2 wrong, 1 not asked" in line for line in lines)
    assert any(line.endswith("odd not asked, " + outcomes["odd"].words) for line in lines)
    assert any("quick: wrong, attributed to the engine" in line and "IGNORED is ignored" in line for line in lines)

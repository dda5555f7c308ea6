"""What a run records of itself: the seeds of its data, and the versions of what it asks."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.provenance import describe_origin, start_run
from hydrograph_gauge.run_records import read_provenance


def test_seeds_are_those_that_data_was_made_with(tmp_path: Path) -> None:
    origin = describe_origin(read_experiment("yabench"))
    assert origin.seeds == {
        "experiment 1": 1430236906,
        "experiment 2": 1430237208,
        "experiment 3": 1430236808,
        "experiment 4": 1430236808,
        "experiment 4, gracious": 1430236808,
    }
    assert describe_origin(read_experiment("yabench", only=["experiment 2"])).seed == 1430237208
    for test in ("experiment 1", "experiment 2"):  # a run that is resumed with more tests has their seeds too
        start_run(read_experiment("yabench", only=[test]), tmp_path)
    assert read_provenance(tmp_path).all_seeds == (1430236906, 1430237208)


def test_versions_are_of_what_is_asked_and_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\necho v20.1.0\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = describe_origin(read_experiment("lsbench")).versions
    assert (found["node"], found["rsp-js"]) == ("v20.1.0", "1.3.5")
    assert found["rdflib"] == version("rdflib")
    assert "node" not in describe_origin(read_experiment("rooms")).versions  # no engine of it needs Node

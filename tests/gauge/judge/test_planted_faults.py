"""Planted faults: each is named by its kind, and honest engines under the same noise are not blamed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from hydrograph_gauge.judge.faults import FaultKind
from tests.support import planted_faults
from tests.support.planted_engine import Noise, Plan
from tests.support.planted_faults import (
    CATALOGUE,
    QUERIES,
    PlantedFault,
    draw_faults,
    find_kinds,
    main,
    plant,
    run_honest,
    run_trial,
)

SAMPLE = tuple(draw_faults(8, 3))


@pytest.mark.parametrize("fault", SAMPLE, ids=lambda fault: fault.name)
def test_a_planted_fault_is_named(fault: PlantedFault, tmp_path: Path) -> None:
    trial = plant(tmp_path, fault, 3)
    assert trial.is_named, str(trial)


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_an_honest_engine_is_not_blamed(number: int, tmp_path: Path) -> None:
    outcome = run_honest(tmp_path, number, 3)
    assert (outcome.verdict, outcome.faults) == ("ok", ())
    assert outcome.non_empty > 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 7))
@pytest.mark.parametrize("fault", CATALOGUE, ids=lambda fault: fault.name)
def test_every_fault_of_the_catalogue_is_named(fault: PlantedFault, seed: int, tmp_path: Path) -> None:
    trial = plant(tmp_path, fault, seed)
    assert trial.is_named, str(trial)


def test_the_catalogue_has_every_fault_that_the_judge_names() -> None:
    assert {fault.kind for fault in CATALOGUE} | {FaultKind.UNKNOWN} == set(FaultKind)
    assert len({fault.name for fault in CATALOGUE}) == len(CATALOGUE)


def test_twenty_faults_of_a_seed_are_different_and_repeatable() -> None:
    names = [fault.name for fault in draw_faults(20, 1)]
    assert len(set(names)) == 20
    assert names == [fault.name for fault in draw_faults(20, 1)]
    assert names != [fault.name for fault in draw_faults(20, 2)]
    assert max(Counter(fault.name for fault in draw_faults(2 * len(CATALOGUE), 1)).values()) == 2


def test_a_fault_counts_as_named_only_by_its_own_name(tmp_path: Path) -> None:
    (late,) = [fault for fault in CATALOGUE if fault.name == "late end"]
    trial = plant(tmp_path, late, 3)
    assert find_kinds(trial.outcome) == {FaultKind.CLOSES_LATE}
    nothing = run_trial(tmp_path, trial.query, Plan(), Noise(seed=8))
    assert not planted_faults.Trial(late, trial.query, nothing).is_named


def test_an_unnamed_fault_and_a_blamed_engine_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = PlantedFault(name="none", kind=FaultKind.DROPS, plan=lambda _: Plan())
    monkeypatch.setattr(planted_faults, "CATALOGUE", (wrong,))
    done = CliRunner().invoke(main, ["--faults", "1", "--honest", "1"])
    assert done.output.splitlines()[-1] == "gauge: 1 planted, 0 named, 1 honest runs, 0 blamed"
    assert done.exit_code == 1
    monkeypatch.setattr(planted_faults, "CATALOGUE", CATALOGUE)
    monkeypatch.setattr(planted_faults, "Plan", lambda: Plan(start=900))  # the honest engine is not honest
    done = CliRunner().invoke(main, ["--faults", "0", "--honest", "1"])
    assert done.output.splitlines()[-1] == "gauge: 0 planted, 0 named, 1 honest runs, 1 blamed"
    assert done.exit_code == 1

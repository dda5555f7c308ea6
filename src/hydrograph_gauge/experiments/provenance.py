"""Provenance of a run: machine, versions, seeds and commit."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Collection
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import psutil

from hydrograph import __version__
from hydrograph.atomic_files import write_atomically
from hydrograph.errors import DataError, UsageError
from hydrograph.runtime.java import JavaMissingError, find_java, version_of
from hydrograph_gauge.engines.registry import engine_versions, find_engine, package_versions
from hydrograph_gauge.experiments.model import Experiment, ExperimentTest
from hydrograph_gauge.experiments.options import Progress, ignore_progress
from hydrograph_gauge.experiments.run_folder import EXPECTED, PLAYED, TABLES
from hydrograph_gauge.run_records import PROVENANCE_FILE, RECORDS_FILE, Provenance, read_provenance

EXPERIMENT_FILE = "experiment.json"
"""All tests of a run with every setting, sweeps resolved: what `run.json` has digests of."""
_GIGABYTE = 1 << 30
_PACKAGES = ("duckdb", "pyarrow", "pyoxigraph", "pyspark", "rdflib")


def start_run(experiment: Experiment, folder: Path, progress: Progress = ignore_progress) -> None:
    """Write the provenance of a run, and report whether existing results come from another commit.

    A folder of another experiment is refused, and one whose results are those of the same test with other settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    origin = describe_origin(experiment)
    if (folder / PROVENANCE_FILE).exists():
        known = read_provenance(folder)
        if known.experiment != experiment.name:
            raise UsageError(
                f"{folder} holds a run of {known.experiment}, not of {experiment.name}: choose another folder"
            )
        changed = [name for name, digest in origin.tests.items() if known.tests.get(name, digest) != digest]
        # A run that failed before anything was played is begun again.
        if changed and ((folder / RECORDS_FILE).exists() or (folder / PLAYED).exists()):
            raise UsageError(f"{folder} holds test {changed[0]} with other settings: choose another folder")
        if known.commit != origin.commit:
            progress(f"{folder} was begun with the sources of {known.commit}: what was played then is not played again")
        if not changed and origin.tests.keys() <= known.tests.keys():
            _write_tests(experiment, folder)
            return
        more = {"tests": {**known.tests, **origin.tests}, "seeds": {**known.seeds, **origin.seeds}}
        origin = known.model_copy(update={**more, "versions": {**origin.versions, **known.versions}})
    _write_tests(experiment, folder)
    partial = folder / f".{PROVENANCE_FILE}.partial"
    partial.write_text(origin.model_dump_json(indent=1) + "\n", "utf-8")
    partial.replace(folder / PROVENANCE_FILE)


def _write_tests(experiment: Experiment, folder: Path) -> None:
    """Write the tests of a run; those of an earlier start that are not in this one stay."""
    tests = {_label(test): test for test in (*read_tests(folder), *experiment.tests)}
    lines = [test.model_dump(mode="json") for test in tests.values()]
    write_atomically(folder / EXPERIMENT_FILE, json.dumps(lines, indent=1) + "\n")


def read_tests(folder: Path) -> list[ExperimentTest]:
    """Return the tests of a run with all of their settings; none for a run that was imported."""
    try:
        given = json.loads((folder / EXPERIMENT_FILE).read_text("utf-8"))
        return [ExperimentTest.model_validate(each) for each in given]
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise DataError(
            f"{folder / EXPERIMENT_FILE}: expected the tests of a run, as `hydrograph bench run` writes them, "
            f"got: {str(error).splitlines()[0]}"
        ) from None


def discard_other_commit(folder: Path) -> str | None:
    """Delete the results of another commit, but not the generated data; return that commit, None without any."""
    if not (folder / PROVENANCE_FILE).exists() or (known := read_provenance(folder).commit) == source_commit():
        return None
    for name in (PROVENANCE_FILE, RECORDS_FILE, EXPERIMENT_FILE):
        (folder / name).unlink(missing_ok=True)
    for name in (PLAYED, EXPECTED, TABLES):
        shutil.rmtree(folder / name, ignore_errors=True)
    return known or "no commit"


_WHO = {"engines", "repetitions", "answers", "needs", "only_right"}
"""Settings that may differ when a run is resumed: engines and repetitions."""


def _digests(experiment: Experiment) -> dict[str, str]:
    """Return a digest of the queries and data of each test and sweep."""
    return {
        _label(test): hashlib.sha256(
            json.dumps(test.model_dump(mode="json", exclude=_WHO), sort_keys=True).encode()
        ).hexdigest()[:16]
        for test in experiment.tests
    }


def _label(test: ExperimentTest) -> str:
    return ", ".join([test.name, *(f"{key} {value}" for key, value in test.settings.items())])


def _seeds(experiment: Experiment) -> dict[str, int]:
    """Return the seeds by test, also by what is swept where that changes them; the functional suite has none."""
    tests = [test for test in experiment.tests if test.measure != "functional"]
    found: dict[str, set[int]] = {}
    for test in tests:
        found.setdefault(test.name, set()).add(test.seed)
    return {test.name if len(found[test.name]) == 1 else _label(test): test.seed for test in tests}


def describe_origin(experiment: Experiment) -> Provenance:
    """Return what makes a run repeatable."""
    seeds = _seeds(experiment)
    engines = {engine for test in experiment.tests for engine in test.engines}
    return Provenance(
        experiment=experiment.name,
        title=experiment.title,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=experiment.seed if len(set(seeds.values())) != 1 else next(iter(seeds.values())),
        seeds=seeds,
        settings=experiment.parameters,
        machine={
            "system": f"{platform.system()} {platform.release()}",
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count() or 1,
            "memory_gib": round(psutil.virtual_memory().total / _GIGABYTE, 1),
            "load": round(os.getloadavg()[0], 2),
        },
        versions={"hydrograph": __version__, "python": platform.python_version(), **_versions(engines)},
        commit=source_commit(),
        published=experiment.published,
        tests=_digests(experiment),
    )


def _versions(engines: Collection[str]) -> dict[str, str]:
    """Return the versions of what evaluators and the engines that were asked are made of, where it is there."""
    found = package_versions(*_PACKAGES)
    for engine in sorted(engines):
        if find_engine(engine) is not None:
            found |= engine_versions(engine)
    java = _java()
    return found if java is None else found | {"java": java}


@cache
def _java() -> str | None:
    try:
        return version_of(find_java())
    except JavaMissingError:
        return None


def source_commit() -> str | None:
    """Return the commit of the sources; None outside a clone."""
    here = Path(__file__).parent
    try:
        ran = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return ran.stdout.strip() or None

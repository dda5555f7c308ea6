"""Where the figures of a run come from: machine, versions, seed and commit."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from hydrograph import __version__
from hydrograph.bench.experiments.model import Experiment
from hydrograph.bench.results import ORIGIN, Origin, read_origin
from hydrograph.errors import UsageError

_GIGABYTE = 1 << 30
_PACKAGES = ("duckdb", "pyarrow", "pyoxigraph", "pyspark")


def begin(experiment: Experiment, folder: Path) -> None:
    """Write where the figures come from; a folder of another experiment is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / ORIGIN).exists():
        if (known := read_origin(folder).experiment) != experiment.name:
            raise UsageError(f"{folder} holds a run of {known}, not of {experiment.name}: choose another folder")
        return
    partial = folder / f".{ORIGIN}.partial"
    partial.write_text(origin_of(experiment).model_dump_json(indent=1) + "\n", "utf-8")
    partial.replace(folder / ORIGIN)


def origin_of(experiment: Experiment) -> Origin:
    """Return what makes a run repeatable."""
    return Origin(
        experiment=experiment.name,
        title=experiment.title,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=experiment.seed,
        settings=experiment.parameters,
        machine={
            "system": f"{platform.system()} {platform.release()}",
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count() or 1,
            "memory_gib": round(psutil.virtual_memory().total / _GIGABYTE, 1),
            "load": round(os.getloadavg()[0], 2),
        },
        versions={"hydrograph": __version__, "python": platform.python_version(), **_versions()},
        commit=_commit(),
        published=experiment.published,
    )


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """Return the commit of the sources, None where they are no clone."""
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

"""The versions of what an engine consists of, to stand beside its figures."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hydrograph_gauge.engines.description import Description

_PATIENCE = 20.0  # seconds for a program to say its version


def packages(*names: str) -> dict[str, str]:
    """Return the versions of Python packages; those that are not installed are left out."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def programs(commands: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the first line that each command prints, by its name; what can not be asked is left out."""
    found = {}
    for name, command in commands.items():
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        # Java says its version on standard error, below what the environment makes it say first.
        lines = [line for line in f"{ran.stdout}{ran.stderr}".splitlines() if not line.startswith("Picked up")]
        if ran.returncode == 0 and lines:
            found[name] = lines[0].strip()
    return found


def described(description: Description, files: Path | None) -> dict[str, str]:
    """Return what the commands of a description say, and the files that the user supplied for the engine itself."""
    own = [
        place.name
        for pattern in description.needs
        for place in sorted(files.glob(pattern) if files is not None else ())
        if description.name in place.name.lower()
    ]
    return programs(description.versions) | ({description.name: ", ".join(own)} if own else {})

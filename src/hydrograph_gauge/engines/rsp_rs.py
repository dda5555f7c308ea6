"""rsp-rs as an engine: built on demand from the registry's package in a pinned version, its code unchanged.

It needs Cargo. The package asks for oxigraph with a storage engine on disk, which takes long to compile and which
rsp-rs never opens: the default features in oxigraph's manifest are emptied before it is built.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import RunError
from hydrograph.windows.profile import RSPQL, Origin, Profile
from hydrograph.windows.report import Policy
from hydrograph.windows.scope import Align
from hydrograph_gauge.engines import rsp_js
from hydrograph_gauge.engines.package_cache import cached_folder, install_once, run_installer

VERSION = "0.3.5"
PROFILE: Profile = replace(
    RSPQL, name="rsp-rs", align=Align.CLOSE, origin=Origin.FIRST_EVENT, report=Policy(non_empty=True)
)
"""Its first window closes one slide after the first element, and windows without content are not reported."""

_HERE = Path(__file__).with_name("rust")
_FILES = ("Cargo.toml", "Cargo.lock", "rsp_rs.rs")
_PATIENCE = 1_800  # seconds for Cargo: 90 packages, compiled
_ON_DISK = 'default = ["rocksdb"]'


def home() -> Path:
    """Return where the engine is or will be installed: one folder for each version of adapter and packages."""
    return cached_folder(f"rsp-rs-{VERSION}", *(_HERE / name for name in _FILES))


def command() -> list[str]:
    """Return how the engine is started, built if need be; raise RunError where that is not possible."""
    if not home().is_dir():
        install_once(home(), _build)
    return [str(home() / "rsp-rs")]


def cargo() -> list[str]:
    """Return how Cargo is called, or raise RunError."""
    found = shutil.which("cargo")
    if found is None:
        raise RunError("no cargo found: install Rust")
    return [found]


def _build(folder: Path) -> None:
    """Compile the adapter with the packages of the lock file beside, checked against its hashes; keep the program."""
    what, build = f"rsp-rs {VERSION}", folder / "build"
    starter = cargo()
    build.mkdir()
    for name in _FILES:
        shutil.copy(_HERE / name, build)
    run_installer(what, [*starter, "fetch", "--locked"], build, _PATIENCE)
    listed = json.loads(
        run_installer(what, [*starter, "metadata", "--format-version", "1", "--offline"], build, _PATIENCE)
    )
    oxigraph = next(each for each in listed["packages"] if each["name"] == "oxigraph")
    shutil.copytree(Path(oxigraph["manifest_path"]).parent, build / "oxigraph")
    manifest = build / "oxigraph" / "Cargo.toml"
    features = manifest.read_text("utf-8")
    if _ON_DISK not in features:
        raise RunError(f"cannot install {what}: expected {_ON_DISK} in the manifest of oxigraph {oxigraph['version']}")
    manifest.write_text(features.replace(_ON_DISK, "default = []"), "utf-8")
    with (build / "Cargo.toml").open("a", encoding="utf-8") as project:
        project.write('\n[patch.crates-io]\noxigraph = { path = "oxigraph" }\n')
    run_installer(what, [*starter, "build", "--release", "--offline"], build, _PATIENCE)
    shutil.move(build / "target" / "release" / "rsp-rs", folder / "rsp-rs")
    shutil.rmtree(build)


def text(query: ContinuousQuery) -> str:
    """Return a query in the words of rsp-rs, which are those of RSP-JS."""
    return rsp_js.text(query, "rsp-rs")

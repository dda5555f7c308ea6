"""Figures about the code base, printed by `make metrics`.

Modules and lines of engine and gauge, modules with a single importer, repeated class names, avoided words, and the
modules whose functions run for one event: between the source and the output of a live query that has warmed up, and
between the file and standard output of a replayed one. Both paths are recorded by a profile hook while a real query
runs beside the driver. The packages that prepare a query, not its data, are not counted there: `language`, `algebra`,
`windows`, `optimizer` and `compile`.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import hydrograph

ROOT = Path(__file__).parents[2]
SOURCE = Path(hydrograph.__file__).parents[1]
PREPARATION = {"language", "algebra", "windows", "optimizer", "compile", "api", "__init__"}
REGISTRIES = {
    "hydrograph.language.dialects",
    "hydrograph.optimizer",
    "hydrograph.streams.formats",
    "hydrograph.live.sources",
    "hydrograph.compile.printers",
    "hydrograph_gauge.engines",
    "hydrograph_gauge.report.sections",
}
"""Packages whose modules are listed in one registry, and so have one importer by design."""
QUERY = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 10ms] WHERE { WINDOW <urn:w> { ?s <urn:p> ?o } }"
STATEMENT = "<urn:a> <urn:p> <urn:b> ."


def modules(package: str) -> dict[str, Path]:
    """Return the files of a package by their dotted names."""
    found = {}
    for path in sorted((SOURCE / package).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def importers(files: dict[str, Path]) -> dict[str, set[str]]:
    """Return the modules that import each module."""
    known: dict[str, set[str]] = defaultdict(set)
    for module, path in files.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in files else node.module for name in names]
            else:
                continue
            for name in names:
                if name in files and name != module:
                    known[name].add(module)
    return known


def repeated_classes(files: dict[str, Path]) -> list[str]:
    """Return public class names that denote several classes."""
    places: dict[str, int] = defaultdict(int)
    for path in files.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name] += 1
    return sorted(name for name, count in places.items() if count > 1)


class Recorder:
    """Profile hook that collects the modules of `hydrograph` whose functions are called while it is on."""

    def __init__(self) -> None:
        """Start off, with nothing recorded."""
        self.on = False
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Record the file of a called function."""
        if self.on and event == "call" and frame.f_code.co_name != "<module>":
            self.files.add(frame.f_code.co_filename)

    @property
    def modules(self) -> list[str]:
        """Return the recorded modules of the engine that process data, relative to the package."""
        package = SOURCE / "hydrograph"
        paths = [Path(file).relative_to(package) for file in self.files if Path(file).is_relative_to(package)]
        names = [".".join(path.with_suffix("").parts) for path in paths]
        return sorted(name for name in names if name.split(".")[0] not in PREPARATION)


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """Install a recorder in this thread and in all that start meanwhile."""
    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for a condition; raise TimeoutError if it does not come true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the live query did not report within its time")
        time.sleep(0.02)


def live_path() -> list[str]:
    """Return the modules that run for one element pushed into a live query, after its first reports."""
    units: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, recording() as recorder:
        checkpoint, results = Path(folder, "checkpoint"), Path(folder, "results")
        live = hydrograph.query(QUERY).start(
            {"urn:s": "push:"}, checkpoint=checkpoint, results=results, on_unit=units.append
        )
        stream = live.streams["urn:s"]
        for t in (5, 15, 25):
            stream.send(t, STATEMENT)
        wait_until(lambda: len(units) >= 2)
        time.sleep(0.5)
        recorder.on = True
        stream.send(35, STATEMENT)
        wait_until(lambda: len(units) >= 3)
        time.sleep(0.5)
        recorder.on = False
        live.stop()
    return recorder.modules


def replay_path() -> list[str]:
    """Return the modules that run while a file is replayed and its reports are printed."""
    from hydrograph.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stream.tnt")
        path.write_text("".join(f"{t}\t{STATEMENT}\n" for t in (5, 15, 25)), "utf-8")
        output = str(Path(folder, "reports.json"))
        arguments = ["run", "-q", QUERY, "--stream", str(path), "--placement", "local", "-o", output]
        main(arguments)
        with recording() as recorder:
            recorder.on = True
            main(arguments)
            recorder.on = False
    return [name for name in recorder.modules if name not in {"cli.main", "errors"}]


def print_paths() -> None:
    """Print the modules of both paths."""
    for name, path in (("live event", live_path()), ("replayed triple", replay_path())):
        print(f"path of one {name}: {len(path)} modules: {', '.join(path)}")  # noqa: T201


def main() -> None:
    """Print all figures."""
    every = {**modules("hydrograph"), **(modules("hydrograph_gauge") if (SOURCE / "hydrograph_gauge").exists() else {})}
    used = importers(every)
    for package in ("hydrograph", "hydrograph_gauge"):
        own = {name: path for name, path in every.items() if name.split(".")[0] == package}
        if own:
            lines = sum(len(path.read_text("utf-8").splitlines()) for path in own.values())
            print(f"{package}: {len(own)} modules, {lines:,} lines, {lines / len(own):.0f} lines a module")  # noqa: T201
            print(f"  class names that denote several classes: {len(repeated_classes(own))}")  # noqa: T201
    single = sorted(name for name in every if len(used[name]) == 1 and every[name].name != "__init__.py")
    entries = [name for name in single if name.rpartition(".")[0] in REGISTRIES]
    others = [name for name in single if name not in entries]
    print(f"modules with a single importer: {len(single)}, of which {len(entries)} are entries of a registry")  # noqa: T201
    print(f"  the others: {', '.join(others)}")  # noqa: T201
    print_paths()


if __name__ == "__main__":
    main()

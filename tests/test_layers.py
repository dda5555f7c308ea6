"""Imports point down the layers, the engine never imports the gauge, and pyspark is imported only when needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

LAYERS = {
    "hydrograph": (
        "errors", "temporal", "atomic_files", "rdf", "algebra", "windows", "language", "optimizer", "compile",
        "streams", "runtime", "live", "api", "cli",
    ),
    "hydrograph.live": (
        "failpoints", "storage", "step", "evaluate", "checkpoint", "results", "settings", "sources", "metrics",
        "status", "driver", "query",
    ),
    "hydrograph_gauge": (
        "validation", "intervals", "run_records", "worlds", "queries", "workloads", "oracle", "features",
        "workload_generator",
        "player", "engines", "judge", "functional", "experiments", "measure", "report", "cli",
    ),
}  # fmt: skip
"""Parts of a package, bottom-up: a module imports from its own part or from one further left."""

SPARK = {
    "hydrograph.streams", "hydrograph.runtime", "hydrograph.live", "hydrograph.api", "hydrograph_gauge.worlds",
    "hydrograph_gauge.engines", "hydrograph_gauge.oracle", "hydrograph_gauge.functional",
    "hydrograph_gauge.experiments", "hydrograph_gauge.measure",
}  # fmt: skip
"""Packages that may use Spark. They import it inside a function or under TYPE_CHECKING."""

PUBLIC_TO_THE_GAUGE = (
    "hydrograph.errors", "hydrograph.temporal", "hydrograph.atomic_files", "hydrograph.rdf", "hydrograph.algebra",
    "hydrograph.windows", "hydrograph.language", "hydrograph.streams", "hydrograph.api", "hydrograph.cli.options",
)  # fmt: skip
"""Engine modules and packages that the gauge may use, beside the names that `hydrograph` itself offers."""

INTERNALS_OF_THE_GAUGE = {
    "hydrograph.compile.compiler": "adapters name the columns of answers as the engine does",
    "hydrograph.runtime.session": "worlds, the oracle and the measurements start the same Spark session as the engine",
    "hydrograph.runtime.java": "a run records the Java version",
    "hydrograph.runtime.reports": "digests of reports are compared with those of baselines",
    "hydrograph.runtime.placement": "W3C tests and measurements choose the placement",
    "hydrograph.live.results.segments": "the long load reads delivered units from disk",
    "hydrograph.live.storage.files": "the long load reads delivered units from disk",
}
"""Further engine modules that the gauge uses, each with its reason."""

PURE = ("hydrograph.live.step",)
"""Packages that run the same on any machine: they hold no file, thread, process, clock or connection."""

IMPURE = {
    "asyncio", "fcntl", "io", "multiprocessing", "os", "pathlib", "queue", "random", "selectors", "shutil", "signal",
    "socket", "subprocess", "tempfile", "threading", "time", "duckdb", "pyspark",
}  # fmt: skip

CLOSED_TO_THE_ORACLE = (
    "hydrograph.optimizer",
    "hydrograph.compile",
    "hydrograph.runtime",
    "hydrograph.live",
    "hydrograph.api",
)
"""Engine packages that process a parsed query: the oracle must not share their mistakes."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name, and whether the import runs only when a function is called or types are checked."""

    line: int
    name: str
    late: bool


def imports(node: ast.AST, package: str, *, late: bool = False) -> Iterator[Import]:
    """Yield each import below `node`, relative ones resolved in `package`."""
    match node:
        case ast.Import(names=names):
            yield from (Import(node.lineno, name.name, late) for name in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = package.rsplit(".", level - 1)[0] if level else ""
            start = ".".join(filter(None, (base, module)))
            yield from (Import(node.lineno, f"{start}.{name.name}", late) for name in names)
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), body=body, orelse=orelse):
            for checked in body:
                yield from imports(checked, package, late=True)
            for otherwise in orelse:
                yield from imports(otherwise, package, late=late)
        case _:
            late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for child in ast.iter_child_nodes(node):
                yield from imports(child, package, late=late)


def within(name: str, packages: tuple[str, ...]) -> bool:
    """Return whether a dotted name is one of the packages or below one.

    >>> within("hydrograph.rdf.terms", ("hydrograph.rdf",)), within("hydrograph.rdfs", ("hydrograph.rdf",))
    (True, False)
    """
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def layer(package: str, name: str) -> str | None:
    """Return the layer of `package` that a dotted name belongs to.

    Names that the package itself offers belong to its `api`, and `__main__` to its `cli`.

    >>> layer("hydrograph", "hydrograph.rdf.terms"), layer("hydrograph", "hydrograph.query")
    ('rdf', 'api')
    >>> layer("hydrograph.live", "hydrograph.rdf.terms") is None
    True
    """
    if not name.startswith(package + ".") and name != package:
        return None
    part = name.removeprefix(package).lstrip(".").partition(".")[0]
    if part == "__main__":
        return "cli"
    return part if part in LAYERS[package] else "api" if package == "hydrograph" else LAYERS[package][-1]


def violations(source: Path) -> Iterator[str]:
    """Yield a sentence for each import below `source` that breaks a rule."""
    for file in sorted(source.rglob("*.py")):
        parts = file.relative_to(source).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        yield from (f"{file}: {problem}" for problem in misplaced(parts))
        for each in imports(ast.parse(file.read_text("utf-8")), ".".join(parts[:-1])):
            where = f"{file}:{each.line}: {module} imports {each.name}"
            yield from (f"{where}: {problem}" for problem in problems(module, each))


def misplaced(parts: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence if the path of a module names a layer that does not exist."""
    for package, layers in LAYERS.items():
        depth = package.count(".") + 1
        below = ".".join(parts[:depth]) == package and len(parts) > depth
        if below and parts[depth] not in (*layers, "__init__", "__main__"):
            yield f"{parts[depth]} is not a layer of {package}; its layers are {', '.join(layers)}"


def problems(module: str, imported: Import) -> Iterator[str]:
    """Yield the rules that one import of a module breaks."""
    top = imported.name.split(".")[0]
    if top == "pyspark":
        if not within(module, tuple(SPARK)):
            yield f"only {', '.join(sorted(SPARK))} may use Spark"
        elif not imported.late:
            yield "import it inside a function or under TYPE_CHECKING"
    if within(module, PURE) and top in IMPURE:
        yield f"{', '.join(PURE)} must not touch files, threads, clocks or connections"
    if top == "tests":
        yield "the product must not import its tests"
    if module.split(".")[0] == "hydrograph" and top == "hydrograph_gauge":
        yield "the engine must not import the gauge"
    internal = top == "hydrograph" and imported.name.count(".") > 1
    listed = within(imported.name, (*PUBLIC_TO_THE_GAUGE, *INTERNALS_OF_THE_GAUGE))
    if module.split(".")[0] == "hydrograph_gauge" and internal and not listed:
        yield "not in the list of engine modules that the gauge may use"
    for package, layers in LAYERS.items():
        here, there = layer(package, module), layer(package, imported.name)
        if here and there and module != package and layers.index(there) > layers.index(here):
            yield f"{there} is above {here}"
    if within(module, ("hydrograph_gauge.oracle",)) and within(imported.name, CLOSED_TO_THE_ORACLE):
        yield "the oracle must not share this with the engine that it checks"


def test_imports_point_down() -> None:
    assert "\n".join(violations(SOURCE)) == ""


def test_every_listed_internal_is_used_by_the_gauge() -> None:
    used = {
        each.name
        for file in (SOURCE / "hydrograph_gauge").rglob("*.py")
        for each in imports(ast.parse(file.read_text("utf-8")), "hydrograph_gauge")
    }
    unused = [name for name in INTERNALS_OF_THE_GAUGE if not any(within(each, (name,)) for each in used)]
    assert unused == []


def test_no_modules_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    files = {
        ".".join(file.relative_to(SOURCE).with_suffix("").parts): file
        for package in ("hydrograph", "hydrograph_gauge")
        for file in (SOURCE / package).rglob("*.py")
        if file.name != "__init__.py"  # a package imports its modules, and they do not import it
    }
    for module, file in files.items():
        names = [each.name for each in imports(ast.parse(file.read_text("utf-8")), module) if not each.late]
        graph[module] = {found for name in names for found in (name, name.rpartition(".")[0]) if found in files}
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError, which lists the modules


@pytest.mark.parametrize("module", ["hydrograph", "hydrograph.cli.main", "hydrograph_gauge.cli"])
def test_importing_needs_no_pyspark(module: str) -> None:
    program = f"import sys, {module}; sys.exit(f'{module} imports pyspark' if 'pyspark' in sys.modules else 0)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("hydrograph/rdf/terms.py", "import hydrograph.algebra.nodes", "algebra is above rdf"),
        ("hydrograph/rdf/terms.py", "from hydrograph import algebra", "algebra is above rdf"),
        ("hydrograph/rdf/terms.py", "from ..algebra.nodes import Join", "algebra is above rdf"),
        ("hydrograph/rdf/terms.py", "from hydrograph import Session", "api is above rdf"),
        ("hydrograph/rdf/terms.py", "def f():\n    from hydrograph.cli import main", "cli is above rdf"),
        ("hydrograph/compile/joins.py", "def f():\n    import pyspark", "may use Spark"),
        ("hydrograph/runtime/live.py", "from pyspark.sql import functions", "inside a function or under TYPE_CHECKING"),
        ("hydrograph/runtime/live.py", "class C:\n    import pyspark", "inside a function or under TYPE_CHECKING"),
        ("hydrograph/helpers/text.py", "", "helpers is not a layer"),
        ("hydrograph/live/step/step.py", "import threading", "must not touch files, threads"),
        ("hydrograph/live/step/step.py", "def f():\n    from time import monotonic", "must not touch files, threads"),
        ("hydrograph/live/step/step.py", "from hydrograph.live.evaluate import choose", "evaluate is above step"),
        ("hydrograph/live/helpers.py", "", "helpers is not a layer"),
        ("hydrograph/api.py", "import hydrograph_gauge", "must not import the gauge"),
        ("hydrograph_gauge/judge/x.py", "from tests.support import waiting", "must not import its tests"),
        ("hydrograph_gauge/engines/live.py", "from hydrograph.optimizer import RULES", "not in the list"),
        ("hydrograph_gauge/oracle/evaluate.py", "import hydrograph.api", "the oracle must not share"),
        ("hydrograph_gauge/worlds/world.py", "from hydrograph_gauge.judge import pairing", "judge is above worlds"),
        ("hydrograph/rdf/terms.py", "from . import vocab\nfrom .vocab import XSD\nimport hydrograph.errors", None),
        ("hydrograph/runtime/live.py", "if TYPE_CHECKING:\n    from pyspark.sql import Row", None),
        ("hydrograph_gauge/oracle/evaluate.py", "from hydrograph.windows import scope", None),
        ("hydrograph/__init__.py", "from hydrograph.api import Session", None),
        ("hydrograph/__main__.py", "from hydrograph.cli.main import main", None),
    ],
)
def test_the_checker_reports_a_planted_import(tmp_path: Path, file: str, text: str, complaint: str | None) -> None:
    planted = tmp_path / file
    planted.parent.mkdir(parents=True)
    planted.write_text(text)
    found = list(violations(tmp_path))
    assert len(found) == (complaint is not None), found
    assert all(str(complaint) in sentence for sentence in found)

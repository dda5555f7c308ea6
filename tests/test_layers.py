"""Imports point down the rooms of the package, and pyspark is imported late: nothing that needs no JVM waits for it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOMS = (
    "errors", "temporal", "rdf", "algebra", "windows", "language", "optimizer", "compile", "streams", "runtime", "live",
    "api", "worlds", "bench", "cli",
)  # fmt: skip
"""Bottom-up: a module imports from its own room or from one further left."""

SPARK_ROOMS = {"streams", "runtime", "live", "api", "worlds", "bench"}

CLOSED_TO_THE_ORACLE = {"optimizer", "compile", "runtime", "live", "api"}
"""What the engine does with a query after reading it: the oracle must not share its mistakes."""

SOURCE = Path(__file__).parents[1] / "src"


def imports(node: ast.AST, package: str, *, late: bool = False) -> Iterator[tuple[int, str, bool]]:
    """Yield line, absolute name and lateness of each import below `node`; late is one that does not run on import."""
    match node:
        case ast.Import(names=names):
            yield from ((node.lineno, name.name, late) for name in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = package.rsplit(".", level - 1)[0] if level else ""
            start = ".".join(filter(None, (base, module)))
            yield from ((node.lineno, f"{start}.{name.name}", late) for name in names)
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), body=body, orelse=orelse):
            for checked in body:
                yield from imports(checked, package, late=True)
            for otherwise in orelse:
                yield from imports(otherwise, package, late=late)
        case _:
            late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for child in ast.iter_child_nodes(node):
                yield from imports(child, package, late=late)


def room(module: str) -> str:
    """Return the room of `hydrograph.<room>...`; what the package itself offers belongs to `api`.

    >>> room("hydrograph.rdf.terms"), room("hydrograph"), room("hydrograph.query"), room("hydrograph.__main__")
    ('rdf', 'api', 'api', 'cli')
    """
    name = module.partition(".")[2].partition(".")[0]
    return "cli" if name == "__main__" else name if name in ROOMS else "api"


def violations(source: Path) -> Iterator[str]:
    """Yield a sentence for each import in the package `hydrograph` below `source` that breaks a rule."""
    for file in sorted(source.rglob("*.py")):
        parts = file.relative_to(source).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        if len(parts) > 1 and parts[1] not in (*ROOMS, "__init__", "__main__"):
            yield f"{file}: {parts[1]} is no room; the rooms are {', '.join(ROOMS)}"
            continue
        here = room(module)
        for line, name, late in imports(ast.parse(file.read_text("utf-8")), ".".join(parts[:-1])):
            where, there = f"{file}:{line}: {module} imports {name}", room(name)
            if name.split(".")[0] == "pyspark":
                if here not in SPARK_ROOMS:
                    yield f"{where}: only {', '.join(sorted(SPARK_ROOMS))} may use Spark"
                elif not late:
                    yield f"{where}: import it inside a function or under TYPE_CHECKING"
            elif name.split(".")[0] == "hydrograph":
                if ROOMS.index(there) > ROOMS.index(here):
                    yield f"{where}: {there} lies above {here}"
                elif parts[1:3] == ("bench", "oracle") and there in CLOSED_TO_THE_ORACLE:
                    yield f"{where}: the oracle must not share {there} with the engine it judges"


def test_imports_point_down() -> None:
    assert "\n".join(violations(SOURCE)) == ""


@pytest.mark.parametrize("module", ["hydrograph", "hydrograph.cli.main"])
def test_importing_needs_no_pyspark(module: str) -> None:
    program = f"import sys, {module}; sys.exit(f'{module} imports pyspark' if 'pyspark' in sys.modules else 0)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("rdf/terms.py", "import hydrograph.algebra.nodes", "algebra lies above rdf"),
        ("rdf/terms.py", "from hydrograph import algebra", "algebra lies above rdf"),
        ("rdf/terms.py", "from ..algebra.nodes import Join", "algebra lies above rdf"),
        ("rdf/terms.py", "from hydrograph import Session", "api lies above rdf"),
        ("rdf/terms.py", "def f():\n    from hydrograph.cli import main", "cli lies above rdf"),
        ("compile/joins.py", "def f():\n    import pyspark", "only api, bench, live, runtime, streams, worlds may use"),
        ("runtime/live.py", "from pyspark.sql import functions", "inside a function or under TYPE_CHECKING"),
        ("runtime/live.py", "class C:\n    import pyspark", "inside a function or under TYPE_CHECKING"),
        ("bench/oracle/evaluate.py", "from hydrograph.compile import joins", "must not share compile"),
        ("bench/oracle/evaluate.py", "import hydrograph", "must not share api"),
        ("helpers/text.py", "", "helpers is no room"),
        ("rdf/terms.py", "from . import vocab\nfrom .vocab import XSD\nfrom hydrograph.errors import DataError", None),
        ("runtime/live.py", "if TYPE_CHECKING:\n    from pyspark.sql import Row\nasync def f(): import pyspark", None),
        (
            "bench/oracle/evaluate.py",
            "from hydrograph.windows import scope\nfrom hydrograph_gauge import results",
            None,
        ),
        ("__init__.py", "from hydrograph.api import Session", None),
        ("__main__.py", "from hydrograph.cli.main import main", None),
    ],
)
def test_the_checker_sees_a_planted_import(tmp_path: Path, file: str, text: str, complaint: str | None) -> None:
    planted = tmp_path / "hydrograph" / file
    planted.parent.mkdir(parents=True)
    planted.write_text(text)
    found = list(violations(tmp_path))
    assert len(found) == (complaint is not None)
    assert all(str(complaint) in sentence for sentence in found)

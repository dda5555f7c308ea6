"""Checks of `hydrograph features` against the worked examples of the Stream WatDiv thesis, as exact fractions."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.world_checks.checks import Check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TREE = "?x :p1 ?a . ?x :p2 ?b . ?x :p3 ?c . ?x :p4 ?y . ?y :p5 ?z . ?u :p6 ?z . ?w :p7 ?z"
_SUBSCRIBERS = "?c :homepage ?d . ?b :subscribes ?c . ?b :location ?a"
_TRIPLES = (
    *(("W1", "homepage", "P2"), ("W2", "homepage", "P3"), ("W3", "homepage", "P1"), ("W4", "homepage", "P4")),
    *(("U1", "subscribes", "W2"), ("U2", "subscribes", "W1"), ("U3", "subscribes", "W3")),
    *(("U1", "location", "City1"), ("U2", "location", "City2")),
)
DATA = "".join(f"<urn:{s}> <urn:{p}> <urn:{o}> .\n" for s, p, o in _TRIPLES)
"""Data that give all published values: the figure itself was not to be had as text."""
_HYBRID = """PREFIX : <urn:> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 5s STEP 1s]
WHERE { WINDOW :w { ?a :t1 ?b . ?c :t4 ?e } ?b :t2 ?c . ?c :t3 ?d . ?e :t5 ?f . ?f :t6 ?g }"""


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield the comparison of figures 2.1, 2.2 to 2.6 and 3.1 with the command's output; `spark` is not used."""
    del spark
    with tempfile.TemporaryDirectory(prefix="hydrograph-worlds-") as directory:
        yield tree(said(Path(directory), _plain(_TREE)))
        yield fractions(said(Path(directory), _plain(_SUBSCRIBERS), DATA))
        yield units(said(Path(directory), _HYBRID, options=("--static-unit", "component")))


def said(directory: Path, query: str, static: str | None = None, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return what `hydrograph features --json` prints for a query, over static data if there is some."""
    (directory / "query.rq").write_text(query, "utf-8")
    call = [sys.executable, "-m", "hydrograph", "features", str(directory / "query.rq"), "--json", *options]
    if static is not None:
        (directory / "static.nt").write_text(static, "utf-8")
        call += ["--static", str(directory / "static.nt")]
    found: dict[str, Any] = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    return found


def tree(found: Mapping[str, Any]) -> Check:
    """Return whether figure 2.1 has its patterns and join vertices."""
    vertices = [(vertex["degree"], *vertex["types"]) for vertex in found["vertices"]]
    shown = f"{found['patterns']} patterns, join vertices {', '.join(' '.join(map(str, one)) for one in vertices)}"
    right = (found["patterns"], vertices) == (7, [(4, "SS+"), (2, "SO+"), (3, "OO+")])
    return Check("features: figure 2.1", right, shown)


def fractions(found: Mapping[str, Any]) -> Check:
    """Return whether figures 2.2 to 2.6 have their cardinality and selectivities."""
    (window,) = found["windows"]
    values = [(one["selectivity"], one["restricted"], one["joined"]) for one in window["each"]]
    right = window["cardinality"] == 2 and values == [
        ("4/9", "1/2", {"?c": "3/4"}),
        ("1/3", "2/3", {"?c": "1", "?b": "2/3"}),
        ("2/9", "1", {"?b": "1"}),
    ]
    matched, restricted, joined = values[0]
    shown = (
        f"cardinality {window['cardinality']}, homepage {matched} of the graph, "
        f"{restricted} in answers, {joined.get('?c')} joined"
    )
    return Check("features: figures 2.2 to 2.6", right, shown)


def units(found: Mapping[str, Any]) -> Check:
    """Return whether the static patterns of figure 3.1 count as two components."""
    units = [[pattern.split()[1] for pattern in unit] for unit in found["units"]]
    right = sorted(units) == [["<urn:t1>"], ["<urn:t2>", "<urn:t3>"], ["<urn:t4>"], ["<urn:t5>", "<urn:t6>"]]
    shown = f"{found['patterns']} patterns in units of {sorted(map(len, units))}"
    return Check("features: figure 3.1", right, shown)


def _plain(patterns: str) -> str:
    return f"PREFIX : <urn:> SELECT * WHERE {{ {patterns} }}"

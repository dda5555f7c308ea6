"""The example in another language is an engine like any other."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, run_session
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import AsFastAsTaken
from tests.support.judge_answers import outcome_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "engines" / "count.pl"
STREAM = Iri("urn:s")
COUNT = parse(
    "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1500ms] WHERE { WINDOW <urn:w> { ?s ?p ?o } }"
)


def is_there() -> bool:
    perl = shutil.which("perl")
    return perl is not None and subprocess.run([perl, "-MJSON::PP", "-e", "1"], check=False).returncode == 0


pytestmark = pytest.mark.skipif(not is_there(), reason="no perl with JSON::PP here")


def test_thirty_lines_of_perl_are_an_engine() -> None:
    elements = [
        Element.of(70 * n, n, *(Triple(Iri(f"urn:{n % 11}"), Iri("urn:p"), Iri(f"urn:{k}")) for k in range(n % 4)))
        for n in range(3, 120)
    ]
    name = f"program:perl {EXAMPLE}"
    text = registry.print_for_engine(name, COUNT)
    other = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s] WHERE { WINDOW <urn:w> { ?s ?p ?o } }"
    task = SessionInput({"q": EngineQuery(text, ("n",))}, {STREAM: elements}, {STREAM: AsFastAsTaken()})
    found = run_session(registry.start_command(name), task, Limits(seconds=30))
    assert found.outcomes == {}
    total = outcome_of(evaluate_reports(COUNT, {STREAM: elements}), found.blocks["q"])
    assert total.windows == total.right == total.non_empty > 4

    asked = SessionInput({"q": EngineQuery(other, ("s",))}, {STREAM: elements}, {STREAM: AsFastAsTaken()})
    refused = run_session(registry.start_command(name), asked, Limits(seconds=30)).outcomes["q"]
    assert (refused.verdict, refused.words) == (Verdict.NOT_SUPPORTED, "only COUNT, and RANGE in seconds")


def test_it_has_thirty_lines() -> None:
    code = [line for line in EXAMPLE.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert len(code) <= 30

"""C-SPARQL and CQELS themselves, where a folder of their jars is given: CSPARQL_JARS, CQELS_JARS."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import Origin, Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session
from hydrograph_gauge.player import ByEventTime

STREAM = Iri("http://ex.org/s")
TEXT = """SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <http://ex.org/s> [RANGE 2s STEP 1s]
WHERE { WINDOW <urn:w> { ?s <urn:p> ?o FILTER(?o > LEAST) } }"""
ELEMENTS = [
    Element.of(250 * n, n, Triple(Iri(f"urn:e{n}"), Iri("urn:p"), Literal(str(n), XSD_INTEGER))) for n in range(16)
]
pytestmark = pytest.mark.slow


def engine(name: str) -> str:
    """Return the name of an engine with its folder, or skip."""
    variable = f"{name.upper()}_JARS"
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} names no folder of jars; docs/old-engines.md tells which repositories hold them")
    missing = registry.find_missing(f"{name}:{folder}")
    assert missing is None, missing
    return f"{name}:{folder}"


def asked(name: str, folder: Path, **changes: str) -> SessionResult:
    texts = {
        query: registry.print_for_engine(name, parse(TEXT.replace("LEAST", least))) for query, least in changes.items()
    }
    # The heading tells what Hydrograph would read, so that the text reaches the engine.
    texts["broken"] = "# variables: s o streams: <http://ex.org/s>\n" + texts["all"].replace("WHERE", "WERE")
    task = SessionInput(
        {query: EngineQuery(text, ("s", "o")) for query, text in texts.items()},
        {STREAM: ELEMENTS},
        {STREAM: ByEventTime()},
    )
    return run_session(registry.start_command(name), task, Limits(seconds=180), folder / "stderr.txt")


def check_session(found: SessionResult) -> None:
    """Check what holds for both: one refusal that is charged to the text, and acknowledged elements."""
    assert {name: (each.verdict, each.origin) for name, each in found.outcomes.items()} == {
        "broken": (Verdict.SYNTAX_ERROR, Origin.TEXT)
    }
    assert any("Exception" in line for line in found.errors["broken"])
    assert len(found.handed) == len(ELEMENTS)
    assert all(each.told is not None and each.told <= each.at for each in found.handed)


def test_cqels_answers_all_queries_in_one_process(tmp_path: Path) -> None:
    """Every row once, as its element comes, and none that a filter drops: its filters are outside of STREAM."""
    found = asked(engine("cqels"), tmp_path, all="-1", some="11")
    check_session(found)
    for query, least in (("all", -1), ("some", 11)):
        rows = [row for block in found.blocks[query] for row in block.rows.elements()]
        assert rows == [(t.subject, t.object) for element in ELEMENTS for t in element.triples if element.seq > least]
        assert found.executions[query] == len(ELEMENTS)


def test_c_sparql_answers_all_queries_in_one_process(tmp_path: Path) -> None:
    """Windows of two seconds in steps of one: each answer has neighbours, and every element is in some."""
    found = asked(engine("csparql"), tmp_path, all="-1", some="11")
    check_session(found)
    for query, least in (("all", -1), ("some", 11)):
        answers = [sorted(int(row[1].lexical) for row in block.rows) for block in found.blocks[query] if block.rows]  # type: ignore[union-attr]
        assert answers
        assert all(answer == list(range(answer[0], answer[-1] + 1)) for answer in answers)
        assert {number for answer in answers for number in answer} == set(range(least + 1, len(ELEMENTS)))

"""Programs with lines of their own, by description; shipped ones run over stand-ins with the engines' interfaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.described import DESCRIPTIONS, read_description
from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import AsFastAsTaken
from tests.support.judge_answers import outcome_of

STREAM = Iri("urn:s")
QUERY = parse("SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s] WHERE { WINDOW <urn:w> { ?s <urn:p> ?o } }")
ELEMENTS = [
    Element.of(200 * n, n, Triple(Iri(f"urn:e{n}"), Iri("urn:p"), Literal(str(n), XSD_INTEGER))) for n in range(12)
]
LINE_PROGRAM = Path(__file__).with_name("line_program.py")
STUBS = Path(__file__).with_name("stubs")
PRICES = ("5.0", "4.5", "6.0", "3.0")
DESCRIPTION = f"""
name = "lines"
command = ["{sys.executable}", "{LINE_PROGRAM}", "{{query}}", "{{static}}", "{{graphs}}"]

[input]
triple = "{{s}} {{p}} {{o}} {{t}}"
terms = "bare"
end = "bye"

[output]
ready = "welcome"
refused = "no: (.*)"
syntax = "what is"
unsupported = "^no "
row = "> (.*)"
separator = "|"
terms = "bare"
finished = '= (\\d+)'
"""


def asked(
    name: str, text: str, variables: tuple[str, ...] = ("s", "o"), static: Mapping[str | None, str] | None = None
) -> SessionResult:
    task = SessionInput(
        {"q": EngineQuery(text, variables)}, {STREAM: ELEMENTS}, {STREAM: AsFastAsTaken()}, static or {}
    )
    return run_session(registry.start_command(name), task, Limits(seconds=60))


def graph(folder: Path, name: str) -> str:
    """Return the path of a file of one triple, whose object has that name."""
    file = folder / f"{name}.nt"
    file.write_text(f"<urn:a> <urn:b> <urn:{name}> .\n")
    return str(file)


@pytest.fixture
def described(tmp_path: Path) -> str:
    file = tmp_path / "lines.toml"
    file.write_text(DESCRIPTION)
    return f"described:{file}"


def test_a_description_makes_a_program_an_engine(described: str) -> None:
    found = asked(described, registry.print_for_engine(described, QUERY))
    assert found.outcomes == {}
    total = outcome_of(evaluate_reports(QUERY, {STREAM: ELEMENTS}), found.blocks["q"])
    assert total.windows == total.right == total.non_empty == 3


@pytest.mark.parametrize(
    ("addition", "verdict", "words"),
    [
        ("FILTER(?o > 1)", Verdict.NOT_SUPPORTED, "no filters here"),
        ("BIND(1 AS ?x)", Verdict.SYNTAX_ERROR, "what is BIND?"),
        ("MINUS { ?s ?p 1 }", Verdict.RUNTIME_ERROR, "not today"),
    ],
)
def test_what_it_refuses_is_told_by_its_words(described: str, addition: str, verdict: Verdict, words: str) -> None:
    text = registry.print_for_engine(described, QUERY).replace("?o .", f"?o . {addition}")
    refused = asked(described, text).outcomes["q"]
    assert (refused.verdict, refused.phase) == (verdict, Phase.REGISTRATION)
    assert refused.words == words


def test_static_graphs_come_in_files_of_their_own(described: str, tmp_path: Path) -> None:
    """A graph that a query names and that is not loaded is the default data, as in a merged text."""
    names = "FROM <urn:one> FROM <urn:else> FROM NAMED <urn:two>"
    text = registry.print_for_engine(described, QUERY).replace("FROM NAMED WINDOW", f"{names} FROM NAMED WINDOW")
    static = {None: "default", "urn:one": "one", "urn:two": "two"}
    files = {name: graph(tmp_path, each) for name, each in static.items()}
    found = asked(described, f"{text}\n# SAY THE STATIC DATA", static=files).outcomes["q"]
    assert found.words.split() == [
        *("no", "default:", "<urn:one>", "<urn:default>"),
        *("urn:one:", "<urn:one>", "urn:two:", "<urn:two>", "urn:else:", "<urn:default>"),
    ]


def test_a_description_without_graphs_has_none(described: str, tmp_path: Path) -> None:
    file = Path(described.partition(":")[2])
    file.write_text(file.read_text().replace(', "{graphs}"', ""))
    text = registry.print_for_engine(described, QUERY)
    assert asked(described, text, static={None: graph(tmp_path, "default")}).outcomes == {}
    refused = asked(described, text, static={"urn:g": graph(tmp_path, "one")}).outcomes["q"]
    assert "lines is described without named graphs such as <urn:g>: its command has no {graphs}" in refused.words


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[input]", "[inputs]", "input: Field required"),
        ('row = "> (.*)"', 'row = "("', "output.row: .*no regular expression"),
        ('syntax = "what is"', 'syntax = "("', "output.syntax: .*no regular expression"),
        ('terms = "bare"', 'terms = "xml"', "input.terms: Input should be"),
        ("[output]", "[output", "no TOML"),
    ],
)
def test_descriptions_that_are_none(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(DESCRIPTION.replace(old, new))
    with pytest.raises(UsageError, match=complaint):
        registry.start_command(f"described:{file}")


def test_shipped_descriptions_say_what_the_user_has_to_supply(tmp_path: Path) -> None:
    for name in ("csparql", "cqels", "etalis"):
        assert read_description(DESCRIPTIONS / f"{name}.toml").name == name
        assert "needs files that do not come with Hydrograph" in (registry.find_missing(f"{name}:{tmp_path}") or "")
    with pytest.raises(UsageError, match="no such description; shipped are cqels, csparql, etalis"):
        registry.get_engine("described:nowhere.toml")


@pytest.mark.parametrize("prolog", ["stand-in", "swipl"])
def test_a_language_that_nobody_here_reads(prolog: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ETALIS cannot be fetched: its runner calls stubs of its predicates, if Prolog is installed."""
    if prolog == "stand-in":
        program = tmp_path / "swipl"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {STUBS / "etalis" / "swipl.py"} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    elif shutil.which("swipl") is None:
        pytest.skip("no SWI-Prolog here")
    name = f"etalis:{STUBS / 'etalis'}"
    with pytest.raises(UnsupportedError, match="its own language, ep-sparql"):
        registry.print_for_engine(name, QUERY)
    text = (DESCRIPTIONS / "etalis.ep-sparql").read_text("utf-8")
    texts = {"q": text, "bad": text.replace("SEQ", "THEN"), "much": text.replace("SELECT", "CONSTRUCT"), "plain": "?"}
    price, company = Iri("http://ex.org/price"), Iri("urn:c")
    prices = [
        Element.of(400 * n, n, Triple(company, price, Literal(each, XSD_DECIMAL))) for n, each in enumerate(PRICES)
    ]
    listed = tmp_path / "listed.nt"
    listed.write_text('<urn:c> <http://ex.org/listed> "yes" .\n')
    stream = Iri("http://ex.org/prices")
    questions = {name: EngineQuery(each, ("company",)) for name, each in texts.items()}
    task = SessionInput(questions, {stream: prices}, {stream: AsFastAsTaken()}, {None: str(listed)}, stepwise=True)
    found = run_session(registry.start_command(name), task, Limits(seconds=120))
    assert {name: each.verdict for name, each in found.outcomes.items()} == {
        "bad": Verdict.SYNTAX_ERROR,
        "much": Verdict.NOT_SUPPORTED,
        "plain": Verdict.RUNTIME_ERROR,
    }
    assert found.outcomes["plain"].words.startswith("expected a first line such as")
    assert [list(block.rows.elements()) for block in found.blocks["q"]] == [[], [(company,)], [], [(company,)]]


@pytest.fixture(scope="module", params=["csparql", "cqels"])
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The engines cannot be fetched: stubs with the same methods echo their input."""
    javac, jar = shutil.which("javac"), shutil.which("jar")
    if javac is None or jar is None:
        pytest.skip("no Java compiler here")
    engine, folder = str(request.param), tmp_path_factory.mktemp("stand-in")
    sources = sorted(map(str, (STUBS / engine).rglob("*.java")))
    subprocess.run([javac, "-d", str(folder / "classes"), *sources], check=True)
    subprocess.run([jar, "cf", str(folder / f"{engine}-0.jar"), "-C", str(folder / "classes"), "."], check=True)
    return f"{engine}:{folder}"


@pytest.mark.slow
def test_runners_speak_the_interfaces_of_their_engines(runner: str, tmp_path: Path) -> None:
    """Graphs have their names, and default data the name that a text has for it, as those of LSBench for C-SPARQL."""
    text = registry.print_for_engine(runner, QUERY).replace("\nWHERE", "\nFROM <urn:g>\nFROM NAMED <urn:h>\nWHERE")
    found = asked(runner, text, static={None: graph(tmp_path, "one"), "urn:h": graph(tmp_path, "two")})
    assert found.outcomes == {}
    rows = [row for block in found.blocks["q"] for row in block.rows]
    assert rows[-len(ELEMENTS) :] == [(t.subject, t.object) for element in ELEMENTS for t in element.triples]
    names = {"urn:g": "one", "urn:h": "two"} | ({"urn:default": "one"} if runner.startswith("cqels") else {})
    assert set(rows[: -len(ELEMENTS)]) == {(Iri(name), Iri(f"urn:{each}")) for name, each in names.items()}
    assert found.executions["q"] == len(ELEMENTS)


@pytest.mark.slow
def test_what_the_engines_refuse(runner: str) -> None:
    text = "# variables: s o streams: <urn:s>\n" + registry.print_for_engine(
        runner, QUERY
    )  # a language that Hydrograph does not parse
    texts = {"bad": text.replace("STREAM", "TREAM"), "much": f"{text} EXISTS"}
    questions = {name: EngineQuery(each, ("s", "o")) for name, each in texts.items()}
    found = run_session(
        registry.start_command(runner), SessionInput(questions, {STREAM: []}, {}), Limits(seconds=300)
    ).outcomes
    assert {name: each.verdict for name, each in found.items()} == {
        "bad": Verdict.SYNTAX_ERROR,
        "much": Verdict.NOT_SUPPORTED,
    }
    assert "ParseException: Encountered" in found["bad"].words
    assert found["much"].words == "UnsupportedOperationException: EXISTS"

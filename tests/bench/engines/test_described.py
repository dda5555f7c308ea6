"""Programs with lines of their own, by description; shipped ones run over stand-ins with the engines' interfaces."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from outcomes import outcome

from hydrograph.bench.engines import registry
from hydrograph.bench.engines.described import HERE, read_description
from hydrograph.bench.engines.process import Limits
from hydrograph.bench.engines.session import Played, Question, Task, run
from hydrograph.bench.engines.verdict import Phase, Verdict
from hydrograph.bench.oracle.evaluate import expected
from hydrograph.bench.player import AsFastAsTaken
from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.windows.stream import Element

STREAM = Iri("urn:s")
QUERY = parse("SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s] WHERE { WINDOW <urn:w> { ?s <urn:p> ?o } }")
ELEMENTS = [
    Element.of(200 * n, n, Triple(Iri(f"urn:e{n}"), Iri("urn:p"), Literal(str(n), XSD_INTEGER))) for n in range(12)
]
LINES = Path(__file__).with_name("lines.py")
STUBS = Path(__file__).with_name("stubs")
DESCRIPTION = f"""
name = "lines"
command = ["{sys.executable}", "{LINES}", "{{query}}"]

[input]
triple = "{{s}} {{p}} {{o}} {{t}}"
terms = "bare"
end = "bye"

[output]
ready = "welcome"
refused = "no: (.*)"
row = "> (.*)"
separator = "|"
terms = "bare"
finished = '= (\\d+)'
"""


def asked(name: str, text: str, variables: tuple[str, ...] = ("s", "o")) -> Played:
    task = Task({"q": Question(text, variables)}, {STREAM: ELEMENTS}, {STREAM: AsFastAsTaken()})
    return run(registry.command(name), task, Limits(seconds=60))


@pytest.fixture
def described(tmp_path: Path) -> str:
    file = tmp_path / "lines.toml"
    file.write_text(DESCRIPTION)
    return f"described:{file}"


def test_a_description_makes_a_program_an_engine(described: str) -> None:
    found = asked(described, registry.text(described, QUERY))
    assert found.outcomes == {}
    total = outcome(expected(QUERY, {STREAM: ELEMENTS}), found.blocks["q"])
    assert total.windows == total.right == total.non_empty == 3


def test_what_it_refuses(described: str) -> None:
    text = registry.text(described, QUERY).replace("?o .", "?o . FILTER(?o > 1)")
    refused = asked(described, text).outcomes["q"]
    assert (refused.verdict, refused.phase) == (Verdict.RUNTIME_ERROR, Phase.REGISTRATION)
    assert refused.words == "no filters here"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[input]", "[inputs]", "input: Field required"),
        ('row = "> (.*)"', 'row = "("', "output.row: .*no regular expression"),
        ('terms = "bare"', 'terms = "xml"', "input.terms: Input should be"),
        ("[output]", "[output", "no TOML"),
    ],
)
def test_descriptions_that_are_none(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(DESCRIPTION.replace(old, new))
    with pytest.raises(UsageError, match=complaint):
        registry.command(f"described:{file}")


def test_shipped_descriptions_say_what_the_user_has_to_supply(tmp_path: Path) -> None:
    for name in ("csparql", "cqels", "etalis"):
        assert read_description(HERE / f"{name}.toml").name == name
        assert "needs files that do not come with Hydrograph" in (registry.missing(f"{name}:{tmp_path}") or "")
    with pytest.raises(UsageError, match="no such description; shipped are cqels, csparql, etalis"):
        registry.engine("described:nowhere.toml")


def test_a_language_that_nobody_here_reads(tmp_path: Path) -> None:
    program = tmp_path / "etalis.sh"
    program.write_text(
        '#!/bin/sh\nwhile read -r line; do echo "match\turn:x\t$(expr "$line" : \'.*,\\(.*\\))\')"; done\n'
    )
    program.chmod(0o755)
    name = f"etalis:{tmp_path}"
    with pytest.raises(UnsupportedError, match="its own language, ep-sparql"):
        registry.text(name, QUERY)
    found = asked(name, "% variables: s o streams: <urn:s>\nanything", ("s", "o"))
    assert found.outcomes == {}
    assert len(found.blocks["q"]) == len(ELEMENTS)
    assert asked(name, "anything").outcomes["q"].words.startswith("expected a first line such as")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["csparql", "cqels"])
def test_runners_speak_the_interfaces_of_their_engines(tmp_path: Path, engine: str) -> None:
    """The engines can not be fetched: stand-ins with the same methods say back every triple that they are given."""
    javac, jar = shutil.which("javac"), shutil.which("jar")
    if javac is None or jar is None:
        pytest.skip("no Java compiler here")
    sources = sorted(map(str, (STUBS / engine).rglob("*.java")))
    subprocess.run([javac, "-d", str(tmp_path / "classes"), *sources], check=True)
    subprocess.run([jar, "cf", str(tmp_path / "engine.jar"), "-C", str(tmp_path / "classes"), "."], check=True)
    text = registry.text(f"{engine}:{tmp_path}", QUERY)
    found = asked(f"{engine}:{tmp_path}", text)
    assert found.outcomes == {}
    rows = [row for block in found.blocks["q"] for row in block.rows]
    assert rows == [(t.subject, t.object) for element in ELEMENTS for t in element.triples]

"""The real rsp-rs, built by Cargo from the registry's package: what it answers, and its own faults.

The tests use it where it has been built: `make bench-engines` builds it, which takes minutes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UnsupportedError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry, rsp_rs
from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import AsFastAsTaken

BASE = "http://example.org/"
STREAM = Iri(f"{BASE}s")
HEAD = f"PREFIX : <{BASE}>\n"
TUMBLING = parse(HEAD + "SELECT ?a ?v FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?a :v ?v } }")
SLIDING = parse(HEAD + "SELECT ?a FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 5s] WHERE { WINDOW :w { ?a :v ?v } }")
Answers = list[tuple[int | None, list[str]]]


def require_built() -> None:
    """Skip where the engine is not built; building takes too long for each change."""
    if not rsp_rs.home().is_dir():
        pytest.skip("rsp-rs is not built here: make bench-engines builds it, with Cargo")


def reading(name: str, t: int, value: int = 1) -> Element:
    triple = Triple(Iri(f"{BASE}{name}"), Iri(f"{BASE}v"), Literal(str(value), XSD_INTEGER))
    return Element.of(t, t, triple)


def played(
    query: ContinuousQuery,
    streams: Mapping[Iri, Sequence[Element]],
    variables: tuple[str, ...],
    static: Mapping[str | None, str] | None = None,
) -> SessionResult:
    asked = EngineQuery(registry.print_for_engine("rsp-rs", query), variables)
    paces = dict.fromkeys(streams, AsFastAsTaken())
    return run_session(
        registry.start_command("rsp-rs"), SessionInput({"q": asked}, streams, paces, static or {}), Limits(seconds=60)
    )


def answers(found: SessionResult) -> Answers:
    assert found.outcomes == {}
    return [(block.t, sorted(str(row[0]) for row in block.rows.elements())) for block in found.blocks["q"]]


def names(*texts: str) -> list[str]:
    return sorted(str(Iri(f"{BASE}{text}")) for text in texts)


def test_its_words() -> None:
    text = registry.print_for_engine("rsp-rs", TUMBLING)
    assert text.splitlines()[0] == (
        "FROM NAMED WINDOW <http://example.org/w> ON STREAM <http://example.org/s> [RANGE 10000 STEP 10000]"
    )
    with pytest.raises(UnsupportedError, match="Rstream only"):
        rsp_rs.text(
            parse(
                "REGISTER ISTREAM <urn:o> AS SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s]"
                " WHERE { WINDOW <urn:w> { ?s ?p ?o } }"
            )
        )


def test_without_cargo_it_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert registry.find_missing("rsp-rs") == "no cargo found: install Rust"


def test_windows_with_an_element_in_each_slide_are_right() -> None:
    require_built()
    elements = [reading(f"a{number}", 1_000 + 2_500 * number, number) for number in range(16)]
    found = played(SLIDING, {STREAM: elements}, ("a",))
    due = evaluate_reports(SLIDING, {STREAM: elements}, profile=rsp_rs.PROFILE, until=elements[-1].t - 1)
    expected = {report.t: Counter(str(row[0]) for row in report.rows.elements()) for report in due}
    said = {t: Counter(rows) for t, rows in answers(found) if t is not None and rows}
    assert {t: rows for t, rows in said.items() if t in expected} == {t: r for t, r in expected.items() if r}


def test_terms_come_back_as_they_were_sent() -> None:
    require_built()
    objects: list[Iri | Literal] = [
        Literal("43", "http://www.w3.org/2001/XMLSchema#double"),  # its evaluator would print 43.0 as 43
        Literal('a "quoted"\\ text\nwith\ttwo lines \u00e9'),
        Literal.tagged("cup", "en"),
        Iri(f"{BASE}o"),
    ]
    query = parse(HEAD + "SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { :x :v ?o } }")
    elements = [
        Element.of(1_000 + number, number, Triple(Iri(f"{BASE}x"), Iri(f"{BASE}v"), each))
        for number, each in enumerate(objects)
    ]
    found = played(query, {STREAM: [*elements, reading("later", 12_000)]}, ("o",))
    rows = [block.rows for block in found.blocks["q"] if block.rows]
    assert rows[0] == Counter((each,) for each in objects)


def test_static_data_in_a_named_graph(tmp_path: Path) -> None:
    require_built()
    (tmp_path / "units.nt").write_text(f'<{BASE}a> <{BASE}called> "Celsius"@en .\n')
    query = parse(
        HEAD + "SELECT ?n FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s]"
        " WHERE { WINDOW :w { ?a :v ?v } GRAPH :units { ?a :called ?n } }"
    )
    found = played(
        query,
        {STREAM: [reading("a", 1_000), reading("b", 12_000)]},
        ("n",),
        {f"{BASE}units": str(tmp_path / "units.nt")},
    )
    assert (11_000, [str(Literal.tagged("Celsius", "en"))]) in answers(found)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("FROM NAMED WINDOW", "FROM WINDOW", "no window was recognised in the query"),
        ("SELECT", "SELEKT", "error at"),
    ],
)
def test_texts_that_it_cannot_read_are_syntax_errors(old: str, new: str, words: str) -> None:
    require_built()
    text = registry.print_for_engine("rsp-rs", TUMBLING).replace(old, new)
    task = SessionInput({"q": EngineQuery(text, ("a", "v"))}, {STREAM: []}, {})
    found = run_session(registry.start_command("rsp-rs"), task, Limits(seconds=60)).outcomes["q"]
    assert (found.verdict, found.phase) == (Verdict.SYNTAX_ERROR, Phase.REGISTRATION)
    assert re.search(words, found.words)


def test_of_windows_that_close_together_it_answers_the_last_only() -> None:
    """Its own fault: the element at 17 s closes the windows at 6 s and 11 s, and the one at 6 s is dropped."""
    require_built()
    elements = [reading("a", 1_000), reading("b", 5_000), reading("c", 17_000)]
    found = dict(answers(played(SLIDING, {STREAM: elements}, ("a",))))
    assert found[11_000] == names("a", "b")
    assert 6_000 not in found


def test_the_window_that_closes_with_the_last_element_is_answered() -> None:
    """The engine learns from a later element that a window is over: the adapter closes the stream right after it."""
    require_built()
    elements = [reading("a", 1_000), reading("b", 5_000), reading("c", 11_000)]
    assert (11_000, names("a", "b")) in answers(played(TUMBLING, {STREAM: elements}, ("a", "v")))


def test_a_stream_that_begins_at_0_has_its_windows_moved() -> None:
    """Its own fault: 0 means "not set yet", so the second element decides where windows begin."""
    require_built()
    elements = [reading("a", 0), reading("b", 3_000), reading("c", 14_000), reading("d", 25_000)]
    found = [(t, rows) for t, rows in answers(played(TUMBLING, {STREAM: elements}, ("a", "v"))) if rows]
    assert found[0] == (13_000, names("b"))  # instead of both elements at 10 s


def test_an_empty_window_closes_with_the_first_element() -> None:
    """Its own fault: the window before the first element is reported, so that an aggregate has a row for it."""
    require_built()
    query = parse(
        HEAD
        + "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?a :v ?v } }"
    )
    elements = [reading("a", 1_000), reading("b", 4_000), reading("c", 15_000)]
    counted = answers(played(query, {STREAM: elements}, ("n",)))[:2]
    assert counted == [(1_000, [str(Literal("0", XSD_INTEGER))]), (11_000, [str(Literal("2", XSD_INTEGER))])]


def test_of_two_windows_over_one_stream_one_stays_empty() -> None:
    """Its own fault: streams are kept by name, and the second window replaces the first."""
    require_built()
    query = parse(
        HEAD + "SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s]"
        " FROM NAMED WINDOW :x ON :s [RANGE 10s STEP 10s] WHERE { WINDOW :w { ?a :v 1 } WINDOW :x { ?b :v 2 } }"
    )
    elements = [reading("a", 1_000, 1), reading("b", 2_000, 2), reading("c", 12_000), reading("d", 23_000)]
    found = played(query, {STREAM: elements}, ("a", "b"))
    assert found.outcomes["q"].verdict == Verdict.NO_ANSWER
    assert found.executions["q"] > 0
    assert not any(block.rows for block in found.blocks["q"])


def test_it_answers_as_it_was_built() -> None:
    require_built()
    elements = [reading("a", 1_000), reading("b", 2_000), reading("c", 12_000), reading("d", 23_000)]
    found = answers(played(TUMBLING, {STREAM: elements}, ("a", "v")))
    assert (11_000, names("a", "b")) in found

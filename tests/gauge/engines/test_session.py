"""Engines as real programs: right ones are right, and every planted fault shows as what it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_DECIMAL
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.engines.process import Limits, start_engine
from hydrograph_gauge.engines.protocol import (
    Answer,
    End,
    Ended,
    Load,
    Loaded,
    Register,
    Registered,
    Send,
    Unregister,
    Unregistered,
)
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session, triple_lines
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import AsFastAsTaken, ByEventTime, Pace
from hydrograph_gauge.run_records import OutcomeRecord
from tests.support.judge_answers import outcome_of

STREAM = Iri("http://example.org/s")
TEXT = """PREFIX : <http://example.org/>
SELECT ?o ?v ?room FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s]
WHERE { WINDOW :w { ?o :value ?v } ?o :in ?room }"""
QUERY = parse(TEXT)
ELEMENTS = [
    Element.of(
        250 * number,
        number,
        Triple(
            Iri(f"http://example.org/o{number % 7}"),
            Iri("http://example.org/value"),
            Literal(f"{number}.5", XSD_DECIMAL),
        ),
    )
    for number in range(40)
]
ROOMS = [
    Triple(Iri(f"http://example.org/o{n}"), Iri("http://example.org/in"), Iri(f"http://example.org/room{n % 2}"))
    for n in range(7)
]
FAULTY_ENGINE = Path(__file__).with_name("faulty_engine.py")
STEPWISE_ENGINE = Path(__file__).with_name("stepwise_engine.py")


@pytest.fixture
def rooms(tmp_path: Path) -> str:
    file = tmp_path / "rooms.nt"
    file.write_text(
        "".join(f"<{r.subject.value}> <{r.predicate.value}> <{r.object.value}> .\n" for r in ROOMS)  # type: ignore[union-attr]
    )
    return str(file)


def played(rooms: str, *command: str, pace: Pace | None = None, limits: Limits | None = None) -> SessionResult:
    task = SessionInput(
        {"q": EngineQuery(TEXT, ("o", "v", "room"))},
        {STREAM: ELEMENTS},
        {STREAM: pace or AsFastAsTaken()},
        {None: rooms},
    )
    return run_session([sys.executable, *command], task, limits or Limits(seconds=120, megabytes=3_000))


def whole(found: SessionResult) -> OutcomeRecord:
    return outcome_of(evaluate_reports(QUERY, {STREAM: ELEMENTS}, StaticData(frozenset(ROOMS))), found.blocks["q"])


@pytest.mark.parametrize("engine", ["oxigraph incremental", "hydrograph local"])
def test_right_engines_are_right(rooms: str, engine: str) -> None:
    name, how = engine.split()
    found = played(rooms, "-m", f"hydrograph_gauge.engines.{name}", how)
    assert found.outcomes == {}
    total = whole(found)
    assert total.precision == total.recall == 1
    assert total.right == total.windows
    assert total.non_empty == total.windows == found.executions["q"] > 8
    assert len(found.handed) == len(ELEMENTS)
    assert found.samples[-1].memory > 1


def test_a_store_asked_by_the_clock_answers_by_the_clock(rooms: str) -> None:
    """Ten seconds of events in two and a half: its windows hold four times as much as they should."""
    found = played(rooms, "-m", "hydrograph_gauge.engines.oxigraph", "periodic", pace=ByEventTime(4))
    assert found.outcomes == {}
    # Once for each second that has gone by, and at the end; on a busy machine more than two and a half may have.
    assert 3 <= found.executions["q"] <= found.seconds + 1
    recall = whole(found).recall
    assert recall is not None
    assert recall < 1
    assert found.handed[-1].at >= found.handed[-1].due == 39 * 250 / 4


@pytest.mark.parametrize(
    ("fault", "verdict", "phase", "words"),
    [
        ("crash", Verdict.CRASH, Phase.EXECUTION, "exit code 9: out of ideas"),
        ("hang", Verdict.TIMEOUT, Phase.EXECUTION, "not done after 15 s"),
        ("flood", Verdict.RUNTIME_ERROR, Phase.EXECUTION, "flood: more than 1000000 bytes in all"),
        ("garbage", Verdict.RUNTIME_ERROR, Phase.EXECUTION, "garbage: the line: Invalid JSON"),
        ("foreign", Verdict.RUNTIME_ERROR, Phase.EXECUTION, "garbage: answer of q: no variable 'stranger'"),
        ("hog", Verdict.OUT_OF_MEMORY, Phase.EXECUTION, "200 MB allowed"),
        ("unsupported", Verdict.NOT_SUPPORTED, Phase.REGISTRATION, "windows are not supported"),
    ],
)
def test_an_engine_that_fails_is_told_from_others(
    rooms: str, fault: str, verdict: Verdict, phase: Phase, words: str
) -> None:
    pace = ByEventTime(4) if fault == "hog" else None
    limits = Limits(seconds=15 if fault == "hang" else 60, megabytes=200 if fault == "hog" else 3_000, output=1_000_000)
    ended = played(rooms, str(FAULTY_ENGINE), fault, pace=pace, limits=limits).outcomes["q"]
    assert (ended.verdict, ended.phase) == (verdict, phase), ended
    assert words in ended.words


def test_a_query_text_that_is_none(rooms: str) -> None:
    task = SessionInput({"q": EngineQuery("SELECT", ())}, {STREAM: ELEMENTS}, {STREAM: AsFastAsTaken()})
    found = run_session([sys.executable, "-m", "hydrograph_gauge.engines.oxigraph", "incremental"], task, Limits(60))
    assert found.outcomes["q"].verdict is Verdict.SYNTAX_ERROR
    assert "line 1" in found.outcomes["q"].words


def test_wrong_answers_are_told_apart_by_what_is_missing_and_extra(rooms: str) -> None:
    totals = {
        fault: whole(played(rooms, str(FAULTY_ENGINE), fault)) for fault in ("drop", "duplicate", "round", "shift")
    }
    assert totals["drop"].precision == 1
    assert totals["drop"].extra == 0
    assert totals["drop"].recall is not None
    assert totals["drop"].recall < 1
    assert totals["duplicate"].recall == 1
    assert totals["duplicate"].missing == 0
    assert totals["duplicate"].precision == 0.5
    assert totals["round"].missing == totals["round"].extra > 0
    assert totals["shift"].missing > 0
    assert totals["shift"].extra > 0


STEPPED = [Element.of(n, n, Triple(Iri(f"urn:{n}"), Iri("urn:p"), Iri("urn:o"))) for n in range(6)]


def stepped(*reads: str, stepwise: bool = True, seconds: float = 60) -> SessionResult:
    """Play two streams to an engine that fails when an element comes before it has finished with the one before."""
    questions = {
        f"{number}": EngineQuery(f"<urn:{each}>", ("s",), frozenset({Iri(f"urn:{each.strip('!')}")}))
        for number, each in enumerate(reads)
    }
    streams = {Iri("urn:a"): STEPPED[::2], Iri("urn:b"): STEPPED[1::2]}
    task = SessionInput(questions, streams, dict.fromkeys(streams, AsFastAsTaken()), stepwise=stepwise)
    return run_session([sys.executable, str(STEPWISE_ENGINE)], task, Limits(seconds=seconds))


def test_no_element_is_sent_before_the_execution_of_the_last_is_over() -> None:
    found = stepped("a", "a", "b")
    assert found.outcomes == {}
    assert found.executions == {"0": 3, "1": 3, "2": 3}
    hurried = stepped("a", "b", stepwise=False)
    assert {each.words for each in hurried.outcomes.values()} == {"an element arrived during an execution"}


def test_queries_that_have_failed_are_not_waited_for() -> None:
    found = stepped("a", "a!")
    assert found.executions == {"0": 3}
    assert {name: each.words for name, each in found.outcomes.items()} == {"1": "failure on demand"}


def test_queries_are_taken_back_in_the_end(tmp_path: Path) -> None:
    """An engine that outlives the run must not keep its queries: the commands it gets are recorded."""
    for fault in ("none", "foreign"):
        told = tmp_path / fault
        task = SessionInput(
            {"q": EngineQuery(TEXT, ("o", "v", "room")), "bad": EngineQuery("SELECT", ())},
            {STREAM: ELEMENTS},
            {STREAM: AsFastAsTaken()},
            {},
        )
        command = f"tee {told} | {sys.executable} {FAULTY_ENGINE} {fault}"
        run_session(["sh", "-c", command], task, Limits(seconds=60))
        lines = told.read_text().splitlines()
        assert lines[-2:] == ['{"do":"unregister","query":"q"}', '{"do":"stop"}'], fault


def test_queries_come_and_go_while_a_stream_is_played(rooms: str) -> None:
    command = [sys.executable, "-m", "hydrograph_gauge.engines.oxigraph", "incremental"]
    with start_engine(command, Limits(seconds=60)) as engine:
        engine.tell(Load(file=rooms))
        assert isinstance(engine.hear().reply, Loaded)
        for name in ("one", "two"):
            engine.tell(Register(query=name, text=TEXT))
            assert engine.hear().reply == Registered(query=name)
        for element in ELEMENTS[:20]:
            engine.tell(Send(stream=STREAM.value, t=element.t, triples=triple_lines(element)))
        engine.tell(Unregister(query="one"))
        before = []
        while not isinstance(reply := engine.hear().reply, Unregistered):
            before.append(reply)
        for element in ELEMENTS[20:]:
            engine.tell(Send(stream=STREAM.value, t=element.t, triples=triple_lines(element)))
        engine.tell(End())
        after = []
        while not isinstance(reply := engine.hear().reply, Ended):
            after.append(reply)
    assert {reply.query for reply in before if isinstance(reply, Answer)} == {"one", "two"}
    assert {reply.query for reply in after if isinstance(reply, Answer)} == {"two"}

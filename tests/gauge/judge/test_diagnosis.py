"""Ten engines, one fault each, as real programs: each is diagnosed as just that, and a right one as nothing."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_DECIMAL
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.faults import FaultKind
from hydrograph_gauge.judge.judge_input import (
    DueAt,
    JudgeInput,
    due_at_close,
    due_at_trigger,
    engine_answer,
    expected_report,
)
from hydrograph_gauge.judge.judge_query import Judgement, judge_query
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports
from hydrograph_gauge.player import AsFastAsTaken, ByEventTime, Pace
from hydrograph_gauge.run_records import Key

BASE = "http://example.org/"
STREAM = Iri(f"{BASE}s")
TEXT = """PREFIX : <http://example.org/>
SELECT ?o ?v ?room FROM NAMED WINDOW :w ON :s [RANGE 1s STEP 500ms]
WHERE { WINDOW :w { ?o :value ?v . ?o :of ?thing } ?thing :in ?room }"""
QUERY = parse(TEXT)
FAULTY_ENGINE = Path(__file__).parents[1] / "engines" / "faulty_engine.py"
ROOMS = frozenset(Triple(Iri(f"{BASE}t{n}"), Iri(f"{BASE}in"), Iri(f"{BASE}room{n % 2}")) for n in range(7))


def elements(number: int, until: int, seed: int = 2) -> list[Element]:
    """Observations at times without a pattern, so that a border shows to the millisecond."""
    times = sorted(random.Random(seed).sample(range(until), number))
    return [
        Element.of(
            t,
            seq,
            Triple(Iri(f"{BASE}o{seq}"), Iri(f"{BASE}value"), Literal(f"{seq}.5", XSD_DECIMAL)),
            Triple(Iri(f"{BASE}o{seq}"), Iri(f"{BASE}of"), Iri(f"{BASE}t{seq % 7}")),
        )
        for seq, t in enumerate(times)
    ]


DENSE = tuple(elements(600, 8_000))


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("static") / "rooms.nt"
    lines = (f"<{r.subject.value}> <{r.predicate.value}> <{r.object.value}> .\n" for r in ROOMS)  # type: ignore[union-attr]
    file.write_text("".join(sorted(lines)))
    return str(file)


def play(rooms: str, fault: str, stream: tuple[Element, ...], pace: Pace, limits: Limits) -> SessionResult:
    task = SessionInput({"q": EngineQuery(TEXT, ("o", "v", "room"))}, {STREAM: stream}, {STREAM: pace}, {None: rooms})
    return run_session([sys.executable, str(FAULTY_ENGINE), fault], task, limits)


@cache
def due(stream: tuple[Element, ...]) -> list[Report]:
    return evaluate_reports(QUERY, {STREAM: stream}, StaticData(ROOMS))


def judged(
    played: SessionResult, stream: tuple[Element, ...], due_at: DueAt | None = None, *, gracious: bool = False
) -> Judgement:
    trial = JudgeInput(
        key=Key(test="planted", engine="planted", query="q"),
        due=[expected_report(report) for report in due(stream)],
        said=[engine_answer(block) for block in played.blocks["q"]],
        ending=played.outcomes.get("q"),
        due_at=due_at or due_at_trigger(played.handed),
        handed=played.handed,
        seconds=played.seconds,
        executions=played.executions["q"],
        samples=played.samples,
    )
    make: Callable[[], Evidence] = lambda: Evidence(QUERY, {STREAM: stream}, StaticData(ROOMS))  # noqa: E731
    return judge_query(trial, make, gracious=gracious)


@cache
def fast(rooms: str, fault: str, *, gracious: bool = False, limits: Limits | None = None) -> Judgement:
    found = play(rooms, fault, DENSE, AsFastAsTaken(), limits or Limits(seconds=60, output=3_000_000))
    return judged(found, DENSE, gracious=gracious)


@pytest.mark.parametrize("fault", ["none", "unnamed"])
def test_a_right_engine_has_no_fault(rooms: str, fault: str) -> None:
    found = fast(rooms, fault)
    assert found.faults == ()
    outcome = found.outcome
    assert (outcome.verdict, outcome.missing, outcome.extra) == ("ok", 0, 0)
    assert outcome.precision == outcome.recall == 1
    assert outcome.windows == outcome.right == outcome.non_empty == len(due(DENSE))
    assert outcome.delay_median is not None
    assert not any(window.missing or window.extra for window in found.windows)


@pytest.mark.parametrize(
    ("fault", "verdict", "diagnosis"),
    [
        ("drop", "wrong", "drops elements: 120 of 600 in the windows that are wrong, the first at 68 ms"),
        ("evict", "wrong", "evicts late: elements stay 300 ms too long"),
        ("shift", "wrong", "shifts windows by 400 ms, to later times"),
        ("duplicate", "wrong", "duplicates answers: rows come up to 2 times"),
        ("round", "wrong", "rounds numbers: to 0 digits after the point"),
        ("lazy", "wrong", "leaves windows unanswered: 5 of 16, the first at 2000 ms"),
        ("crash", "crash", "crashes: at window 3, exit code 9: out of ideas"),
        ("flood", "runtime error", "floods: more than 3000000 bytes in all"),
        (
            "garbage",
            "runtime error",
            'prints garbage: the line: Invalid JSON: expected value at line 1 column 1, in "Result: 42"',
        ),
    ],
)
def test_each_fault_is_diagnosed_as_just_that(rooms: str, fault: str, verdict: str, diagnosis: str) -> None:
    found = fast(rooms, fault)
    assert found.outcome.faults == (diagnosis,)
    assert found.outcome.verdict == verdict


def test_an_engine_that_hangs(rooms: str) -> None:
    found = fast(rooms, "hang", limits=Limits(seconds=8))
    assert [fault.kind for fault in found.faults] == [FaultKind.HANGS]
    assert found.faults[0].how.startswith("at window 3, silent for ")
    assert (found.outcome.verdict, found.outcome.phase) == ("timeout", "execution")


def test_an_engine_that_skips_input_while_it_is_busy(rooms: str) -> None:
    """It spends 0.3 s on each window, and drops elements that arrive meanwhile."""
    stream = tuple(elements(100, 4_000))
    found = judged(play(rooms, "slow", stream, ByEventTime(), Limits(seconds=60)), stream, due_at_close(stream[0].t))
    assert [fault.kind for fault in found.faults] == [FaultKind.SKIPS], found.outcome.faults
    assert found.outcome.delay_median is not None
    assert found.outcome.delay_median > 250


def test_gracious_judging_recovers_the_shift_to_one_timestamp(rooms: str) -> None:
    found = fast(rooms, "shift", gracious=True)
    times = [element.t for element in DENSE]
    assert len(found.windows) > 10
    for window in found.windows[:-2]:
        assert window.open is not None
        assert window.close is not None
        assert window.used_open == min(t for t in times if t >= window.open + 400)
        assert window.used_close == 1 + max(t for t in times if t < window.close + 400)
        assert window.precision == window.recall == 1


def test_missing_rows_are_blamed_on_the_triples_that_make_them(rooms: str) -> None:
    window = fast(rooms, "drop").windows[0]
    assert window.content == 2 * window.expected
    for each in window.missing[:3]:
        assert each.row[0] is not None
        assert len(each.triples) == 2
        assert all(triple.startswith(each.row[0]) for triple in each.triples)
    assert window.extra == ()

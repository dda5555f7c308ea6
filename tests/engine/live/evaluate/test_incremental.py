"""Incremental evaluation: new rows are joined with kept rows, none twice; the reports are those of replay (S36)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from sqlglot import exp

from hydrograph import api
from hydrograph.algebra.queries import StreamOperator
from hydrograph.algebra.windows import TimeWindow
from hydrograph.compile.inputs import Deduplication
from hydrograph.live.evaluate import choose, deltas, incremental
from hydrograph.live.evaluate.change_instants import ChangeInstants
from hydrograph.live.evaluate.choose import IncrementalWithFallback, choose_evaluation
from hydrograph.live.evaluate.deduplication import Deduplicator, TripleIntervals
from hydrograph.live.evaluate.deltas import NEW, split_program
from hydrograph.live.evaluate.incremental import MaterializedResults
from hydrograph.live.evaluate.incremental_r2s import IncrementalR2S
from hydrograph.live.step.evaluation import EvaluationStatus
from hydrograph.live.step.records import Lateness
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Facts, plan
from hydrograph.windows.profile import Origin
from hydrograph.windows.report import Policy, When
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Tick
from tests.support.live_histories import History, cut, lived, random_history, replayed
from tests.support.random_reports import random_report_case
from tests.support.step_harness import StepHarness

SEEDS = (1, 3, 5, 6, 9, 13, 15)
MISTAKEN = (13, 15)
"""Seeds that detect planted mistakes."""
S = Iri("urn:s")
JOIN = """
PREFIX : <urn:>
SELECT ?a ?b ?c FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s] WHERE { WINDOW :w { ?a :p ?b . ?b :q ?c } }
"""
COUNT = """
PREFIX : <urn:>
SELECT ?b (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s]
WHERE { WINDOW :w { ?a :p ?b . ?b :q ?c OPTIONAL { ?c :p ?d } } } GROUP BY ?b
"""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add rows with every batch, not only when a report needs them."""
    monkeypatch.setattr(incremental, "EAGER_ROWS", 1)
    monkeypatch.setattr(incremental, "WAITING_SHARE", 2**40)


def triple(s: str, p: str, o: str) -> Triple:
    return Triple(Iri(f"urn:{s}"), Iri(f"urn:{p}"), Iri(f"urn:{o}"))


class Run(StepHarness):
    """A query over one stream that is evaluated incrementally."""

    def give(self, *elements: tuple[int, Triple]) -> list[str]:
        at = self.record.decision.end.get(S.value, 0)
        units = self.send(*(Element.of(t, at + n, content) for n, (t, content) in enumerate(elements)))
        return [unit.text for unit in units]

    @property
    def kept(self) -> incremental.Incremental:
        """The evaluation, whose counters show how much work was done."""
        return incremental_of(self.stepper.evaluation)


def incremental_of(evaluation: EvaluationStatus) -> incremental.Incremental:
    assert isinstance(evaluation, IncrementalWithFallback)
    assert isinstance(evaluation.current, incremental.Incremental)
    return evaluation.current


def test_kept_rows_are_not_joined_again(placed: Local) -> None:
    run = Run.of_text(JOIN, placed)
    for t in range(0, 15_000, 300):
        run.give((t, triple(f"a{t}", "p", f"b{t % 700}")), (t, triple(f"b{t % 700}", "q", f"c{t}")))
    run.give((15_000, triple("a", "p", "b")))
    before = (dict(run.kept.counters.read), dict(run.kept.counters.made))
    assert run.kept.kept_rows > 60
    # The three triples of this second, and nothing of those before, are what the joins begin with.
    assert run.give((15_500, triple("b", "q", "c")), (16_000, triple("x", "p", "y")))
    read = Counter(run.kept.counters.read) - Counter(before[0])
    made = Counter(run.kept.counters.made) - Counter(before[1])
    assert max(read.values()) <= 3
    answer = run.kept.program.answer
    assert made[answer] == 1


def test_each_solution_is_computed_once_however_many_windows_show_it(placed: Local) -> None:
    run = Run.of_text(JOIN, placed)
    rows = 0
    for t in range(0, 30_000, 500):
        units = run.give((t, triple(f"a{t}", "p", f"b{t}")), (t, triple(f"b{t}", "q", f"c{t}")))
        rows += sum(unit.count('"a"') for unit in units)
    made = run.kept.counters.made[run.kept.program.answer]
    assert made == 59  # the last one waits for a report that needs it
    assert rows > 5 * made


@pytest.mark.usefixtures("at_once")
def test_kept_rows_are_bounded_however_many_batches_a_window_has(placed: Local) -> None:
    run, each = Run.of_text(JOIN, placed), 40
    for t in range(0, 25_000, 200):
        run.give(*[(t, triple(f"a{t}-{n}", "p", f"b{t}-{n}")) for n in range(each)])
    window = 50 * each
    assert window <= run.state.size <= 1.5 * window + 256
    assert len(run.state.runs[S]) < 40
    (repeats,) = run.kept.deduplicators.values()
    assert window <= len(repeats) <= 1.5 * window + 1024
    assert run.kept.kept_rows <= 1.5 * window + 1024
    assert max(len(kept.runs) for kept in run.kept.kept.values()) < 40


def test_too_many_rows_hand_over_to_whole_windows(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hand-over happens in the middle of a run, and the reports stay the same."""
    gave_up = 0
    for most in (0, 5):
        monkeypatch.setattr(incremental, "MAX_ROWS", most)
        for seed in (1, 5, 7):
            history = random_history(seed)
            assert lived(history, placed)[0] == replayed(history.case, placed), (most, seed)
    run = Run.of_text(JOIN, placed)
    for t in range(0, 15_000, 500):
        run.give((t, triple(f"a{t}", "p", f"b{t}")), (t, triple(f"b{t}", "q", f"c{t}")))
        gave_up += "rows of q0_window would have to be kept" in run.stepper.evaluation.description
    assert 0 < gave_up < 30
    assert run.record.reports > 0


@pytest.mark.parametrize("text", [JOIN, COUNT])
def test_every_delta_query_reads_new_rows_once(text: str) -> None:
    query = api.query(text)
    planned = plan(query.algebra, query.profile, 0)
    parts = split_program(planned.program(Facts({S: Deduplication.DONE}, broadcast=False)), {})
    joins = 0
    for step in parts.maintained:
        for select in step.query.find_all(exp.Select):
            sources = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]
            names = [source.name for source in sources if isinstance(source, exp.Table)]
            assert sum(name.endswith(NEW) for name in names) == 1, names
            joins += len(names) > 1
    assert joins >= 2
    assert bool({"group"} & {step.name.split("_")[1] for step in parts.rest.steps}) == (text == COUNT)


def test_deduplication_adds_each_report_of_a_triple_once() -> None:
    rng = Random("repeats")
    for _ in range(300):
        step, width = rng.choice((1, 2, 3)), rng.choice((1, 3, 4, 5, 10))
        repeats, covered = Deduplicator(), Counter[tuple[int, int]]()
        expected: set[tuple[int, int]] = set()
        for _ in range(rng.randrange(1, 6)):
            size = rng.randrange(1, 6)
            ids = np.array([rng.randrange(2) for _ in range(size)], np.int64)
            t = np.array([rng.randrange(20) for _ in range(size)], np.int64)
            lo, hi = t // step + 1, (t + width) // step + 1
            kept = lo < hi
            new = TripleIntervals((ids, ids, ids), t, lo, hi).where(kept)
            left, right, adds = repeats.cut(new)
            for which, start, end, there in zip(new.ids[0], left, right, adds, strict=True):
                covered.update((int(which), rank) for rank in range(start, end) if there)
            for which, start, end in zip(new.ids[0], new.lo, new.hi, strict=True):
                expected |= {(int(which), rank) for rank in range(start, end)}
        assert covered == Counter(expected)


@pytest.mark.usefixtures("at_once")
def test_rows_added_with_every_batch_give_the_reports_of_replay(placed: Local) -> None:
    ways: Counter[bool] = Counter()
    for seed in SEEDS:
        history = random_history(seed)
        found, _ = lived(history, placed)
        assert found == replayed(history.case, placed), seed
        ways[choose_evaluation(history.registered().plan.starting(0), history.static(), placed).keeps_rows] += 1
    assert min(ways[True], ways[False]) >= 2


def whole(history: History, placed: Local, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with monkeypatch.context() as patched:
        patched.setattr(choose, "why_whole_windows", lambda *_: "the test wants it")
        return lived(history, placed)[0]


def test_late_elements_count_as_they_do_with_whole_windows(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    late = 0
    for seed in SEEDS:
        case = random_history(seed).case
        history = cut(case, Random(seed), lateness=Lateness(delay=0))
        found, record = lived(history, placed)
        late += record.counts.late_partial
        assert found == whole(history, placed, monkeypatch), seed
    assert late >= 3


def changing(seed: int) -> History:
    """Return a history with reports on content change: each tick, with and without expiry, each operator."""
    rng = Random(f"changing {seed}")
    case = random_report_case(seed)
    windows = tuple(
        each
        if isinstance(each.definition, TimeWindow)
        else replace(each, definition=TimeWindow(rng.choice((3, 5, 8)), rng.choice((1, 2, 5, None))))
        for each in case.query.windows
    )
    profile = replace(
        case.profile,
        report=Policy(When.CONTENT_CHANGE, expiry=seed % 2 == 0),
        tick=Tick.TUPLE if seed // 2 % 2 else Tick.TIME,
        origin=Origin.EPOCH,
        r2s_set=seed % 5 == 0,
        evict=True,
    )
    operator = (StreamOperator.ISTREAM, StreamOperator.DSTREAM, StreamOperator.RSTREAM)[seed // 4 % 3]
    query = replace(case.query, windows=windows, operator=operator, every=None)
    case = replace(case, query=query, profile=profile, from_=None, until=None)
    return cut(case, rng, one_by_one=rng.random() < 0.3)


def test_reports_on_content_change_are_those_of_replay(placed: Local) -> None:
    kept: Counter[str] = Counter()
    for seed in range(12):
        history = changing(seed)
        planned = history.registered().plan
        evaluation = choose_evaluation(planned, history.static(), placed)
        assert evaluation.keeps_rows or "clock" in evaluation.description or "triples" in evaluation.description
        if evaluation.keeps_rows:
            kept[f"{planned.operator} {planned.tick} expiry {planned.profile.report.expiry}"] += 1
            results = incremental_of(evaluation).results
            kept["changes"] += isinstance(results, IncrementalR2S)
            kept["results"] += isinstance(results, MaterializedResults)
            kept["recomputed"] += isinstance(results, incremental.RecomputedResults)
        assert lived(history, placed)[0] == replayed(history.case, placed), seed
    assert len(kept) == 12 + 3
    assert all(kept.values()), kept


def test_late_elements_on_content_change_count_as_they_do_with_whole_windows(
    placed: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = 0
    for seed in (0, 2, 5):
        history = cut(changing(seed).case, Random(seed), lateness=Lateness(delay=0))
        found, record = lived(history, placed)
        late += record.counts.late_partial
        assert found == whole(history, placed, monkeypatch), seed
    assert late >= 3


CHANGES = replace(api.query(JOIN).profile, report=Policy(When.CONTENT_CHANGE), operator=StreamOperator.ISTREAM)


def test_the_work_of_a_report_on_content_change_follows_the_change(placed: Local) -> None:
    run = Run.of_text(JOIN, placed, CHANGES)
    for t in range(0, 9_000, 100):
        run.give((t, triple(f"a{t}", "p", f"b{t}")), (t, triple(f"b{t}", "q", f"c{t}")))
    before = dict(run.kept.counters.made), len(run.record.snapshot.counts())
    assert before[1] == 89  # the newest waits until its time is over
    (line,) = run.give((9_000, triple("x", "p", "y")))
    assert line.count('"a"') == 1
    assert run.record.snapshot.since(run.record.snapshot) == []
    made = Counter(run.kept.counters.made) - Counter(before[0])
    assert made[run.kept.program.answer] == 1
    assert run.record.snapshot.changed <= 256
    assert len(run.record.snapshot.entered) == 1


@pytest.mark.parametrize("mistake", ["leaves", "places"])
def test_mistakes_in_the_numbering_of_instants_are_detected(
    mistake: str, placed: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mistake == "places":
        one = lambda _, rows: {stream: np.ones(events.num_rows, np.int64) for stream, events in rows.items()}  # noqa: E731
        monkeypatch.setattr(ChangeInstants, "positions", one)
    else:
        monkeypatch.setattr(ChangeInstants, "pop_leaving", lambda *_: np.array([], np.int64))
    histories = (changing(seed) for seed in range(12))
    assert any(lived(history, placed)[0] != replayed(history.case, placed) for history in histories)


def differing(placed: Local) -> bool:
    """Tell whether the histories detect a mistake."""
    return any(lived(history, placed)[0] != replayed(history.case, placed) for history in map(random_history, MISTAKEN))


@pytest.mark.usefixtures("at_once")
def test_new_rows_joined_twice_are_detected(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "OLD", deltas.ALL)
    assert differing(placed)


@pytest.mark.usefixtures("at_once")
def test_repeated_triples_that_are_kept_are_detected(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deduplicator, "find_repeats", lambda _, keys: np.zeros(len(keys), bool))
    assert differing(placed)


@pytest.mark.usefixtures("at_once")
def test_rows_that_are_dropped_too_soon_are_detected(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    forget = incremental.MaterializedRows.forget
    monkeypatch.setattr(incremental.MaterializedRows, "forget", lambda runs, frontier: forget(runs, frontier + 1))
    assert differing(placed)

"""The step: late elements and their counters, times that are not believed, silent partitions, all forms of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pyarrow as pa
import pytest

from hydrograph.algebra.windows import TimeWindow
from hydrograph.language import parse
from hydrograph.live.checkpoint.codec import decode_outcome, encode
from hydrograph.live.step import quarantine
from hydrograph.live.step.input_batch import InputBatch, partition_of
from hydrograph.live.step.records import BatchOutcome, QueryRecord
from hydrograph.live.step.state import State
from hydrograph.live.step.stepper import QuerySpec, Stepper
from hydrograph.live.step.watermark import Lateness
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.runtime.reports import Report
from hydrograph.streams.static import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.scope import Grid
from hydrograph.windows.stream import Element
from tests.support.live_histories import cut, lived, replayed
from tests.support.random_cases import Case
from tests.support.random_data import Shape, random_stream
from tests.support.replay_adapter import encode_elements, encode_triples

STREAM, OTHER = Iri("urn:stream"), Iri("urn:other")
SELECT = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10 STEP 5] { WINDOW <urn:w> { ?s ?p ?o } }"


@pytest.fixture
def placed() -> Iterator[Local]:
    with Local(threads=1, small=True) as database:
        yield database


def element(t: int, seq: int) -> Element:
    return Element.of(t, seq, Triple(Iri(f"urn:e{seq}"), Iri("urn:p"), Iri("urn:o")))


class Played:
    """A query and the batches it has seen."""

    def __init__(self, placed: Local, text: str = SELECT, lateness: Lateness | None = None) -> None:
        """Register a query over streams of nothing so far."""
        query = parse(text.replace("RANGE 10 STEP 5", "RANGE 10ms STEP 5ms"))
        self.streams = list(dict.fromkeys(window.stream for window in query.windows))
        registered = QuerySpec(
            name="query",
            plan=plan(query, RSPQL, 0),
            lateness=lateness or Lateness(),
            partitions=tuple(map(partition_of, self.streams)),
        )
        placed.forget()
        self.stepper = Stepper(registered, StaticGraphs(), placed)
        self.state, self.record = State(), QueryRecord()
        self.reports: list[Report] = []
        self.log: list[InputBatch] = []

    def take(self, *elements: Element, stream: Iri = STREAM, idle: Sequence[str] = (), end: bool = False) -> None:
        start = self.record.decision.end.get(partition_of(stream), 0)
        table = encode_elements(elements) if elements else None
        arrivals = [] if table is None else [InputBatch(stream, table, start, start + len(elements))]
        self.log += arrivals
        ended = [partition_of(each) for each in self.streams] if end else []
        decision = self.stepper.decide(self.state, arrivals, self.record, idle=idle, ended=ended)
        self.state, units, self.record = self.stepper.work(self.state, arrivals, self.record, decision)
        self.reports += [unit.report for unit in units]

    def seen(self) -> list[tuple[int, list[str]]]:
        """Return time and elements of each report."""
        return [(report.t, sorted(str(row[0])[5:-1] for row in report.rows)) for report in self.reports]


def test_a_late_element_counts_in_the_windows_that_are_not_settled(placed: Local) -> None:
    #    0    5    10   15   20   25
    #    [---------)              2 comes when [0, 10) is settled: it counts in [5, 15)
    #         [---------)
    played = Played(placed)
    played.take(element(1, 0))
    played.take(element(12, 1))
    played.take(element(7, 2))
    played.take(element(3, 3))  # only in [0, 10) and before: too late for all
    played.take(end=True)
    assert played.seen() == [(10, ["e0"]), (15, ["e1", "e2"]), (20, ["e1"])]
    counts = played.record.counts
    assert (counts.used, counts.late_partial, counts.late_dropped) == (2, 1, 1)


def test_late_elements_by_brute_force(placed: Local) -> None:
    rng = Random(11)
    for seed in range(12):
        grid = Grid.of(TimeWindow(10, 5))
        elements = random_stream(Random(seed), Shape(40, 0, 60, disorder=25))
        played = Played(placed, lateness=Lateness(delay=2))
        visible: dict[int, set[int]] = {}
        totals = {"used": 0, "late_partial": 0, "late_dropped": 0}
        done, newest, left = 0, -(10**9), list(elements)
        while left:
            number = rng.randrange(1, 6)
            batch, left = left[:number], left[number:]
            for each in batch:
                ranks = [k for k in grid.ranks(each.t) if k >= done]
                kind = (
                    "late_dropped" if not ranks else "used" if len(ranks) == len(grid.ranks(each.t)) else "late_partial"
                )
                totals[kind] += 1
                for k in ranks:
                    visible.setdefault(k, set()).add(each.seq)
            newest = max(newest, *(each.t for each in batch))
            done = max(done, (newest - 2 - grid.first_close) // grid.step + 1, 0)
            played.take(*batch)
        played.take(end=True)
        by_seq = {each.seq: each for each in elements}
        for k, report in enumerate(played.reports, min(visible)):
            triples = {triple for seq in visible.get(k, ()) for triple in by_seq[seq].triples}
            assert report.t == grid.close(k), seed
            assert len(report.rows) == len(triples), (seed, k)
        counts = played.record.counts
        assert {name: getattr(counts, name) for name in totals} == totals, seed
        assert counts.total == len(elements)


def test_a_time_in_the_future_is_held_back_until_others_agree(placed: Local) -> None:
    played = Played(placed, lateness=Lateness(max_ahead=100, agreeing=2))
    played.take(element(1, 0))
    played.take(element(10_000, 1))
    played.take(element(12, 2))
    assert played.seen() == [(10, ["e0"])]
    assert played.record.decision.held_back == {STREAM.value: (1,)}
    assert played.record.counts.total == 2
    played.take(element(10_001, 3), element(10_002, 4))
    assert not played.record.decision.held_back
    played.take(end=True)
    assert played.seen()[-1] == (10_010, ["e1", "e3", "e4"])
    assert played.record.counts.total == played.record.counts.used == 5


def test_the_first_element_is_always_believed(placed: Local) -> None:
    played = Played(placed, lateness=Lateness(max_ahead=100))
    played.take(element(10**12, 0))
    played.take(end=True)
    assert len(played.reports) == 2


TWO = """SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10 STEP 5]
FROM NAMED WINDOW <urn:v> ON <urn:other> [RANGE 10 STEP 5]
{ { WINDOW <urn:w> { ?s ?p ?o } } UNION { WINDOW <urn:v> { ?s ?p ?o } } }"""


def test_a_silent_stream_holds_time_up_until_it_is_idle(placed: Local) -> None:
    played = Played(placed, TWO)
    played.take(element(1, 0))
    played.take(element(30, 1))
    assert played.seen() == []
    played.take(element(31, 2), idle=[OTHER.value])
    assert [t for t, _ in played.seen()] == [10, 15, 20, 25, 30]
    played.take(element(2, 3), stream=OTHER)
    assert played.record.counts.late_dropped == 1


def test_when_all_is_silent_the_windows_that_hold_something_close(placed: Local) -> None:
    played = Played(placed)
    played.take(element(12, 0))
    assert played.seen() == []
    played.take(idle=[STREAM.value])
    assert played.seen() == [(15, ["e0"]), (20, ["e0"])]
    played.take(element(14, 1))
    played.take(element(22, 2), end=True)
    assert played.seen()[2:] == [(25, ["e2"]), (30, ["e2"])]
    assert played.record.counts.late_dropped == 1


def test_state_is_bounded(placed: Local) -> None:
    played = Played(placed, lateness=Lateness(delay=5))
    most = 0
    for t in range(0, 600, 3):
        played.take(element(t, t))
        most = max(most, played.state.size)
    assert most < 60
    assert played.record.oldest[STREAM.value] > 150


def test_elements_outside_of_time_are_rejected(placed: Local) -> None:
    played = Played(placed)
    played.take(element(2**62, 0), element(1, 1))
    played.take(end=True)
    assert played.record.counts.rejected == 1
    assert played.seen() == [(10, ["e1"])]


FORMS = {
    "ask": "ASK {W}",
    "construct": "CONSTRUCT { ?s <urn:is> ?o . _:b <urn:of> ?s } {W}",
    "changes": "REGISTER ISTREAM <urn:q> AS CONSTRUCT { ?s <urn:is> ?o . _:b <urn:of> ?s } {W}",
    "leaving": "REGISTER DSTREAM <urn:q> AS CONSTRUCT { ?s <urn:is> ?o } {W}",
    "describe": "DESCRIBE ?s {W}",
    "ordered": "SELECT ?s ?o {W} ORDER BY DESC(?o) ?s LIMIT 3",
    "path": "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10ms STEP 5ms] "
    "{ WINDOW <urn:w> { ?s <http://example.org/p0>+ ?o } }",
}
WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10ms STEP 5ms] WHERE { WINDOW <urn:w> { ?s ?p ?o } }"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_query_gives_what_replay_gives(form: str, placed: Local) -> None:
    query = parse(FORMS[form].replace("{W}", WINDOW))
    for seed in range(2):
        elements = {STREAM: random_stream(Random(seed), Shape(20, 0, 40))}
        case = Case(seed, query, elements)
        expected = replayed(case, placed)
        for one_by_one in (False, True):
            found, _ = lived(cut(case, Random(seed), one_by_one=one_by_one), placed)
            assert found == expected, (form, seed)


def test_static_data_is_replaced_between_reports(placed: Local) -> None:
    text = """SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10 STEP 10]
    { WINDOW <urn:w> { ?s <urn:p> ?x } ?x <urn:q> ?o }"""
    played = Played(placed, text.replace("RANGE 10 STEP 10", "RANGE 10ms STEP 10ms"))

    def static(name: str) -> StaticGraphs:
        return StaticGraphs(encode_triples([Triple(Iri("urn:o"), Iri("urn:q"), Iri(name))]))

    played.stepper.static = static("urn:first")
    played.take(element(1, 0))
    played.take(element(12, 1))
    played.stepper.replace_static(static("urn:second"))
    played.take(element(21, 2))
    assert [report.rows[0][1] for report in played.reports] == ["<urn:first>", "<urn:second>"]


def test_an_element_that_comes_again_is_one_row(placed: Local) -> None:
    played = Played(placed)
    again = Element.of(3, 1, Triple(Iri("urn:e0"), Iri("urn:p"), Iri("urn:o")))
    played.take(element(1, 0), again)
    played.take(element(30, 2))
    assert played.seen()[0] == (10, ["e0"])
    assert isinstance(played.state.rows(STREAM), pa.Table)


AHEAD = 1_000
"""Further than any element is believed to be; every 5 ms until there are a report when it is."""


def poisoned(placed: Local) -> Played:
    """Return a query that has seen one element far ahead, and many windows since."""
    played = Played(placed, lateness=Lateness(delay=5, max_ahead=100))
    played.take(element(0, 0))
    played.take(element(AHEAD, 1))
    for t in range(3, 600, 3):
        played.take(element(t, t))
    return played


def restarted(played: Played) -> Played:
    """Let a query go on from what a checkpoint has of it: its record, and a log that begins where that says."""
    outcome = BatchOutcome(records={"query": played.record})
    played.record = decode_outcome(encode(outcome, {}), {}).records["query"]
    name = STREAM.value
    oldest = played.record.oldest[name]
    log = [arrival for arrival in played.log if arrival.start >= oldest]
    played.state = played.stepper.rebuilt(played.record, log)
    return played


@pytest.mark.parametrize("restart", [False, True])
def test_an_element_that_is_held_back_does_not_keep_the_log(restart: bool, placed: Local) -> None:
    played = poisoned(placed)
    assert played.record.decision.held_back == {STREAM.value: (1,)}
    assert played.state.size < 60
    assert played.record.oldest[STREAM.value] > 150
    if restart:
        restarted(played)
    for number in range(3):
        assert played.record.decision.held_back
        played.take(element(AHEAD + number, 1_000 + number))
    assert not played.record.decision.held_back
    assert [each.waits for each in played.record.carried] == [False]  # believed, but the log has forgotten it
    if restart:
        restarted(played)
    played.take(end=True)
    assert played.seen()[-1][1] == ["e1", "e1000", "e1001", "e1002"]
    assert played.record.counts.total == played.record.counts.used == 200 + 4


@pytest.mark.parametrize("restart", [False, True])
def test_what_is_believed_soon_is_in_the_log_like_any_other(restart: bool, placed: Local) -> None:
    played = Played(placed, lateness=Lateness(delay=5, max_ahead=100, agreeing=1))
    played.take(element(0, 0))
    played.take(element(500, 1), element(2, 2))
    played.take(element(501, 3))
    assert played.record.carried == ()
    if restart:
        restarted(played)
    played.take(end=True)
    assert played.seen()[-1] == (510, ["e1", "e3"])


def test_few_elements_are_held_back_and_the_others_are_rejected(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "MOST", 10)
    played = Played(placed, lateness=Lateness(delay=5, max_ahead=20))
    played.take(element(0, 0))
    for number in range(1, 21):
        played.take(element(3 * number, number), element(AHEAD + 30 * number, 1_000 + number))
    assert played.record.decision.held_back == {STREAM.value: tuple(range(1_011, 1_021))}
    assert (played.record.counts.rejected, played.record.counts.used) == (10, 21)
    # Those that were refused and still stand in the log stay so when time comes to where they were.
    played.take(*(element(AHEAD + 30 * 18 + 5 + number, 2_000 + number) for number in range(4)))
    assert played.record.decision.held_back == {STREAM.value: (1_019, 1_020)}
    state = set(played.state.rows(STREAM).column("seq").to_pylist())
    restarted(played)
    assert set(played.state.rows(STREAM).column("seq").to_pylist()) == state
    played.take(end=True)
    shown = {name for _, names in played.seen() for name in names}
    assert not shown & {f"e{number}" for number in range(1_001, 1_011)}
    assert played.record.counts.total + 2 == 21 + 20 + 4  # two are ahead still


def test_one_that_is_alone_with_its_time_does_not_keep_others_from_being_believed(placed: Local) -> None:
    played = Played(placed, lateness=Lateness(max_ahead=100, agreeing=2))
    played.take(element(1, 0))
    played.take(element(500, 1))
    played.take(element(10_000, 2), element(10_001, 3), element(10_002, 4), element(20_000, 5))
    assert played.record.decision.held_back == {STREAM.value: (5,)}
    assert played.record.decision.newest == {STREAM.value: 10_002}

"""Step: late elements and their counters, quarantine, idle partitions, static data, and all query forms."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from hydrograph.algebra.windows import TimeWindow
from hydrograph.language import parse
from hydrograph.live.step import quarantine
from hydrograph.live.step.records import Lateness
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.scope import Grid
from hydrograph.windows.stream import Element
from tests.support.live_histories import cut, lived, replayed
from tests.support.random_cases import Case
from tests.support.random_data import Shape, random_stream
from tests.support.replay_adapter import encode_triples
from tests.support.step_harness import StepHarness

STREAM, OTHER = Iri("urn:stream"), Iri("urn:other")
SELECT = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10 STEP 5] { WINDOW <urn:w> { ?s ?p ?o } }"


def element(t: int, seq: int) -> Element:
    return Element.of(t, seq, Triple(Iri(f"urn:e{seq}"), Iri("urn:p"), Iri("urn:o")))


def harness(placed: Local, text: str = SELECT, lateness: Lateness | None = None) -> StepHarness:
    return StepHarness.of_text(text.replace("RANGE 10 STEP 5", "RANGE 10ms STEP 5ms"), placed, RSPQL, lateness)


def test_a_late_element_counts_in_the_windows_that_are_not_settled(placed: Local) -> None:
    #    0    5    10   15   20   25
    #    [---------)              2 comes when [0, 10) is settled: it counts in [5, 15)
    #         [---------)
    played = harness(placed)
    played.send(element(1, 0))
    played.send(element(12, 1))
    played.send(element(7, 2))
    played.send(element(3, 3))  # only in [0, 10) and before: too late for all
    played.send(end=True)
    assert played.subjects() == [(10, ["e0"]), (15, ["e1", "e2"]), (20, ["e1"])]
    counts = played.record.counts
    assert (counts.used, counts.late_partial, counts.late_dropped) == (2, 1, 1)


def test_late_elements_are_counted_and_shown_as_a_brute_force_model_expects(placed: Local) -> None:
    rng = Random(11)
    for seed in range(12):
        grid = Grid.of(TimeWindow(10, 5))
        elements = random_stream(Random(seed), Shape(40, 0, 60, disorder=25))
        played = harness(placed, lateness=Lateness(delay=2))
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
            played.send(*batch)
        played.send(end=True)
        by_seq = {each.seq: each for each in elements}
        for k, report in enumerate(played.reports, min(visible)):
            triples = {triple for seq in visible.get(k, ()) for triple in by_seq[seq].triples}
            assert report.t == grid.close(k), seed
            assert len(report.rows) == len(triples), (seed, k)
        counts = played.record.counts
        assert {name: getattr(counts, name) for name in totals} == totals, seed
        assert counts.total == len(elements)


def test_an_element_ahead_of_time_waits_in_quarantine_until_others_agree(placed: Local) -> None:
    played = harness(placed, lateness=Lateness(max_ahead=100, agreeing=2))
    played.send(element(1, 0))
    played.send(element(10_000, 1))
    played.send(element(12, 2))
    assert played.subjects() == [(10, ["e0"])]
    assert played.record.decision.held_back == {STREAM.value: (1,)}
    assert played.record.counts.total == 2
    played.send(element(10_001, 3), element(10_002, 4))
    assert not played.record.decision.held_back
    played.send(end=True)
    assert played.subjects()[-1] == (10_010, ["e1", "e3", "e4"])
    assert played.record.counts.total == played.record.counts.used == 5


def test_the_time_of_the_first_element_is_always_plausible(placed: Local) -> None:
    played = harness(placed, lateness=Lateness(max_ahead=100))
    played.send(element(10**12, 0))
    played.send(end=True)
    assert len(played.reports) == 2


TWO = """SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10 STEP 5]
FROM NAMED WINDOW <urn:v> ON <urn:other> [RANGE 10 STEP 5]
{ { WINDOW <urn:w> { ?s ?p ?o } } UNION { WINDOW <urn:v> { ?s ?p ?o } } }"""


def test_a_stream_without_elements_holds_the_watermark_until_it_is_idle(placed: Local) -> None:
    played = harness(placed, TWO)
    played.send(element(1, 0))
    played.send(element(30, 1))
    assert played.subjects() == []
    played.send(element(31, 2), idle=[OTHER.value])
    assert [t for t, _ in played.subjects()] == [10, 15, 20, 25, 30]
    played.send(element(2, 3), stream=OTHER)
    assert played.record.counts.late_dropped == 1


def test_windows_with_elements_close_when_all_partitions_are_idle(placed: Local) -> None:
    played = harness(placed)
    played.send(element(12, 0))
    assert played.subjects() == []
    played.send(idle=[STREAM.value])
    assert played.subjects() == [(15, ["e0"]), (20, ["e0"])]
    played.send(element(14, 1))
    played.send(element(22, 2), end=True)
    assert played.subjects()[2:] == [(25, ["e2"]), (30, ["e2"])]
    assert played.record.counts.late_dropped == 1


def test_rows_that_no_window_needs_are_pruned(placed: Local) -> None:
    played = harness(placed, lateness=Lateness(delay=5))
    most = 0
    for t in range(0, 600, 3):
        played.send(element(t, t))
        most = max(most, played.state.size)
    assert most < 60
    assert played.record.oldest[STREAM.value] > 150


def test_elements_with_invalid_times_are_rejected(placed: Local) -> None:
    played = harness(placed)
    played.send(element(2**62, 0), element(1, 1))
    played.send(end=True)
    assert played.record.counts.rejected == 1
    assert played.subjects() == [(10, ["e1"])]


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
def test_every_query_form_reports_what_replay_reports(form: str, placed: Local) -> None:
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
    played = harness(placed, text.replace("RANGE 10 STEP 10", "RANGE 10ms STEP 10ms"))

    def static(name: str) -> StaticGraphs:
        return StaticGraphs(encode_triples([Triple(Iri("urn:o"), Iri("urn:q"), Iri(name))]))

    played.stepper.static = static("urn:first")
    played.send(element(1, 0))
    played.send(element(12, 1))
    played.stepper.replace_static(static("urn:second"))
    played.send(element(21, 2))
    assert [report.rows[0][1] for report in played.reports] == ["<urn:first>", "<urn:second>"]


def test_a_triple_that_arrives_twice_is_one_row(placed: Local) -> None:
    played = harness(placed)
    again = Element.of(3, 1, Triple(Iri("urn:e0"), Iri("urn:p"), Iri("urn:o")))
    played.send(element(1, 0), again)
    played.send(element(30, 2))
    assert played.subjects()[0] == (10, ["e0"])
    assert isinstance(played.state.rows(STREAM), pa.Table)


AHEAD = 1_000
"""A time too far ahead to be plausible; once it is, there is a report every 5 ms until then."""


def with_element_ahead(placed: Local) -> StepHarness:
    """Return a query with one element in quarantine, many windows later."""
    played = harness(placed, lateness=Lateness(delay=5, max_ahead=100))
    played.send(element(0, 0))
    played.send(element(AHEAD, 1))
    for t in range(3, 600, 3):
        played.send(element(t, t))
    return played


@pytest.mark.parametrize("restart", [False, True])
def test_an_element_in_quarantine_does_not_hold_the_log(restart: bool, placed: Local) -> None:
    played = with_element_ahead(placed)
    assert played.record.decision.held_back == {STREAM.value: (1,)}
    assert played.state.size < 60
    assert played.record.oldest[STREAM.value] > 150
    if restart:
        played.restart()
    for number in range(3):
        assert played.record.decision.held_back
        played.send(element(AHEAD + number, 1_000 + number))
    assert not played.record.decision.held_back
    assert [each.waits for each in played.record.carried] == [False]  # released, but the log is truncated behind it
    if restart:
        played.restart()
    played.send(end=True)
    assert played.subjects()[-1][1] == ["e1", "e1000", "e1001", "e1002"]
    assert played.record.counts.total == played.record.counts.used == 200 + 4


@pytest.mark.parametrize("restart", [False, True])
def test_an_element_released_soon_is_read_from_the_log_like_any_other(restart: bool, placed: Local) -> None:
    played = harness(placed, lateness=Lateness(delay=5, max_ahead=100, agreeing=1))
    played.send(element(0, 0))
    played.send(element(500, 1), element(2, 2))
    played.send(element(501, 3))
    assert played.record.carried == ()
    if restart:
        played.restart()
    played.send(end=True)
    assert played.subjects()[-1] == (510, ["e1", "e3"])


def test_a_full_quarantine_rejects_the_oldest_elements(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "MAX_ELEMENTS", 10)
    played = harness(placed, lateness=Lateness(delay=5, max_ahead=20))
    played.send(element(0, 0))
    for number in range(1, 21):
        played.send(element(3 * number, number), element(AHEAD + 30 * number, 1_000 + number))
    assert played.record.decision.held_back == {STREAM.value: tuple(range(1_011, 1_021))}
    assert (played.record.counts.rejected, played.record.counts.used) == (10, 21)
    # Elements that were refused and are still in the log stay refused when time reaches them.
    played.send(*(element(AHEAD + 30 * 18 + 5 + number, 2_000 + number) for number in range(4)))
    assert played.record.decision.held_back == {STREAM.value: (1_019, 1_020)}
    state = set(played.state.rows(STREAM).column("seq").to_pylist())
    played.restart()
    assert set(played.state.rows(STREAM).column("seq").to_pylist()) == state
    played.send(end=True)
    shown = {name for _, names in played.subjects() for name in names}
    assert not shown & {f"e{number}" for number in range(1_001, 1_011)}
    assert played.record.counts.total + 2 == 21 + 20 + 4  # two are still in quarantine


def test_a_single_outlier_does_not_keep_later_elements_in_quarantine(placed: Local) -> None:
    played = harness(placed, lateness=Lateness(max_ahead=100, agreeing=2))
    played.send(element(1, 0))
    played.send(element(500, 1))
    played.send(element(10_000, 2), element(10_001, 3), element(10_002, 4), element(20_000, 5))
    assert played.record.decision.held_back == {STREAM.value: (5,)}
    assert played.record.decision.newest == {STREAM.value: 10_002}

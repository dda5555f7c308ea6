"""Limit of reports per batch: the others follow in batches without input, and are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hydrograph.language import parse
from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.driver.query_registry import RegisteredQuery
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.step import watermark as decision
from hydrograph.live.step.records import InputBatch, QuerySpec, ResultUnit, UnitKey, partition_of
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.report import Policy, When
from hydrograph.windows.stream import Element
from tests.support.live_faults import MemoryFiles, MemorySource, memory_input
from tests.support.live_histories import lived, random_history, replayed
from tests.support.replay_adapter import encode_elements

STREAM = Iri("urn:stream")
QUERY = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10ms STEP 5ms] { WINDOW <urn:w> { ?s ?p ?o } }"
YEAR = 365 * 86_400_000


class Driven:
    """A query over elements of some times; its checkpoint stays when `start` is called again, as after a crash."""

    def __init__(self, times: Sequence[int], profile: Profile = RSPQL) -> None:
        """Let all elements be there from the beginning."""
        triples = [Triple(Iri(f"urn:e{number}"), Iri("urn:p"), Iri("urn:o")) for number in range(len(times))]
        elements = [Element.of(t, number, triples[number]) for number, t in enumerate(times)]
        arrivals = [InputBatch(STREAM, encode_elements([each]), n, n + 1) for n, each in enumerate(elements)]
        self.source = MemorySource(arrivals)
        self.source.there = len(times)
        self.files, self.profile, self.now = MemoryFiles(), profile, 0.0
        self.units: dict[UnitKey, ResultUnit] = {}
        self.most = 0
        """The most reports of one batch."""

    def start(self, placed: Local) -> BatchLoop:
        placed.forget()
        registered = QuerySpec(
            name="query", plan=plan(parse(QUERY), self.profile, 0), partitions=(partition_of(STREAM),)
        )
        member = RegisteredQuery(Stepper(registered, StaticGraphs(), EvaluationChoice(placed)))
        runner = BatchLoop(
            member,
            [memory_input(STREAM, self.source)],
            self.files,
            outs=[lambda unit: self.units.__setitem__(unit.key, unit)],
            idle_after=5.0,
            clock=lambda: self.now,
        )
        runner.open()
        return runner

    def once(self, runner: BatchLoop) -> bool:
        before = runner.queries["query"].record.reports
        worked = runner.run_once()
        self.most = max(self.most, runner.queries["query"].record.reports - before)
        return worked

    @property
    def times(self) -> list[int]:
        return [unit.report.t for unit in self.units.values()]


@pytest.mark.parametrize("most", [1, 4])
def test_any_limit_gives_the_reports_of_replay(placed: Local, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(decision, "MAX_REPORTS", most)
    for seed in range(1000, 1012):
        history = random_history(seed)
        expected = replayed(history.case, placed)
        found, record = lived(history, placed)
        assert found == expected, seed
        assert record.counts.late_partial == record.counts.late_dropped == 0, seed


@pytest.mark.parametrize("policy", [Policy(), Policy(when=When.PERIODIC, period=5)])
def test_reports_due_after_a_long_silence_are_spread_over_batches(
    placed: Local, monkeypatch: pytest.MonkeyPatch, policy: Policy
) -> None:
    monkeypatch.setattr(decision, "MAX_REPORTS", 100)
    driven = Driven([1, 5_000, 5_001], replace(RSPQL, report=policy))
    runner = driven.start(placed)
    while driven.once(runner):
        pass
    behind = [*driven.times]
    assert behind == list(range(behind[0], 5_001, 5))
    assert 1 < driven.most <= 102
    driven.now = 10.0  # all partitions are idle: the last windows close, and nothing is left
    assert driven.once(runner)
    assert not driven.once(runner)
    assert max(driven.times) in range(5_005, 5_016)


def test_a_restart_between_these_batches_continues_with_the_next(
    placed: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision, "MAX_REPORTS", 100)
    driven = Driven([1, 5_000])
    runner = driven.start(placed)
    for _ in range(3):
        assert driven.once(runner)
    assert 200 < len(driven.units) <= 303
    runner = driven.start(placed)
    while driven.once(runner):
        pass
    assert driven.times == list(range(10, 5_001, 5))


def test_a_year_of_silence_does_not_fill_the_memory(placed: Local) -> None:
    driven = Driven([1, YEAR])
    runner = driven.start(placed)
    for _ in range(3):
        assert driven.once(runner)
    assert driven.most == decision.MAX_REPORTS
    assert len(driven.units) == 3 * decision.MAX_REPORTS

"""What the judge says about answers as a session returns them."""

from __future__ import annotations

from collections.abc import Sequence

from hydrograph_gauge.judge.blocks import Block
from hydrograph_gauge.judge.judge_input import Trial, due_of, from_close, said_of
from hydrograph_gauge.judge.judge_query import Judgement, judge
from hydrograph_gauge.oracle.evaluate import Report
from hydrograph_gauge.results import Key, Outcome


def judged(reports: Sequence[Report], blocks: Sequence[Block], speed: float = 1.0) -> Judgement:
    """Judge answers to a query of a stream that was played by event time."""
    key = Key(test="test", engine="engine", query="q")
    due, said = [due_of(report) for report in reports], [said_of(block) for block in blocks]
    return judge(Trial(key=key, due=due, said=said, due_at=from_close(speed=speed)))


def outcome(reports: Sequence[Report], blocks: Sequence[Block]) -> Outcome:
    """Return what became of the query as a whole."""
    return judged(reports, blocks).outcome

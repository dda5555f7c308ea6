"""Judgement of answers in the form in which a session returns them."""

from __future__ import annotations

from collections.abc import Sequence

from hydrograph_gauge.engines.outcome import AnswerBlock
from hydrograph_gauge.judge.judge_input import JudgeInput, due_at_close, engine_answer, expected_report
from hydrograph_gauge.judge.judge_query import Judgement, judge_query
from hydrograph_gauge.oracle.evaluate import Report
from hydrograph_gauge.run_records import Key, OutcomeRecord


def judge_answers(reports: Sequence[Report], blocks: Sequence[AnswerBlock], speed: float = 1.0) -> Judgement:
    """Judge answers to a query of a stream that was played by event time."""
    key = Key(test="test", engine="engine", query="q")
    due, said = [expected_report(report) for report in reports], [engine_answer(block) for block in blocks]
    return judge_query(JudgeInput(key=key, due=due, said=said, due_at=due_at_close(speed=speed)))


def outcome_of(reports: Sequence[Report], blocks: Sequence[AnswerBlock]) -> OutcomeRecord:
    """Return the outcome of the query as a whole."""
    return judge_answers(reports, blocks).outcome

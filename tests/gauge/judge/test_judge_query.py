"""The judge on answers made by hand: eager engines by slides, answers that name no time, delays, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from hydrograph.rdf.terms import Iri
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.outcome import Outcome, Phase, Verdict
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.judge.faults import FaultKind
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport, JudgeInput, due_at_close, due_at_trigger
from hydrograph_gauge.judge.judge_query import judge_query
from hydrograph_gauge.judge.pairing import pair_answers
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import Key, RowText

KEY = Key(test="by hand", engine="none", query="q")


def rows(texts: str) -> Counter[RowText]:
    return Counter((f'"{text}"',) for text in texts)


def window(close: int, texts: str) -> ExpectedReport:
    return ExpectedReport(close, close - 1000, close, rows(texts))


def event(t: int, texts: str) -> ExpectedReport:
    return ExpectedReport(t, None, None, rows(texts), seq=t)


def said(at: float, texts: str, t: int | None = None) -> EngineAnswer:
    return EngineAnswer(at, rows(texts), t)


def pictured(due: Sequence[ExpectedReport], answers: Sequence[EngineAnswer]) -> str:
    return " ".join(
        f"{'' if d is None else d.t // 1000}={'' if s is None else ''.join(sorted(str(r[0])[1] for r in s.rows))}"
        for d, s in pair_answers(due, answers).pairs
    )


DUE = [window(1000, "ab"), window(2000, "bc"), window(3000, "cd"), window(4000, "de")]


@pytest.mark.parametrize(
    ("answers", "picture"),
    [
        (["ab", "bc", "cd", "de"], "1=ab 2=bc 3=cd 4=de"),
        (["ab", "cd", "de"], "1=ab 2= 3=cd 4=de"),  # one was left out
        (["ab", "bc", "bc", "cd", "de"], "1=ab 2=bc =bc 3=cd 4=de"),  # one came twice
        (["b", "de"], "1=b 2= 3= 4=de"),
        ([], "1= 2= 3= 4="),
    ],
)
def test_answers_without_a_time_are_paired_with_what_they_fit(answers: list[str], picture: str) -> None:
    assert pictured(DUE, [said(10 * n, texts) for n, texts in enumerate(answers)]) == picture


def test_an_eager_engine_is_judged_by_slides_and_overall() -> None:
    """Of six rows one does not come, one comes twice, and one was never expected."""
    due = [event(100, "a"), event(400, "b"), event(1200, "c"), event(1700, "d"), event(1700, "e"), event(2500, "f")]
    answers = [said(110, "a"), said(420, "b"), said(1230, "c"), said(1250, "c"), said(1715, "e"), said(2600, "fx")]
    handed = [Handed(Iri("urn:s"), Element.of(d.t, d.t), d.t, float(d.t)) for d in due]
    found = judge_query(JudgeInput(key=KEY, due=due, said=answers, slide=1000, due_at=due_at_trigger(handed)))
    shown = [(w.open, w.close, w.expected, w.actual, w.precision, w.recall, w.delay) for w in found.windows]
    assert shown == [
        (0, 1000, 2, 2, 1.0, 1.0, 15.0),
        (1000, 2000, 3, 3, 2 / 3, 2 / 3, 22.5),
        (2000, 3000, 1, 2, 0.5, 1.0, 100.0),
    ]
    assert (found.outcome.missing, found.outcome.extra, found.outcome.output) == (1, 2, 7)
    assert found.outcome.verdict == "wrong"


def test_an_eager_engine_that_says_rows_again() -> None:
    due = [event(100, "a"), event(400, "b")]
    found = judge_query(JudgeInput(key=KEY, due=due, said=[said(1, "a"), said(2, "ab"), said(3, "b")], slide=1000))
    assert [fault.kind for fault in found.faults] == [FaultKind.REPEATS]
    right = judge_query(JudgeInput(key=KEY, due=due, said=[said(1, "a"), said(2, "b")], slide=1000))
    assert (right.faults, right.outcome.verdict, right.outcome.precision) == ((), "ok", 1.0)


def test_numbers_of_eager_engines_are_equal_by_value() -> None:
    def number(text: str) -> Counter[RowText]:
        return Counter([(f'"{text}"^^<http://www.w3.org/2001/XMLSchema#decimal>',)])

    trial = JudgeInput(
        key=KEY, due=[ExpectedReport(5, None, None, number("1.50"))], said=[EngineAnswer(6, number("1.5"))], slide=10
    )
    assert judge_query(trial).outcome.verdict == "ok"


def test_answers_to_no_report_are_the_last_one_again_or_something_else() -> None:
    answers = [said(1, "ab"), said(2, "bc"), said(3, "bc"), said(4, "cd"), said(5, "de"), said(6, "xyz")]
    found = judge_query(JudgeInput(key=KEY, due=DUE, said=answers))
    assert found.outcome.faults == (
        "duplicates answers: 1 executions came twice",
        "answers where nothing was asked: 1 times",
    )


def test_delays_count_from_the_close_or_from_the_element_that_shows_it() -> None:
    answers = [said(1300, "ab", 1000), said(2100, "bc", 2000), said(3050, "cd", 3000), said(4050, "de", 4000)]
    by_close = judge_query(JudgeInput(key=KEY, due=DUE, said=answers, due_at=due_at_close()))
    assert [window.delay for window in by_close.windows] == [300, 100, 50, 50]
    assert (by_close.outcome.delay_median, by_close.outcome.last_result) == (75, 4050)
    hurried = judge_query(JudgeInput(key=KEY, due=DUE, said=answers, due_at=due_at_close(), hurried=True))
    assert (hurried.outcome.delay_median, hurried.outcome.delay_95, hurried.outcome.last_result) == (None, None, 4050)
    handed = [Handed(Iri("urn:s"), Element.of(t, t), 0, at) for t, at in ((500, 500.0), (1100, 1290.0), (2500, 2080.0))]
    by_trigger = judge_query(JudgeInput(key=KEY, due=DUE, said=answers, due_at=due_at_trigger(handed)))
    # Nothing shows that the last two are over but the end of the stream.
    assert [window.delay for window in by_trigger.windows] == [10, 20, 970, 1970]


def test_silence_is_right_where_nothing_is_to_be_said() -> None:
    silent = Outcome(Verdict.NO_ANSWER, Phase.EXECUTION)
    assert judge_query(JudgeInput(key=KEY, due=[window(1000, "")], said=[], ending=silent)).outcome.verdict == "ok"
    wrong = judge_query(JudgeInput(key=KEY, due=DUE, said=[], ending=silent))
    assert (wrong.outcome.verdict, wrong.outcome.faults) == ("no answer", ("gives no answer",))
    assert (wrong.outcome.recall, wrong.outcome.missing) == (0.0, 8)


def test_a_query_that_was_refused_has_no_faults() -> None:
    refused = Outcome(Verdict.SYNTAX_ERROR, Phase.REGISTRATION, "line 1")
    found = judge_query(JudgeInput(key=KEY, due=[], said=[], ending=refused))
    assert (found.outcome.verdict, found.outcome.phase, found.faults) == ("syntax error", "registration", ())


def test_resources_and_rates() -> None:
    handed = [Handed(Iri("urn:s"), Element.of(t, t), t, float(t)) for t in (0, 500, 1000)]
    samples = [Sample(0.5 * n, 100.0 + 10 * n, 0.2 * n, 4) for n in range(5)]
    found = judge_query(
        JudgeInput(key=KEY, due=[], said=[], handed=handed, samples=samples, seconds=2.0, executions=30)
    ).outcome
    assert (found.memory_peak, found.cpu, found.executions_rate, found.rate) == (140.0, 0.8, 15.0, 0.0)
    assert found.memory_slope == pytest.approx(20.0)


def test_a_slow_engine_is_not_one_that_hangs() -> None:
    timeout = Outcome(Verdict.TIMEOUT, Phase.EXECUTION, "not done after 5 s")
    slow = judge_query(JudgeInput(key=KEY, due=DUE, said=[said(4500, "ab", 1000)], ending=timeout, seconds=5.0))
    assert slow.outcome.faults == ("is too slow: not done after 5 s",)
    hangs = judge_query(JudgeInput(key=KEY, due=DUE, said=[said(900, "ab", 1000)], ending=timeout, seconds=5.0))
    assert hangs.outcome.faults == ("hangs: at window 2, silent for 4 s",)


def test_a_clock_is_stopped_after_the_last_element() -> None:
    """What is due then counts if it is answered, and is not missed if it is not."""
    answers = [said(1000, "ab"), said(2000, "bc")]
    stopped = judge_query(JudgeInput(key=KEY, due=DUE, said=answers, last=2500.0))
    assert (stopped.outcome.verdict, len(stopped.windows)) == ("ok", 2)
    assert judge_query(JudgeInput(key=KEY, due=DUE, said=answers, last=3500.0)).outcome.missing == 2
    wrong = judge_query(JudgeInput(key=KEY, due=DUE, said=[*answers, said(3000, "xy"), said(4000, "de")], last=2500.0))
    assert (wrong.outcome.verdict, len(wrong.windows)) == ("wrong", 4)


def test_executions_a_second_are_a_figure_only_where_no_pace_sets_them() -> None:
    assert (
        judge_query(JudgeInput(key=KEY, due=[], said=[], executions=30, seconds=2, paced=True)).outcome.executions_rate
        is None
    )

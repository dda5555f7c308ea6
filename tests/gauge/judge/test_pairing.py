"""Which answer belongs to which report: by value, by the time that answers name, and at the end of a stream."""

from __future__ import annotations

from collections import Counter

import pytest

from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_INTEGER
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport, JudgeInput
from hydrograph_gauge.judge.judge_query import judge_query
from hydrograph_gauge.judge.pairing import pair_answers
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.run_records import Key, OutcomeRecord, RowText

KEY = Key(test="by hand", engine="none", query="q")


def number(text: str, datatype: str = XSD_DOUBLE) -> Counter[RowText]:
    return Counter([(f'"{text}"^^<{datatype}>',)])


def text(texts: str) -> Counter[RowText]:
    return Counter((f'"{each}"',) for each in texts)


def reports(*rows: Counter[RowText]) -> list[ExpectedReport]:
    return [ExpectedReport(1000 * n, 1000 * (n - 1), 1000 * n, each) for n, each in enumerate(rows, start=1)]


def judged(
    due: list[ExpectedReport],
    said: list[EngineAnswer],
    *,
    t0: int | None = None,
    last: float | None = None,
    by: Comparison = Comparison.EXACT,
) -> OutcomeRecord:
    return judge_query(JudgeInput(key=KEY, due=due, said=said, t0=t0, last=last, comparison=by)).outcome


NUMBERS = reports(number("41"), number("43"), number("45"), number("43"))


@pytest.mark.parametrize("t0", [None, 0])
def test_another_way_to_write_a_number_pairs_with_its_own_window(t0: int | None) -> None:
    """By their texts the answers would fit no window, and be paired with the first ones."""
    said = [EngineAnswer(1, number("43.0")), EngineAnswer(2, number("45.0")), EngineAnswer(3, number("4.3E1"))]
    found = pair_answers(NUMBERS, said, searched=t0 is not None).pairs
    paired = [(due.t, answer) for due, answer in found if due is not None and answer is not None]
    assert paired == list(zip((2000, 3000, 4000), said, strict=True))
    outcome = judged(NUMBERS, said, t0=t0)
    assert (outcome.missing, outcome.extra) == ((1, 0) if t0 is None else (0, 0))


def test_a_repeated_answer_is_known_by_value() -> None:
    due = reports(number("1"), number("2"))
    said = [EngineAnswer(n, number(each)) for n, each in enumerate(["1", "1.0", "2"])]
    assert judged(due, said).faults == ("duplicates answers: 1 executions came twice",)


def test_as_many_answers_as_reports_are_paired_by_turns_unless_another_order_fits_better() -> None:
    due = reports(*map(text, "abcd"))
    later = [EngineAnswer(n, text(each)) for n, each in enumerate("bcdx")]
    assert judged(due, later).right == 3
    mixed = [EngineAnswer(n, text(each)) for n, each in enumerate("axcy")]
    assert [(d and d.t, a) for d, a in pair_answers(due, mixed).pairs] == list(
        zip((1000, 2000, 3000, 4000), mixed, strict=True)
    )


def test_answers_that_name_a_time_may_come_in_any_order_and_disorder_is_named() -> None:
    due = reports(*map(text, "abcd"))
    order = [("a", 1000), ("c", 3000), ("b", 2000), ("d", 4000)]
    said = [EngineAnswer(n, text(each), t) for n, (each, t) in enumerate(order)]
    outcome = judged(due, said)
    assert (outcome.verdict, outcome.right, outcome.faults) == ("ok", 4, ("answers out of order: 1 of 4",))


@pytest.mark.parametrize(("order", "wrong"), [("acbd", 2), ("dcba", 4), ("ba", 2)])
def test_disorder_of_answers_without_a_time_is_wrong_and_named(order: str, wrong: int) -> None:
    due = reports(*map(text, "abcd"))
    outcome = judged(due, [EngineAnswer(n, text(each)) for n, each in enumerate(order)])
    assert outcome.verdict == "wrong"
    assert outcome.faults == (f"answers out of order: {wrong} of {len(order)}",)


def test_a_searched_t0_does_not_make_times_meaningless() -> None:
    """In their order the answers fit, but they name the windows before."""
    due = reports(*map(text, "abcd"))
    said = [EngineAnswer(n, text(each), 1000 * n) for n, each in enumerate("bcd", start=1)]
    assert judged(due, said, t0=0).verdict == "wrong"
    right = [EngineAnswer(n, text(each), 1000 * n) for n, each in enumerate("bcd", start=2)]
    outcome = judged(due, right, t0=0)
    assert (outcome.verdict, outcome.notes) == (
        "ok",
        ("1 reports before the first answer or after the last are not required",),
    )


def test_windows_that_close_after_the_last_element_are_counted_apart() -> None:
    due = reports(*map(text, "abcd"))
    some = [EngineAnswer(n, text(each), 1000 * n) for n, each in enumerate("ab", start=1)]
    quiet = judged(due, some, last=2500)
    assert (quiet.verdict, quiet.windows, quiet.after_last, quiet.missing, quiet.recall) == ("ok", 2, 2, 0, 1.0)
    # The element at 3000 shows that the third window is over.
    assert judged(due, some, last=3000).faults == ("leaves windows unanswered: 1 of 3, the first at 3000 ms",)
    # Where the stream ends explicitly, all are due.
    assert judged(due, some).missing == 2
    # What is answered is judged.
    wrong = judged(due, [*some, EngineAnswer(9, text("x"), 4000)], last=2500)
    assert (wrong.verdict, wrong.after_last, wrong.extra) == ("wrong", 1, 1)
    # One in the middle is missing, whatever the end.
    assert judged(due, some[1:], last=2500).missing == 1


@pytest.mark.parametrize(
    ("by", "verdict", "strict"),
    [(Comparison.EXACT, "wrong", ""), (Comparison.VALUE, "ok", "wrong"), (Comparison.DOUBLE, "ok", "wrong")],
)
@pytest.mark.parametrize("slide", [None, 1000])
def test_the_strict_verdict_is_beside_that_of_a_lenient_comparison(
    by: Comparison, verdict: str, strict: str, slide: int | None
) -> None:
    due = reports(number("43"), number("44"))
    said = [EngineAnswer(n, number(each, XSD_INTEGER)) for n, each in enumerate(["43", "44"])]
    found = judge_query(JudgeInput(key=KEY, due=due, said=said, comparison=by, slide=slide))
    outcome = found.outcome
    assert (outcome.comparison, outcome.verdict, outcome.strict_verdict) == (by, verdict, strict)
    assert (outcome.strict_missing, outcome.strict_extra) == ((2, 2) if strict else (0, 0))
    assert outcome.faults == (() if strict else ("changes datatypes: xsd:integer for xsd:double",))


def test_a_lenient_comparison_that_changes_nothing_is_strictly_right_too() -> None:
    outcome = judged(NUMBERS, [EngineAnswer(n, each.rows) for n, each in enumerate(NUMBERS)], by=Comparison.DOUBLE)
    assert (outcome.verdict, outcome.strict_verdict) == ("ok", "ok")

"""From wrong answers to the fault behind them: each guess is tried on the windows, and must explain all that are wrong.

How a run ended says the rest: a crash, a hang, a flood or garbage are what they are, and the windows that were not
answered because of them are no fault of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hydrograph_gauge.engines.verdict import Verdict
from hydrograph_gauge.judge import borders
from hydrograph_gauge.judge import row_faults as rows
from hydrograph_gauge.judge.dropped import dropped
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.faults import Fault, Kind
from hydrograph_gauge.judge.judge_input import Due, Said, Trial
from hydrograph_gauge.judge.score import Score

_BRIEF = 160

_SILENCE = 0.5
"""An engine that was silent for more than this share of the run before it was ended hangs; another one is slow."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A report with its answer and their score; `before` is the report before it."""

    due: Due
    said: Said
    score: Score
    before: Due | None


def diagnose(
    trial: Trial, pairs: Sequence[tuple[Due | None, Said | None, Score]], evidence: Callable[[], Evidence | None]
) -> list[Fault]:
    """Return what is wrong with an engine; nothing if its answers are right. Evidence is looked at only if need be."""
    found = ended(trial)
    stopped = trial.ending is not None and trial.ending.verdict is not Verdict.NO_ANSWER
    if stopped and not trial.said:
        return found
    answered = _answered(pairs)
    wrong = [each for each in answered if not each.score.right]
    unanswered = [due for due, said, score in pairs if due is not None and said is None and not score.right]
    if not stopped and unanswered:
        due = sum(due is not None for due, _, _ in pairs)
        first = f"the first at {unanswered[0].t} ms"
        kind = Kind.SILENT if not any(said.rows for said in trial.said) else Kind.UNANSWERED
        found.append(Fault(kind, "" if kind is Kind.SILENT else f"{len(unanswered)} of {due}, {first}"))
    found += _spare(pairs)
    if wrong:
        found.append(_explained(trial, answered, wrong, evidence))
    return found


def _spare(pairs: Sequence[tuple[Due | None, Said | None, Score]]) -> list[Fault]:
    """Return what answers to no report mean: the one before it said again, or something else."""
    again = other = 0
    last: Said | None = None
    for due, said, _ in pairs:
        if said is not None and due is None and said.rows:
            same = last is not None and said.rows == last.rows and said.t == last.t
            again, other = again + same, other + (not same)
        last = said if said is not None else last
    found = [Fault(Kind.REPEATS, f"{again} executions came twice")] if again else []
    return found + ([Fault(Kind.UNEXPECTED, f"{other} times")] if other else [])


def _answered(pairs: Sequence[tuple[Due | None, Said | None, Score]]) -> list[Answered]:
    found, before = [], None
    for due, said, score in pairs:
        if due is not None and said is not None:
            found.append(Answered(due, said, score, before))
        before = due if due is not None else before
    return found


def _explained(
    trial: Trial, answered: list[Answered], wrong: list[Answered], evidence: Callable[[], Evidence | None]
) -> Fault:
    if (fault := rows.repeats(wrong) or rows.rounds(wrong)) is not None:
        return fault
    if (given := evidence()) is not None:
        fault = borders.moved(given, answered, wrong) if given.can_move else None
        fault = fault or dropped(given, trial, wrong)
        fault = fault or (borders.wavering(given, wrong) if given.can_move else None)
        if fault is not None:
            return fault
    missing = sum(each.score.difference.missing.total() for each in wrong)
    extra = sum(each.score.difference.extra.total() for each in wrong)
    return Fault(Kind.UNKNOWN, f"{len(wrong)} windows, {missing} rows missing, {extra} too many")


def ended(trial: Trial) -> list[Fault]:
    """Return what the end of a run says about the engine."""
    if trial.ending is None:
        return []
    words, number = _brief(trial.ending.words), len(trial.said) + 1
    at = f"at window {number}"
    match trial.ending.verdict:
        case Verdict.CRASH:
            return [Fault(Kind.CRASHES, f"{at}, {words}")]
        case Verdict.TIMEOUT:
            last = trial.said[-1].at / 1000 if trial.said else 0.0
            silent = trial.seconds - last
            if silent > _SILENCE * trial.seconds:
                return [Fault(Kind.HANGS, f"{at}, silent for {silent:.0f} s")]
            return [Fault(Kind.TOO_SLOW, words)]
        case Verdict.OUT_OF_MEMORY:
            return [Fault(Kind.OUT_OF_MEMORY, words)]
        case Verdict.RUNTIME_ERROR if words.startswith("flood"):
            return [Fault(Kind.FLOODS, words.removeprefix("flood: "))]
        case Verdict.RUNTIME_ERROR if words.startswith("garbage"):
            return [Fault(Kind.GARBAGE, words.removeprefix("garbage: "))]
        case Verdict.RUNTIME_ERROR:
            return [Fault(Kind.FAILS, words)]
        case _:
            return []


def _brief(words: str) -> str:
    """Return the words of an engine on one line: where it says much, how that begins and ends."""
    line = " ".join(words.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF // 2]} … {line[-_BRIEF // 2 :]}"

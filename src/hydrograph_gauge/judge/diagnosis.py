"""Diagnosis: from wrong answers, or the way a run ended, to the fault of the engine behind them.

A hypothesis counts only if it explains every wrong window. Windows may be moved, as a whole or at one border, by a
distance that is searched for: content changes only where an element enters or leaves, so all distances between two
such places are one hypothesis. Windows that are unanswered because of a crash or a hang are not a fault of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.outcome import OutputError, Verdict
from hydrograph_gauge.judge.evidence import BorderShift, ElementId, Evidence
from hydrograph_gauge.judge.faults import Fault, FaultKind
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport, JudgeInput
from hydrograph_gauge.judge.row_compare import RowNumbers, Score
from hydrograph_gauge.judge.row_faults import (
    AnsweredReport,
    find_changed_datatypes,
    find_changed_numbers,
    find_confused_blank_nodes,
    find_repeated_rows,
    find_rounding,
    find_self_pairs,
    find_stale_answers,
    holds_row,
)
from hydrograph_gauge.oracle.compare import compare
from hydrograph_gauge.oracle.dataset import Row, terms_of

_OUTPUT_FAULTS = {OutputError.FLOOD: FaultKind.FLOODS, OutputError.GARBAGE: FaultKind.GARBAGE}

_SEARCH_BUDGET = 1_000_000
"""Cost of one search, in triples that the evaluator reads: some seconds."""

_EXPLAINED_WINDOWS = 60
"""Windows that a hypothesis must explain; wrong ones come first."""


@dataclass(frozen=True, slots=True)
class Distances:
    """Distances `first <= d <= last` in milliseconds that cannot be distinguished."""

    first: int
    last: int

    @property
    def nearest(self) -> int:
        """The smallest of them."""
        return min(self.first, self.last, key=abs)

    def __str__(self) -> str:
        """Return the distance in words."""
        near, far = sorted((abs(self.first), abs(self.last)))
        return f"by {near} ms" if near == far else f"by {near} to {far} ms"


Family = Callable[[int], BorderShift]
_SHIFT: Family = lambda d: BorderShift(d, d)  # noqa: E731
_START: Family = lambda d: BorderShift(d, 0)  # noqa: E731
_END: Family = lambda d: BorderShift(0, d)  # noqa: E731


def find_moved_borders(
    evidence: Evidence, answered: Sequence[AnsweredReport], wrong: Sequence[AnsweredReport]
) -> Fault | None:
    """Return the borders that an engine moves and how far, if that explains all windows."""
    known = set(map(id, wrong))
    windows = [*wrong, *(each for each in answered if id(each) not in known)][:_EXPLAINED_WINDOWS]
    missing = any(each.score.difference.missing for each in wrong)
    extra = any(each.score.difference.extra for each in wrong)
    first = wrong[0].due.t
    if evidence.cost_of(first, BorderShift(None)) < _SEARCH_BUDGET and all(
        _fits(evidence, each, terms_of(each.said.rows), BorderShift(None)) for each in wrong
    ):
        return Fault(FaultKind.NO_EVICTION, "elements never leave", BorderShift(None))
    if not missing and (fault := _late_eviction(evidence, windows, wrong)) is not None:
        return fault
    # A window that only lacks rows may have lost something at a border, but did not win anything at the other.
    ways = [
        (_SHIFT, FaultKind.SHIFTS, missing and extra, FaultKind.SHIFTS, missing and extra),
        (_START, FaultKind.OPENS_LATE, True, FaultKind.EVICTS_LATE, extra),
        (_END, FaultKind.CLOSES_LATE, extra, FaultKind.CLOSES_EARLY, True),
    ]
    for family, later, forward, earlier, backward in ways:
        found = _common(evidence, windows, family, forward=forward, backward=backward)
        if found is not None:
            kind = later if found.first > 0 else earlier
            side = ", to later times" if found.first > 0 else ", to earlier times"
            return Fault(kind, f"{found}{side if kind is FaultKind.SHIFTS else ''}", family(found.nearest))
    return None


def find_wavering_borders(evidence: Evidence, wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of windows that are each moved a little by another distance, as clocks cause it."""
    limit = evidence.width // 4
    budget = evidence.cost + _SEARCH_BUDGET
    farthest = 0
    for each in wrong:
        near = [Distances(1, limit), Distances(-limit, -1)]
        some = [
            abs(found.nearest)
            for family in (_SHIFT, _START, _END)
            for found in _explaining(evidence, each, family, near, budget - evidence.cost)
        ]
        if not some:
            return None
        farthest = max(farthest, min(some))
    return Fault(FaultKind.WAVERS, f"by up to {farthest} ms")


def _late_eviction(
    evidence: Evidence, windows: Sequence[AnsweredReport], wrong: Sequence[AnsweredReport]
) -> Fault | None:
    """Return the fault of elements that stay too long, by one distance or by several."""
    found = _common(evidence, windows, _START, forward=False, backward=True)
    if found is not None:
        how = f"elements stay {str(found).removeprefix('by ')} too long"
        return Fault(FaultKind.EVICTS_LATE, how, _START(found.nearest))
    longest = 0
    for each in wrong:
        some = _explaining(evidence, each, _START, [Distances(-_FAR, -1)], _SEARCH_BUDGET)
        if not some:
            return None
        longest = max(longest, min(-distances.last for distances in some))
    return Fault(FaultKind.EVICTS_LATE, f"elements stay up to {longest} ms too long")


_FAR = 10**15


def find_missing_eviction(evidence: Evidence, wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of rows that are made with expired elements, if no row is missing and all extra ones are such.

    Not every such row comes, so that no border explains them.
    """
    budget = evidence.cost + _SEARCH_BUDGET
    for each in wrong:
        difference, by = each.score.difference, each.score.comparison
        if difference.missing or evidence.cost > budget:
            return None
        before = None if each.before is None else each.before.t
        made = evidence.answer(each.due.t, before, BorderShift(None))
        if not all(holds_row(made, row, by) for row in difference.extra):
            return None
    extra = sum(each.score.difference.extra.total() for each in wrong)
    return Fault(FaultKind.NO_EVICTION, f"{extra} rows are still made with elements that have expired")


def find_lost_or_invented_rows(evidence: Evidence | None, wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of rows that are lost, or that nothing in the stream so far makes, if there are no others."""
    missing = sum(each.score.difference.missing.total() for each in wrong)
    extra = sum(each.score.difference.extra.total() for each in wrong)
    if not extra:
        return Fault(FaultKind.LOSES_ROWS, f"{missing} rows of {len(wrong)} windows")
    if missing or evidence is None or not evidence.can_move:
        return None
    budget = evidence.cost + _SEARCH_BUDGET
    for each in wrong:
        if evidence.cost > budget:
            return None
        made = evidence.answer(each.due.t, None, BorderShift(None, evidence.width))
        if any(holds_row(made, row, each.score.comparison) for row in each.score.difference.extra):
            return None
    return Fault(FaultKind.INVENTS_ROWS, f"{extra} rows of {len(wrong)} windows, which nothing in the stream makes")


def _common(
    evidence: Evidence, windows: Sequence[AnsweredReport], family: Family, *, forward: bool, backward: bool
) -> Distances | None:
    """Return the distances by which moving all windows explains all answers, the smallest if there are several."""
    limit = evidence.width
    left = [Distances(1, limit)] * forward + [Distances(-limit, -1)] * backward
    if not left:
        return None
    budget = evidence.cost + _SEARCH_BUDGET
    for each in windows:
        left = _explaining(evidence, each, family, left, budget - evidence.cost)
        if not left:
            return None
    return min(left, key=lambda distances: abs(distances.nearest))


def _explaining(
    evidence: Evidence, each: AnsweredReport, family: Family, left: Sequence[Distances], budget: int
) -> list[Distances]:
    """Return those of the distances left that explain an answer; none if there are too many to try."""
    guesses = [part for distances in left for part in _parts(evidence, each.due, family, distances)]
    if len(guesses) * evidence.cost_of(each.due.t) > budget:
        return []
    found: list[Distances] = []
    actual = terms_of(each.said.rows)
    for guess in guesses:
        if _fits(evidence, each, actual, family(guess.first)):
            joined = bool(found) and found[-1].last + 1 == guess.first
            found[-1:] = [Distances(found[-1].first, guess.last)] if joined else [*found[-1:], guess]
    return found


def _parts(evidence: Evidence, due: ExpectedReport, family: Family, within: Distances) -> list[Distances]:
    """Cut distances where the content changes: an element at τ leaves or enters after τ - border."""
    cuts = {within.first}
    one, two = family(1), family(2)
    for start, end in evidence.borders(due.t):
        for border, moves in ((start, one.start != two.start), (end, one.end != two.end)):
            if moves:
                times = evidence.times(border + within.first, border + within.last + 1)
                cuts |= {cut for time in times if within.first < (cut := time - border + 1) <= within.last}
    ordered = sorted(cuts)
    return [
        Distances(first, following - 1)
        for first, following in zip(ordered, [*ordered[1:], within.last + 1], strict=True)
    ]


def _fits(evidence: Evidence, each: AnsweredReport, actual: Counter[Row], moved: BorderShift) -> bool:
    """Tell whether an answer is right for windows that were moved."""
    before = None if each.before is None else each.before.t
    rows = evidence.answer(each.due.t, before, moved)
    return rows.total() == actual.total() and not compare(rows, actual, each.score.comparison)


_MOSTLY, _HARDLY = 0.5, 0.1


def find_dropped_elements(evidence: Evidence, trial: JudgeInput, wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of dropped elements, or of input skipped while busy, if it explains all wrong windows."""
    lost: set[ElementId] = set()
    known: set[ElementId] = set()
    seen: dict[ElementId, Element] = {}
    budget = evidence.cost + _SEARCH_BUDGET
    for each in wrong:
        found = _lost(evidence, each, frozenset(lost), known, budget)
        if found is None:
            return None
        held = evidence.elements(each.due.t, each.due.seq)
        seen |= {evidence.place(n, element): element for n, element in held}
        lost |= found
        known |= {evidence.place(n, element) for n, element in held}
    if not lost:
        return None
    first = min(seen[place].t for place in lost)
    how = f"{len(lost)} of {len(seen)} in the windows that are wrong, the first at {first} ms"
    return Fault(FaultKind.SKIPS if _while_busy(trial, lost) else FaultKind.DROPS, how)


def _lost(
    evidence: Evidence, each: AnsweredReport, lost: frozenset[ElementId], known: Iterable[ElementId], budget: int
) -> set[ElementId] | None:
    """Return elements of a window without which its answer is right; None if there are no such elements.

    An element may be missing if nothing that came needs it, and something that did not come does.
    """
    t, before = each.due.t, None if each.before is None else each.before.t
    actual, expected = terms_of(each.said.rows), evidence.answer(t, before)
    missing = compare(expected, actual, each.score.comparison).missing
    places = dict.fromkeys(evidence.place(n, e) for n, e in evidence.elements(t, each.due.seq))
    mine = {place for place in lost if place in places}
    for place in places:
        if place in known:
            continue
        if evidence.cost > budget:
            return None
        without = evidence.answer(t, before, without=frozenset({place}))
        gone = expected - without
        if gone and gone <= missing:
            mine.add(place)
    rest = evidence.answer(t, before, without=frozenset(mine))
    return mine if not compare(rest, actual, each.score.comparison) else None


def _while_busy(trial: JudgeInput, lost: set[ElementId]) -> bool:
    """Tell whether most of what was handed over between a report and its answer was lost, and hardly anything else."""
    if trial.due_at is None or not trial.handed:
        return False
    times = {due.t: trial.due_at(due) for due in trial.due}
    busy = [(since, said.at) for said in trial.said if said.t is not None and (since := times.get(said.t)) is not None]
    if not busy:
        busy = [
            (since, said.at)
            for due, said in zip(trial.due, trial.said, strict=False)
            if (since := trial.due_at(due)) is not None
        ]
    counts = {True: [0, 0], False: [0, 0]}  # by whether it was busy: lost, all
    for each in trial.handed:
        during = any(since <= each.at <= until for since, until in busy)
        counts[during][0] += (each.stream, each.element.seq) in lost
        counts[during][1] += 1
    inside, outside = ((of and gone / of) for gone, of in (counts[True], counts[False]))
    return inside >= _MOSTLY and outside <= _HARDLY


_BRIEF = 160

_SILENCE = 0.5
"""An engine that was silent for more than this share of the run before it was ended hangs; another one is slow."""


def diagnose(
    trial: JudgeInput,
    pairs: Sequence[tuple[ExpectedReport | None, EngineAnswer | None, Score]],
    evidence: Callable[[], Evidence | None],
    disordered: int = 0,
) -> list[Fault]:
    """Return the faults of an engine, none if its answers are right; evidence is made only if needed.

    `disordered` is the number of answers that came after the answer to a later report.
    """
    found = find_ending_faults(trial)
    stopped = trial.ending is not None and trial.ending.verdict is not Verdict.NO_ANSWER
    if stopped and not trial.said:
        return found
    if disordered:
        found.append(Fault(FaultKind.DISORDER, f"{disordered} of {len(trial.said)}"))
        if any(each.t is None for each in trial.said):
            return found  # the order is all that answers without a time are judged by
    answered = _answered(pairs)
    wrong = [each for each in answered if not each.score.right]
    unanswered = [due for due, said, score in pairs if due is not None and said is None and not score.right]
    if not stopped and unanswered:
        due = sum(due is not None for due, _, _ in pairs)
        first = f"the first at {unanswered[0].t} ms"
        kind = FaultKind.SILENT if not any(said.rows for said in trial.said) else FaultKind.UNANSWERED
        found.append(Fault(kind, "" if kind is FaultKind.SILENT else f"{len(unanswered)} of {due}, {first}"))
    found += _spare(trial, pairs)
    if wrong:
        found.append(_explained(trial, answered, wrong, evidence))
    found += find_timing_faults(trial, answered)
    return found


_LEAST_DELAY = 200.0
"""Delay in milliseconds below which no answer is late: processes share the machine."""


def find_timing_faults(trial: JudgeInput, answered: Sequence[AnsweredReport]) -> Iterator[Fault]:
    """Yield the fault of answers that come later than the next report is due, or before their window is over.

    The median counts. An engine that answers when the stream is over is not late: it was never asked for more.
    """
    if trial.due_at is None or trial.hurried or not trial.handed or len(answered) < 3:
        return
    since = [trial.due_at(each.due) for each in answered]
    delays = [each.said.at - at for each, at in zip(answered, since, strict=True) if at is not None]
    steps = [later - at for at, later in pairwise(at for at in since if at is not None) if later > at]
    if not delays or not steps:
        return
    delay, step = median(delays), median(steps)
    most = max(step, _LEAST_DELAY)
    ended = sum(each.said.at > trial.handed[-1].at for each in answered) > len(answered) / 2
    if delay > most and not ended:
        yield Fault(FaultKind.LATE, f"by {delay:.0f} ms in the median, while reports are due every {step:.0f} ms")
    elif delay < -most:
        yield Fault(FaultKind.EARLY, f"by {-delay:.0f} ms in the median, while reports are due every {step:.0f} ms")


def _spare(trial: JudgeInput, pairs: Sequence[tuple[ExpectedReport | None, EngineAnswer | None, Score]]) -> list[Fault]:
    """Return the faults of answers to no report: the previous answer repeated, or another one."""
    values = RowNumbers(trial.comparison)
    again = other = 0
    last: EngineAnswer | None = None
    for due, said, _ in pairs:
        if said is not None and due is None and said.rows:
            same = last is not None and said.t == last.t and values.numbers(said.rows) == values.numbers(last.rows)
            again, other = again + same, other + (not same)
        last = said if said is not None else last
    found = [Fault(FaultKind.REPEATS, f"{again} executions came twice")] if again else []
    return found + ([Fault(FaultKind.UNEXPECTED, f"{other} times")] if other else [])


def _answered(pairs: Sequence[tuple[ExpectedReport | None, EngineAnswer | None, Score]]) -> list[AnsweredReport]:
    found, before = [], None
    for due, said, score in pairs:
        if due is not None and said is not None:
            found.append(AnsweredReport(due, said, score, before))
        before = due if due is not None else before
    return found


def _explained(
    trial: JudgeInput,
    answered: list[AnsweredReport],
    wrong: list[AnsweredReport],
    evidence: Callable[[], Evidence | None],
) -> Fault:
    plain = (find_repeated_rows, find_changed_datatypes, find_rounding, find_confused_blank_nodes, find_self_pairs)
    for find in plain:
        if (fault := find(wrong)) is not None:
            return fault
    stale = find_stale_answers(trial.due, wrong)
    # Where every answer is that of an earlier report, the windows are shifted.
    if stale is not None and len(wrong) < len(answered):
        return stale
    given = evidence()
    if given is not None:
        fault = find_moved_borders(given, answered, wrong) if given.can_move else None
        fault = fault or find_dropped_elements(given, trial, wrong)
        fault = fault or (find_wavering_borders(given, wrong) if given.can_move else None)
        fault = fault or (find_missing_eviction(given, wrong) if given.can_move else None)
        if fault is not None:
            return fault
    fault = stale or find_lost_or_invented_rows(given, wrong) or find_changed_numbers(wrong)
    if fault is not None:
        return fault
    missing = sum(each.score.difference.missing.total() for each in wrong)
    extra = sum(each.score.difference.extra.total() for each in wrong)
    return Fault(FaultKind.UNKNOWN, f"{len(wrong)} windows, {missing} rows missing, {extra} too many")


def find_ending_faults(trial: JudgeInput) -> list[Fault]:
    """Return the faults that show in the way a run ended."""
    if trial.ending is None:
        return []
    words, number = _brief(trial.ending.words), len(trial.said) + 1
    at = f"at window {number}"
    match trial.ending.verdict:
        case Verdict.CRASH:
            return [Fault(FaultKind.CRASHES, f"{at}, {words}")]
        case Verdict.TIMEOUT:
            last = trial.said[-1].at / 1000 if trial.said else 0.0
            silent = trial.seconds - last
            if silent > _SILENCE * trial.seconds:
                return [Fault(FaultKind.HANGS, f"{at}, silent for {silent:.0f} s")]
            return [Fault(FaultKind.TOO_SLOW, words)]
        case Verdict.OUT_OF_MEMORY:
            return [Fault(FaultKind.OUT_OF_MEMORY, words)]
        case Verdict.RUNTIME_ERROR if (error := trial.ending.output_error) is not None:
            return [Fault(_OUTPUT_FAULTS[error], words.removeprefix(f"{error}: "))]
        case Verdict.RUNTIME_ERROR:
            return [Fault(FaultKind.FAILS, words)]
        case _:
            return []


def _brief(words: str) -> str:
    """Return a message on one line, with the middle of a long one left out."""
    line = " ".join(words.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF // 2]} … {line[-_BRIEF // 2 :]}"

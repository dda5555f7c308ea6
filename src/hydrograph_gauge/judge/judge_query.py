"""Judgement of one query on one engine: its verdict, its faults, and a score for every window.

`judge_query` is the entry: answers are paired with expected reports, pairs are scored, wrong windows get a diagnosis
and a second opinion. Evidence is given as a function, because only wrong answers need it. In a second opinion rdflib
evaluates the window: if it agrees with the engine, the oracle is wrong. rdflib is slow, so it sees only small windows,
a few of each query, for a limited time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from statistics import median, quantiles

from hydrograph.errors import RunError
from hydrograph.temporal import Interval
from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.engines.resources import memory_growth
from hydrograph_gauge.judge import match_content_change as eager
from hydrograph_gauge.judge.diagnosis import diagnose, find_ending_faults
from hydrograph_gauge.judge.evidence import (
    EXPLANATION_BUDGET,
    MAX_EXPLAINED_ROWS,
    MAX_EXPLAINED_WINDOWS,
    MAX_ROWS,
    BorderShift,
    Evidence,
    WindowTriples,
    explain_row,
    triple_texts,
)
from hydrograph_gauge.judge.faults import Fault, FaultKind
from hydrograph_gauge.judge.gracious_mode import GRACIOUS_BUDGET, GraciousSearch, recover_borders
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport, JudgeInput
from hydrograph_gauge.judge.pairing import Pairing, pair_answers
from hydrograph_gauge.judge.row_compare import Score, score_texts
from hydrograph_gauge.oracle import rdflib_arbiter as arbiter
from hydrograph_gauge.oracle.compare import Comparison, Difference
from hydrograph_gauge.oracle.dataset import Row, row_text, terms_of
from hydrograph_gauge.oracle.rdflib_arbiter import ArbiterVerdict
from hydrograph_gauge.oracle.rdflib_arbiter import ArbiterVerdict as Opinion
from hydrograph_gauge.run_records import OutcomeRecord, RowExplanation, SmallestDifference, WindowRecord

ORACLE_ERROR = "oracle error"
"""The verdict on a query whose differences are all the oracle's own."""

TRIPLES = 500
"""Content and static data of a window that is asked about, each."""

_WINDOWS = 20
_SECONDS = 10.0
_AGAINST = 3
"""Windows after which an engine that was wrong in all of them is taken to be wrong."""


class SecondOpinion:
    """Opinions of rdflib on the windows of one query."""

    def __init__(self, evidence: Callable[[], Evidence | None], static: int, by: Comparison) -> None:
        """Take the evidence, which is asked for if need be, the size of the static data, and when rows are equal."""
        self._evidence = evidence
        self._by = by
        self._static = static
        self._spent = 0.0
        self._absent = ""
        self._failed = ""
        self.said: Counter[ArbiterVerdict] = Counter()

    def of(self, due: ExpectedReport, said: EngineAnswer, before: ExpectedReport | None) -> ArbiterVerdict | None:
        """Return which side is right about a wrong answer; None if rdflib is not asked."""
        if self._absent or self._static > TRIPLES or due.content is None or due.content > TRIPLES:
            return None
        against = self.said.total() == self.said[ArbiterVerdict.ENGINE_ERROR] >= _AGAINST
        if against or self.said.total() >= _WINDOWS or self._spent > _SECONDS:
            return None
        if (evidence := self._evidence()) is None:
            return None
        begin = time.monotonic()
        try:
            second = evidence.second(due.t, None if before is None else before.t, arbiter.answer)
            found = arbiter.decide(terms_of(due.rows), second, terms_of(said.rows), self._by)
        except RunError as error:
            self._absent = str(error)
            return None
        except Exception as error:  # noqa: BLE001 - rdflib has errors of its own, of any kind
            found, self._failed = ArbiterVerdict.UNDECIDED, f"{type(error).__name__}: {error}".splitlines()[0][:200]
        self._spent += time.monotonic() - begin
        self.said[found] += 1
        return found

    def notes(self) -> Iterator[str]:
        """Yield notes on windows that are not clearly the engine's fault."""
        if self._absent:
            yield f"no second opinion on wrong windows: {self._absent}"
        if self._failed:
            yield f"rdflib could not evaluate some wrong windows; last error: {self._failed}"
        for verdict in (ArbiterVerdict.ORACLE_ERROR, ArbiterVerdict.UNDECIDED):
            if self.said[verdict]:
                yield f"{self.said[verdict]} of {self.said.total()} windows that rdflib was asked about: {verdict}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Result of judging: records for the results file, and the faults as typed values."""

    outcome: OutcomeRecord
    windows: tuple[WindowRecord, ...]
    faults: tuple[Fault, ...]


ScoredPair = tuple[ExpectedReport | None, EngineAnswer | None, Score]


def judge_query(
    trial: JudgeInput,
    evidence: Callable[[], Evidence] | None = None,
    *,
    gracious: bool = False,
    budget: int = GRACIOUS_BUDGET,
) -> Judgement:
    """Judge the answers to a query; `gracious` searches for the borders that were really used and judges by those.

    The verdict stays that of the borders that were due. `budget` is what the search may cost.
    """
    grace = GraciousSearch(evidence, gracious=gracious, budget=budget)
    if trial.slide is not None:
        matched = eager.match_rows(trial)
        faults = [*find_ending_faults(trial), *eager.find_row_faults(trial, matched, grace.evidence)]
        slides = eager.slide_records(trial, matched, grace)
        wrong = len(matched.missing), len(matched.extra)
        strict = None
        if trial.comparison is not Comparison.EXACT:
            exact = eager.match_rows(replace(trial, comparison=Comparison.EXACT))
            strict = len(exact.missing), len(exact.extra)
        smallest = eager.find_smallest(matched, grace.evidence()) if _is_unexplained(faults) else None
        figures = _Figures(wrong, strict, (matched.precision, matched.recall), smallest=smallest)
        return _whole(trial, slides, faults, figures, tuple(grace.notes()))
    by = trial.comparison
    found = pair_answers(trial.due, trial.said, by, searched=trial.t0 is not None, last=trial.last)
    pairs = [
        (due, said, score_texts(due.rows if due else Counter(), said.rows if said else Counter(), by))
        for due, said in found.pairs
    ]
    notes = list(_pairing_notes(found))
    opinions = SecondOpinion(grace.evidence, trial.static, by)
    settled = _settled(pairs, opinions)
    differences = {place: pairs[place][2] for place, opinion in settled.items() if opinion is Opinion.ORACLE_ERROR}
    for place, score in differences.items():
        due, said, _ = pairs[place]
        pairs[place] = due, said, Score(score.actual, score.actual, Difference(), by)
    faults = diagnose(trial, pairs, grace.evidence, found.disordered)
    moved = next((fault.moved for fault in faults if fault.moved is not None), None)
    shown = 0
    windows = []
    before: ExpectedReport | None = None
    for place, (due, said, score) in enumerate(pairs):
        look = grace.evidence() if not score.right and shown < MAX_EXPLAINED_WINDOWS else None
        shown += look is not None
        used, graced = None, score
        if due is not None and said is not None and not score.right:
            used, graced = _used(grace, due, said, before, by) or (_moved(due, moved), score)
        window = _window(trial, due, said, graced, used, look)
        windows.append(_with_opinion(window, settled.get(place), differences.get(place)))
        before = due or before
    missing = sum(score.difference.missing.total() for _, _, score in pairs)
    extra = sum(score.difference.extra.total() for _, _, score in pairs)
    figures = _Figures(
        (missing, extra),
        _count_strictly(pairs, differences) if by is not Comparison.EXACT else None,
        after_last=found.after_last,
        smallest=_smallest(pairs, grace.evidence()) if _is_unexplained(faults) else None,
    )
    return _whole(trial, windows, faults, figures, (*notes, *opinions.notes(), *grace.notes()))


@dataclass(frozen=True, slots=True)
class _Figures:
    """Sums over the windows of a query."""

    wrong: tuple[int, int]
    """Rows that are missing, and rows that are too many."""
    strict: tuple[int, int] | None = None
    """The same by the comparison `exact`, where the experiment declares another."""
    overall: tuple[float, float] | None = None
    """Precision and recall, where they are not the means over windows."""
    after_last: int = 0
    smallest: SmallestDifference | None = None


def _pairing_notes(found: Pairing) -> Iterator[str]:
    if found.outside:
        yield f"{found.outside} reports before the first answer or after the last are not required"
    if found.by_order:
        yield "no t0 makes a report due at a time that the engine names; its answers are judged in their order"


def _count_strictly(pairs: Sequence[ScoredPair], settled: Collection[int]) -> tuple[int, int]:
    """Return the rows that are missing and those that are too many by the comparison `exact`."""
    missing = extra = 0
    for place, (due, said, _) in enumerate(pairs):
        if place not in settled:
            score = score_texts(due.rows if due else Counter(), said.rows if said else Counter())
            missing += score.difference.missing.total()
            extra += score.difference.extra.total()
    return missing, extra


_UNEXPLAINED = {FaultKind.UNKNOWN, FaultKind.LOSES_ROWS, FaultKind.INVENTS_ROWS}
"""Faults that describe a difference without its cause."""

_SHOWN_TRIPLES = 60
"""Triples of the smallest window that are recorded."""


def _is_unexplained(faults: Iterable[Fault]) -> bool:
    return any(fault.kind in _UNEXPLAINED for fault in faults)


def _smallest(pairs: Sequence[ScoredPair], evidence: Evidence | None) -> SmallestDifference | None:
    """Return the wrong window with the fewest triples, with its triples where there is evidence."""
    wrong = [(due, score) for due, said, score in pairs if due is not None and said is not None and not score.right]
    if not wrong:
        return None

    def size(due: ExpectedReport) -> int:
        if due.content is not None or evidence is None:
            return due.content or 0
        return evidence.cost_of(due.t)

    due, score = min(wrong, key=lambda each: (size(each[0]), each[0].t))
    held: WindowTriples = frozenset() if evidence is None else evidence.held(evidence.elements(due.t, due.seq))
    return SmallestDifference(
        t=due.t,
        open=due.open,
        close=due.close,
        triples=triple_texts(held)[:_SHOWN_TRIPLES],
        content=len(held) or due.content or 0,
        missing=tuple(row_text(row) for row in _first(score.difference.missing)),
        extra=tuple(row_text(row) for row in _first(score.difference.extra)),
    )


def _settled(pairs: Sequence[ScoredPair], opinions: SecondOpinion) -> dict[int, Opinion]:
    """Return the opinions of rdflib on wrong answers, by their places."""
    found: dict[int, Opinion] = {}
    before: ExpectedReport | None = None
    for place, (due, said, score) in enumerate(pairs):
        if due is not None and said is not None and not score.right:
            opinion = opinions.of(due, said, before)
            if opinion is not None:
                found[place] = opinion
        before = due or before
    return found


def _with_opinion(window: WindowRecord, opinion: Opinion | None, difference: Score | None) -> WindowRecord:
    """Return a window with the opinion of rdflib and, if the oracle is wrong, with the oracle's difference."""
    if opinion is None:
        return window
    update: dict[str, object] = {"opinion": opinion.value}
    if difference is not None:
        rows = difference.difference
        update["missing"] = tuple(RowExplanation(row=row_text(row)) for row in _first(rows.missing))
        update["extra"] = tuple(RowExplanation(row=row_text(row)) for row in _first(rows.extra))
    return window.model_copy(update=update)


def _window(
    trial: JudgeInput,
    due: ExpectedReport | None,
    said: EngineAnswer | None,
    score: Score,
    used: Interval | None,
    evidence: Evidence | None,
) -> WindowRecord:
    difference = score.difference
    if due is None:
        return WindowRecord(
            key=trial.key,
            t=None,
            expected=0,
            actual=score.actual,
            precision=float(score.precision),
            recall=float(score.recall),
            extra=tuple(RowExplanation(row=row_text(row)) for row in _first(difference.extra)),
        )
    since = trial.due_at(due) if trial.due_at is not None else None
    content = due.content
    if evidence is not None and content is None:
        content = len(evidence.held(evidence.elements(due.t, due.seq)))
    wide = BorderShift() if evidence is None else BorderShift(-evidence.width, evidence.width)
    return WindowRecord(
        key=trial.key,
        t=due.t,
        open=due.open,
        close=due.close,
        used_open=used.start if used is not None else None,
        used_close=used.end if used is not None else None,
        content=content,
        expected=due.rows.total(),
        actual=0 if said is None else said.rows.total(),
        precision=float(score.precision),
        recall=float(score.recall),
        delay=None if said is None or since is None else said.at - since,
        missing=_blamed(evidence, due, difference.missing, BorderShift(), score.comparison),
        extra=_blamed(evidence, due, difference.extra, wide, score.comparison),
    )


def _moved(due: ExpectedReport, moved: BorderShift | None) -> Interval | None:
    """Return the borders of a window as moved by the fault, if the fault moves windows."""
    if moved is None or moved.start is None or due.open is None or due.close is None:
        return None
    return Interval(due.open + moved.start, due.close + moved.end)


def _used(
    grace: GraciousSearch, due: ExpectedReport, said: EngineAnswer, before: ExpectedReport | None, by: Comparison
) -> tuple[Interval, Score] | None:
    """Return the borders at which the answer fits better than at those that were due, and how well."""
    if due.open is None or due.close is None or not said.rows or (evidence := grace.asked()) is None:
        return None
    start, end = due.open, due.close
    earlier = None if before is None else before.t

    def answer(window: Interval) -> Counter[Row]:
        return evidence.answer(due.t, earlier, BorderShift(window.start - start, window.end - end))

    times = evidence.times(start - evidence.width, end + evidence.width)
    actual = terms_of(said.rows)
    found = grace.within(
        evidence, lambda may_ask: recover_borders(Interval(start, end), times, actual, answer, may_ask, by)
    )
    return None if found is None or found.window == Interval(start, end) else (found.window, found.score)


def _blamed(
    evidence: Evidence | None, due: ExpectedReport, rows: Counter[Row], moved: BorderShift, by: Comparison
) -> tuple[RowExplanation, ...]:
    """Return rows with triples that make them: of the window, or from around it for rows that are too many."""
    shown = _first(rows)
    if evidence is None or not shown or evidence.cost > EXPLANATION_BUDGET:
        return tuple(RowExplanation(row=row_text(row)) for row in shown)
    moved = moved if evidence.can_move else BorderShift()
    held: WindowTriples = evidence.held(evidence.elements(due.t, due.seq, moved))
    return tuple(
        RowExplanation(
            row=row_text(row),
            triples=explain_row(evidence, held, row, due.t, by) if number < MAX_EXPLAINED_ROWS else (),
        )
        for number, row in enumerate(shown)
    )


def _first(rows: Counter[Row]) -> list[Row]:
    return nsmallest(MAX_ROWS, rows.elements(), key=lambda row: tuple(text or "" for text in row_text(row)))


def _whole(
    trial: JudgeInput,
    windows: Sequence[WindowRecord],
    faults: Sequence[Fault],
    figures: _Figures,
    notes: Sequence[str] = (),
) -> Judgement:
    """Sum up."""
    missing, extra = figures.wrong
    overall = figures.overall
    right = sum(window.precision == window.recall == 1 for window in windows)
    verdict, phase, words = _verdict(trial, missing, extra)
    settled = sum(window.opinion == Opinion.ORACLE_ERROR for window in windows)
    if verdict is Verdict.OK and settled:
        verdict, words = ORACLE_ERROR, f"rdflib answers as the engine does in all {settled} windows that differ"
    strict = "" if figures.strict is None else _verdict(trial, *figures.strict)[0]
    delays = [window.delay for window in windows if window.delay is not None and not trial.hurried]
    rows = [said for said in trial.said if said.rows]
    outcome = OutcomeRecord(
        key=trial.key,
        verdict=verdict,
        phase=phase,
        words=words,
        comparison=trial.comparison,
        strict_verdict=strict,
        strict_missing=0 if figures.strict is None else figures.strict[0],
        strict_extra=0 if figures.strict is None else figures.strict[1],
        faults=tuple(map(str, faults)),
        smallest=figures.smallest,
        notes=tuple(notes),
        t0=trial.t0,
        windows=len(windows),
        after_last=figures.after_last,
        non_empty=sum(window.expected > 0 for window in windows),
        right=right,
        precision=overall[0] if overall else _mean(window.precision for window in windows),
        recall=overall[1] if overall else _mean(window.recall for window in windows),
        missing=missing,
        extra=extra,
        output=sum(said.rows.total() for said in trial.said),
        seconds=trial.seconds,
        executions=trial.executions,
        elements=trial.elements,
        triples=trial.triples,
        static=trial.static,
        rate=_handed_rate(trial),
        executions_rate=trial.executions / trial.seconds if trial.seconds and not trial.paced else None,
        last_result=rows[-1].at if rows else None,
        delay_median=median(delays) if delays else None,
        delay_95=quantiles(delays, n=20, method="inclusive")[-1] if len(delays) > 1 else max(delays, default=None),
        memory_peak=max((sample.memory for sample in trial.samples), default=None),
        memory_slope=memory_growth(trial.samples) if len(trial.samples) > 1 else None,
        cpu=trial.samples[-1].cpu if trial.samples else None,
    )
    return Judgement(outcome, tuple(windows), tuple(faults))


def _verdict(trial: JudgeInput, missing: int, extra: int) -> tuple[str, Phase, str]:
    ending = trial.ending
    # An engine without answers is right if no rows were expected.
    if ending is not None and not (ending.verdict is Verdict.NO_ANSWER and missing == extra == 0):
        return ending.verdict, ending.phase, ending.words
    if missing or extra:
        return Verdict.WRONG, Phase.EXECUTION, f"{missing} rows missing, {extra} too many"
    return Verdict.OK, Phase.EXECUTION, ""


def _handed_rate(trial: JudgeInput) -> float | None:
    """Return the triples a second at which the input was handed over."""
    if not trial.handed or trial.handed[-1].at <= 0:
        return None
    return sum(len(each.element.triples) for each in trial.handed) * 1000 / trial.handed[-1].at


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None

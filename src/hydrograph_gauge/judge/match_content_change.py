"""Matching for content change: rows of an engine that answers as soon as it can, in order of arrival, by slides.

As in YABench, each new row of an event is expected once. An answer is a hit if an equal row (A12) is still expected; an
unexpected row counts for the slide in which it came. Precision and
recall are those of each slide, and over all rows for the engine as a whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import NamedTuple

from hydrograph.rdf.encoding import decode
from hydrograph.temporal import Instant
from hydrograph_gauge.judge.evidence import (
    EXPLANATION_BUDGET,
    MAX_EXPLAINED_ROWS,
    MAX_EXPLAINED_WINDOWS,
    MAX_ROWS,
    Evidence,
    explain_row,
)
from hydrograph_gauge.judge.faults import Fault, FaultKind
from hydrograph_gauge.judge.gracious_mode import Claim, GraciousSearch, RecoveredRetention, recover_retention
from hydrograph_gauge.judge.judge_input import ExpectedReport, JudgeInput
from hydrograph_gauge.judge.row_compare import RowNumbers
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import RowExplanation, RowText, WindowRecord


class UnexpectedRow(NamedTuple):
    """Unexpected row: the time that it counts for, and the time of the newest element it can come from."""

    t: Instant
    row: RowText
    newest: Instant


@dataclass(slots=True)
class RowMatch:
    """Result of matching: expected rows with their arrival, unexpected rows, and missing rows."""

    hits: list[tuple[ExpectedReport, RowText, float]] = field(default_factory=list)
    extra: list[UnexpectedRow] = field(default_factory=list)
    missing: list[tuple[ExpectedReport, RowText]] = field(default_factory=list)
    values: RowNumbers = field(default_factory=RowNumbers)

    @property
    def precision(self) -> float:
        """The share of all rows that came which were expected."""
        return _share(len(self.hits), len(self.hits) + len(self.extra), empty=not self.missing)

    @property
    def recall(self) -> float:
        """The share of all expected rows that came."""
        return _share(len(self.hits), len(self.hits) + len(self.missing), empty=not self.extra)


def match_rows(trial: JudgeInput) -> RowMatch:
    """Match what came with what was expected, each row with the first that waits for it."""
    found = RowMatch()
    waiting: defaultdict[int, deque[tuple[ExpectedReport, RowText]]] = defaultdict(deque)
    for due in trial.due:
        for row in due.rows.elements():
            waiting[found.values.number(row)].append((due, row))
    last = trial.due[0].t if trial.due else 0
    newest = _Newest(trial.handed)
    for said in trial.said:
        spare = []
        for row in said.rows.elements():
            if expecting := waiting[found.values.number(row)]:
                due, _ = expecting.popleft()
                found.hits.append((due, row, said.at))
                last = max(last, due.t)
            else:
                spare.append(row)
        # The rows of one answer have no order, so those that nothing expects count where the others do.
        t = said.t if said.t is not None else last
        late = t if said.t is not None else max(t, newest.by(said.at))
        found.extra += [UnexpectedRow(t, row, late) for row in spare]
    found.missing = sorted((each for left in waiting.values() for each in left), key=lambda each: each[0].t)
    return found


class _Newest:
    """The latest time of an element that was handed over, by when."""

    def __init__(self, handed: Sequence[Handed]) -> None:
        self._at = [each.at for each in handed]
        self._times: list[Instant] = []
        for each in handed:
            self._times.append(max(self._times[-1], each.element.t) if self._times else each.element.t)

    def by(self, at: float) -> Instant:
        place = bisect_right(self._at, at)
        return self._times[place - 1] if place else 0


@dataclass(slots=True)
class _Slide:
    """What was expected in one slide, and what came for it."""

    hits: int = 0
    missing: list[tuple[ExpectedReport, RowText]] = field(default_factory=list)
    extra: list[UnexpectedRow] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    content: int | None = None

    def claims(self) -> Iterator[Claim]:
        """Return what is to be explained: rows that should not have come, and rows that should."""
        yield from (Claim(each.newest, None, _terms(each.row), extra=True) for each in self.extra)
        yield from (Claim(due.t, due.seq, _terms(row), extra=False) for due, row in self.missing)


def _terms(row: RowText) -> Row:
    return tuple(None if text is None else decode(text) for text in row)


def slide_records(trial: JudgeInput, found: RowMatch, grace: GraciousSearch) -> list[WindowRecord]:
    """Return one record for each slide that expects or gets anything; precision and recall are those of its rows."""
    assert trial.slide is not None
    slides: defaultdict[int, _Slide] = defaultdict(_Slide)
    for due, _, at in found.hits:
        slide = slides[due.t // trial.slide]
        slide.hits += 1
        slide.content = due.content if due.content is not None else slide.content
        since = trial.due_at(due) if trial.due_at is not None else None
        if since is not None:
            slide.delays.append(at - since)
    for due, row in found.missing:
        slide = slides[due.t // trial.slide]
        slide.missing.append((due, row))
        slide.content = slide.content if slide.content is not None else due.content
    for spare in found.extra:
        slides[spare.t // trial.slide].extra.append(spare)
    shown = 0
    records = []
    for number, slide in sorted(slides.items()):
        wrong = bool(slide.missing or slide.extra)
        kept = None
        if wrong and (given := grace.asked()) is not None:
            kept = grace.within(given, partial(recover_retention, given, list(slide.claims()), trial.slide))
        evidence = grace.evidence() if wrong and shown < MAX_EXPLAINED_WINDOWS else None
        shown += wrong
        records.append(_window(trial, number, slide, kept, evidence))
    return records


def _window(
    trial: JudgeInput, number: int, slide: _Slide, kept: RecoveredRetention | None, evidence: Evidence | None
) -> WindowRecord:
    assert trial.slide is not None
    expected, actual = slide.hits + len(slide.missing), slide.hits + len(slide.extra)
    hits, due = slide.hits, expected
    if kept is not None:
        hits += kept.extra
        due += kept.extra - kept.missing
    content = slide.content
    if content is None and evidence is not None and slide.extra:
        content = len(evidence.held(evidence.elements(slide.extra[-1].newest)))
    return WindowRecord(
        key=trial.key,
        t=(number + 1) * trial.slide,
        open=number * trial.slide,
        close=(number + 1) * trial.slide,
        used_open=kept.window.start if kept is not None else None,
        used_close=kept.window.end if kept is not None else None,
        content=content,
        expected=expected,
        actual=actual,
        precision=_share(hits, actual, empty=not due),
        recall=_share(hits, due, empty=not actual),
        delay=median(slide.delays) if slide.delays else None,
        missing=tuple(_blamed(evidence, slide.missing)),
        extra=tuple(_blamed(evidence, slide.extra)),
    )


def _share(hits: int, of: int, *, empty: bool) -> float:
    return hits / of if of else float(empty)


def _blamed(
    evidence: Evidence | None, rows: Sequence[UnexpectedRow | tuple[ExpectedReport, RowText]]
) -> Iterator[RowExplanation]:
    """Yield rows with triples that make them: of what was to be seen, or from before it for rows that are too many."""
    for number, each in enumerate(rows[:MAX_ROWS]):
        row = each.row if isinstance(each, UnexpectedRow) else each[1]
        triples: tuple[str, ...] = ()
        if evidence is not None and number < MAX_EXPLAINED_ROWS and evidence.cost <= EXPLANATION_BUDGET:
            if isinstance(each, UnexpectedRow):
                t, held = each.newest, evidence.held(evidence.seen(each.newest, -2 * evidence.width))
            else:
                t, held = each[0].t, evidence.held(evidence.elements(each[0].t, each[0].seq))
            triples = explain_row(evidence, held, _terms(row), t)
        yield RowExplanation(row=row, triples=triples)


def find_row_faults(trial: JudgeInput, found: RowMatch) -> list[Fault]:
    """Return what is wrong with the rows: none came, some came again, or others than those expected."""
    if not found.missing and not found.extra:
        return []
    if not found.hits and not found.extra:
        return [Fault(FaultKind.SILENT)]
    expected = {found.values.number(row) for _, row, _ in found.hits}
    if not found.missing and all(found.values.number(each.row) in expected for each in found.extra):
        return [Fault(FaultKind.REPEATS, f"{len(found.extra)} rows came again")]
    if trial.ending is not None and not found.extra:
        return []  # rows missing because the run ended are not a fault of their own
    return [Fault(FaultKind.UNKNOWN, f"{len(found.missing)} rows missing, {len(found.extra)} too many")]

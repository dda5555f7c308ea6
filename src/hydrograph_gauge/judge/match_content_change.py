"""Matching for content change: rows of an engine that answers as soon as it can, in order of arrival, by slides.

As in YABench, each new row of an event is expected once. An answer is a hit if an equal row (A12) is still expected; an
unexpected row counts for the slide in which it came. Precision and
recall are those of each slide, and over all rows for the engine as a whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
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
    BorderShift,
    Evidence,
    WindowTriples,
    explain_row,
    triple_texts,
)
from hydrograph_gauge.judge.faults import Fault, FaultKind
from hydrograph_gauge.judge.gracious_mode import (
    Claim,
    GraciousSearch,
    RecoveredRetention,
    explain_claims,
    is_explained,
    recover_retention,
)
from hydrograph_gauge.judge.judge_input import ExpectedReport, JudgeInput
from hydrograph_gauge.judge.row_compare import RowNumbers
from hydrograph_gauge.judge.row_faults import match_but_for_datatype, name_changes
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import RowExplanation, RowText, SmallestDifference, WindowRecord


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
    by: Comparison = Comparison.EXACT
    disordered: int = 0
    """Answers that came after one to a later event."""

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
    found = RowMatch(values=RowNumbers(trial.comparison), by=trial.comparison)
    waiting: defaultdict[int, deque[tuple[ExpectedReport, RowText]]] = defaultdict(deque)
    for due in trial.due:
        for row in due.rows.elements():
            waiting[found.values.number(row)].append((due, row))
    last = trial.due[0].t if trial.due else 0
    newest = _Newest(trial.handed)
    latest: Instant | None = None
    for said in trial.said:
        spare = []
        times = []
        for row in said.rows.elements():
            if expecting := waiting[found.values.number(row)]:
                due, _ = expecting.popleft()
                found.hits.append((due, row, said.at))
                last = max(last, due.t)
                times.append(due.t)
            else:
                spare.append(row)
        # The rows of one answer have no order, so those that nothing expects count where the others do.
        t = said.t if said.t is not None else last
        late = t if said.t is not None else max(t, newest.by(said.at))
        found.extra += [UnexpectedRow(t, row, late) for row in spare]
        if times:
            found.disordered += latest is not None and max(times) < latest
            latest = max(times) if latest is None else max(latest, *times)
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


def _claims(
    extra: Sequence[UnexpectedRow], missing: Sequence[tuple[ExpectedReport, RowText]], by: Comparison
) -> Iterator[Claim]:
    """Yield what is to be explained: rows that should not have come, and rows that should."""
    yield from (Claim(each.newest, None, _terms(each.row), extra=True, by=by) for each in extra)
    yield from (Claim(due.t, due.seq, _terms(row), extra=False, by=by) for due, row in missing)


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
            claims = list(_claims(slide.extra, slide.missing, trial.comparison))
            kept = grace.within(given, partial(recover_retention, given, claims, trial.slide))
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
        missing=tuple(_blamed(evidence, slide.missing, trial.comparison)),
        extra=tuple(_blamed(evidence, slide.extra, trial.comparison)),
    )


def _share(hits: int, of: int, *, empty: bool) -> float:
    return hits / of if of else float(empty)


def _blamed(
    evidence: Evidence | None, rows: Sequence[UnexpectedRow | tuple[ExpectedReport, RowText]], by: Comparison
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
            triples = explain_row(evidence, held, _terms(row), t, by)
        yield RowExplanation(row=row, triples=triples)


_SEARCH_BUDGET = 2_000_000
"""Cost of the search for a cause, in triples that the evaluator reads."""
_EXPLAINED = 60
"""Wrong rows that a cause must explain, extra and missing ones each."""
_DISTANCES = 40
"""Distances of the start of windows that are tried."""
_EVER = -(10**15)
"""Moves the start of windows before every element."""
_SHOWN_TRIPLES = 60


def find_row_faults(
    trial: JudgeInput, found: RowMatch, evidence: Callable[[], Evidence | None] = lambda: None
) -> list[Fault]:
    """Return what is wrong with the rows: none came, some came again or out of order, or others than those expected."""
    if not found.missing and not found.extra:
        return [Fault(FaultKind.DISORDER, f"{found.disordered} of {len(trial.said)}")] if found.disordered else []
    if not found.hits and not found.extra:
        return [Fault(FaultKind.SILENT)]
    expected = {found.values.number(row) for _, row, _ in found.hits}
    if not found.missing and all(found.values.number(each.row) in expected for each in found.extra):
        return [Fault(FaultKind.REPEATS, f"{len(found.extra)} rows came again")]
    if trial.ending is not None and not found.extra:
        return []  # rows missing because the run ended are not a fault of their own
    missing, extra = [_terms(row) for _, row in found.missing], [_terms(each.row) for each in found.extra]
    retyped = match_but_for_datatype(missing, extra)
    if retyped is not None:
        return [Fault(FaultKind.DATATYPE, name_changes(retyped))]
    given = evidence()
    fault = None
    if given is not None and given.has_borders:
        fault = _find_retention(given, found) or _find_missing_eviction(given, found)
    return [fault or _find_plain(given, found)]


def _find_retention(evidence: Evidence, found: RowMatch) -> Fault | None:
    """Return how much longer or shorter elements stay than they should, if one distance explains every wrong row."""
    budget = evidence.cost + _SEARCH_BUDGET
    claims = list(_claims(found.extra[:_EXPLAINED], found.missing[:_EXPLAINED], found.by))
    first = claims[0]
    # Rows that came must be made by what stays, too; windows that t0 cuts off have another length.
    hits = [(due, row) for due, row, _ in found.hits if evidence.is_whole(due.t)]
    step = max(1, len(hits) // _EXPLAINED)
    claims += [Claim(due.t, due.seq, _terms(row), extra=True, by=found.by) for due, row in hits[::step]]
    opens = evidence.opens(first.t)
    before = [t - opens for t in reversed(evidence.times(opens - evidence.width, opens))]
    behind = [t + 1 - opens for t in evidence.times(opens, first.t + 1)]
    for moved in sorted([*before[:_DISTANCES], *behind[:_DISTANCES]], key=abs):
        if evidence.cost > budget:
            return None
        # Most distances are ruled out by a single row.
        if is_explained(evidence, first, moved) and all(explain_claims(evidence, claims, moved)):
            long = moved < 0
            kind = FaultKind.EVICTS_LATE if long else FaultKind.OPENS_LATE
            how = f"elements stay at least {abs(moved)} ms too {'long' if long else 'short'}"
            return Fault(kind, how, BorderShift(moved))
    return None


def _find_missing_eviction(evidence: Evidence, found: RowMatch) -> Fault | None:
    """Return the fault of rows that are made with expired elements, if all extra rows are such.

    A row of such an engine never becomes new again, so rows that came before may be missing.
    """
    if not found.extra:
        return None
    budget = evidence.cost + _SEARCH_BUDGET
    came = {found.values.number(row) for _, row, _ in found.hits}
    came |= {found.values.number(each.row) for each in found.extra}
    if any(found.values.number(row) not in came for _, row in found.missing):
        return None
    claims = list(_claims(found.extra[:_EXPLAINED], (), found.by))
    if any(explain_claims(evidence, claims, 0)):
        return None
    for explained in explain_claims(evidence, claims, _EVER):
        if not explained or evidence.cost > budget:
            return None
    rows = f"{len(found.extra)} rows are still made with elements that have expired"
    return Fault(FaultKind.NO_EVICTION, rows)


def _find_plain(evidence: Evidence | None, found: RowMatch) -> Fault:
    """Return the fault of rows that are lost, or that nothing in the stream makes; otherwise that it is not known."""
    missing, extra = len(found.missing), len(found.extra)
    if not extra:
        return Fault(FaultKind.LOSES_ROWS, f"{missing} rows")
    if not missing and evidence is not None and evidence.has_borders:
        claims = list(_claims(found.extra[:_EXPLAINED], (), found.by))
        if not any(explain_claims(evidence, claims, _EVER)):
            return Fault(FaultKind.INVENTS_ROWS, f"{extra} rows, which nothing in the stream makes")
    return Fault(FaultKind.UNKNOWN, f"{missing} rows missing, {extra} too many")


def find_smallest(found: RowMatch, evidence: Evidence | None) -> SmallestDifference | None:
    """Return the window with the fewest triples in which a row is wrong, with its triples where there is evidence."""
    wrong: list[tuple[Instant, int | None, RowText, bool]] = [
        *((each.newest, None, each.row, True) for each in found.extra[:_EXPLAINED]),
        *((due.t, due.seq, row, False) for due, row in found.missing[:_EXPLAINED]),
    ]
    if not wrong:
        return None
    contents: dict[tuple[Instant, int | None], WindowTriples] = {}
    for t, seq, _, _ in wrong:
        if evidence is not None and (t, seq) not in contents:
            contents[t, seq] = evidence.held(evidence.elements(t, seq))
    t, seq, row, is_extra = min(wrong, key=lambda each: (len(contents.get(each[:2], ())), each[0]))
    held = contents.get((t, seq), frozenset())
    return SmallestDifference(
        t=t,
        triples=triple_texts(held)[:_SHOWN_TRIPLES],
        content=len(held),
        missing=() if is_extra else (row,),
        extra=(row,) if is_extra else (),
    )

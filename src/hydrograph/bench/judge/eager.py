"""Engines that answer as soon as they can: rows are matched in the order in which they come, and told by slides.

As YABench does for content change: what is new at each event is expected once, row by row. An answer is a hit if the
same row is still expected; a row that nothing expects counts for the slide in which it came. Numbers are equal by
value, without the tolerance that sums of doubles have where whole answers are compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median

from hydrograph.bench.judge.faults import Fault, Kind
from hydrograph.bench.judge.trial import Due, Trial
from hydrograph.bench.oracle.compare import row_value
from hydrograph.bench.results import Blame, RowText, Window
from hydrograph.rdf.encoding import decode
from hydrograph.temporal import Instant

_ROWS = 20


@dataclass(slots=True)
class _Slide:
    """What was expected in one slide, and what came for it."""

    hits: int = 0
    missing: list[RowText] = field(default_factory=list)
    extra: list[RowText] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Matched:
    """Expected rows with when they came, rows that nothing expected with when that was, and what never came."""

    hits: list[tuple[Due, RowText, float]] = field(default_factory=list)
    extra: list[tuple[Instant, RowText]] = field(default_factory=list)
    missing: list[tuple[Due, RowText]] = field(default_factory=list)


def matched(trial: Trial) -> Matched:
    """Match what came with what was expected, each row with the first that waits for it."""
    waiting: defaultdict[Hashable, deque[tuple[Due, RowText]]] = defaultdict(deque)
    for due in trial.due:
        for row in due.rows.elements():
            waiting[_value(row)].append((due, row))
    found = Matched()
    last = trial.due[0].t if trial.due else 0
    for said in trial.said:
        for row in said.rows.elements():
            if expecting := waiting[_value(row)]:
                due, _ = expecting.popleft()
                found.hits.append((due, row, said.at))
                last = max(last, due.t)
            else:
                found.extra.append((said.t if said.t is not None else last, row))
    found.missing = sorted((each for left in waiting.values() for each in left), key=lambda each: each[0].t)
    return found


@lru_cache(maxsize=200_000)
def _value(row: RowText) -> Hashable:
    return row_value(tuple(None if text is None else decode(text) for text in row))


def windows(trial: Trial, found: Matched) -> list[Window]:
    """Return one record for each slide that expects or gets anything; precision and recall are those of its rows."""
    assert trial.slide is not None
    slides: defaultdict[int, _Slide] = defaultdict(_Slide)
    for due, _, at in found.hits:
        slide = slides[due.t // trial.slide]
        slide.hits += 1
        since = trial.due_at(due) if trial.due_at is not None else None
        if since is not None:
            slide.delays.append(at - since)
    for due, row in found.missing:
        slides[due.t // trial.slide].missing.append(row)
    for t, row in found.extra:
        slides[t // trial.slide].extra.append(row)
    return [_window(trial, number, slide) for number, slide in sorted(slides.items())]


def _window(trial: Trial, number: int, slide: _Slide) -> Window:
    assert trial.slide is not None
    expected, actual = slide.hits + len(slide.missing), slide.hits + len(slide.extra)
    return Window(
        key=trial.key,
        t=(number + 1) * trial.slide,
        open=number * trial.slide,
        close=(number + 1) * trial.slide,
        expected=expected,
        actual=actual,
        precision=slide.hits / actual if actual else float(not expected),
        recall=slide.hits / expected if expected else float(not actual),
        delay=median(slide.delays) if slide.delays else None,
        missing=tuple(Blame(row=row) for row in slide.missing[:_ROWS]),
        extra=tuple(Blame(row=row) for row in slide.extra[:_ROWS]),
    )


def faults(trial: Trial, found: Matched) -> list[Fault]:
    """Return what is wrong with the rows: none came, some came again, or others than those expected."""
    if not found.missing and not found.extra:
        return []
    if not found.hits and not found.extra:
        return [Fault(Kind.SILENT)]
    expected = Counter(_value(row) for _, row, _ in found.hits)
    if not found.missing and all(_value(row) in expected for _, row in found.extra):
        return [Fault(Kind.REPEATS, f"{len(found.extra)} rows came again")]
    if trial.ending is not None and not found.extra:
        return []  # what it did not come to say is no fault of its own
    return [Fault(Kind.UNKNOWN, f"{len(found.missing)} rows missing, {len(found.extra)} too many")]

"""Window by window: precision, recall, borders, delay and sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

from hydrograph.bench.report.document import (
    Axis,
    Block,
    Choice,
    Lines,
    Option,
    Panel,
    Point,
    Section,
    Series,
    Span,
    Spans,
    Text,
    section,
)
from hydrograph.bench.report.gather import Answered, Asked, Condition, Run
from hydrograph.bench.report.sections.measures import counted, thin

POINTS = 240_000
"""Points of all series together: what a browser shows at once is little, but the page carries all of it."""
LONGEST = 400
"""Points of one series; no screen shows more."""
BORDERS = 24
"""Windows of one query whose borders are drawn."""


class _Mean(NamedTuple):
    """One window over all repetitions."""

    t: int
    precision: float
    recall: float
    delay: float | None
    expected: float
    actual: float


def windows(run: Run) -> Section | None:
    """Return the charts of each query under each condition, one of which is shown."""
    groups: dict[tuple[Condition, str], list[Asked]] = defaultdict(list)
    for asked in run.windows:
        groups[asked.condition, asked.query].append(asked)
    if not groups:
        return None
    most = max(20, min(LONGEST, POINTS // (5 * max(1, len(run.windows)))))
    options = []
    for condition in run.conditions:
        for query in run.queries:
            if (condition, query) in groups:
                blocks = tuple(_charts(run, condition, query, groups[condition, query], most))
                options.append(Option(f"{query}, {condition.label}", blocks))
    longest = max(len(found) for found in run.windows.values())
    note = Text(
        f"Series of more than {most} windows are drawn with neighbours put together: of precision and recall the "
        "lowest value stands for them, of delay the median, of sizes the largest."
    )
    return section("Windows", note if longest > most else None, Choice("Query and test", tuple(options)))


def _charts(run: Run, condition: Condition, query: str, found: Sequence[Asked], most: int) -> Iterator[Block]:
    series = {asked.engine: _means(run.windows[asked]) for asked in found}
    present = [(place, engine) for place, engine in enumerate(run.engines) if series.get(engine)]
    if present:
        yield _correctness(run, condition, query, series, present, most)
        yield _delay(condition, query, series, present, most)
    spans = tuple(_spans(run, found))
    if spans:
        left = f" The first {BORDERS} are drawn." if len(spans) > BORDERS else ""
        yield Spans(
            f"Borders of windows of {query} in test {condition.label} that were not used as expected: as expected "
            f"(grey), and as the answer shows that they were used.{left}",
            Axis("event time", "seconds", "s"),
            spans[:BORDERS],
        )


def _correctness(
    run: Run,
    condition: Condition,
    query: str,
    series: dict[str, list[_Mean]],
    present: list[tuple[int, str]],
    most: int,
) -> Lines:
    numbers = [len(run.windows[Asked(condition, query, engine)]) for _, engine in present]
    wrong = sum(run.wrong_count.get(Asked(condition, query, engine), 0) for _, engine in present)
    return Lines(
        f"Precision and recall of {query} in test {condition.label}, by window, at the time when its answer was due. "
        f"{wrong:,} of {counted(sum(numbers), 'window')} of all engines are wrong.",
        Axis("event time", "seconds", "s"),
        (
            Panel(Axis("precision", "share", top=1.0), _series(series, present, lambda w: w.precision, most, min)),
            Panel(Axis("recall", "share", top=1.0), _series(series, present, lambda w: w.recall, most, min)),
        ),
        marks="both",
    )


def _delay(
    condition: Condition, query: str, series: dict[str, list[_Mean]], present: list[tuple[int, str]], most: int
) -> Lines:
    _, first = max(present, key=lambda each: len(series[each[1]]))
    expected = Series("expected", None, _points(series[first], lambda w: w.expected, most, max))
    sizes = (expected, *_series(series, present, lambda w: w.actual, most, max))
    return Lines(
        f"Delay of the answers of {query} in test {condition.label}, with the sizes of the results. A window without "
        "an answer has no delay; an answer that came before its window was over has a negative one.",
        Axis("event time", "seconds", "s"),
        (
            Panel(Axis("delay", "ms", "ms"), _series(series, present, lambda w: w.delay, most, median)),
            Panel(Axis("result size", "count", "rows"), sizes),
        ),
        marks="both",
    )


def _means(found: Sequence[Answered]) -> list[_Mean]:
    """Return one line for each time at which an answer was due, in order; answers nobody expected have no time."""
    by_time: dict[int, list[Answered]] = defaultdict(list)
    for each in found:
        if each.t is not None:
            by_time[each.t].append(each)
    means = []
    for t, some in sorted(by_time.items()):
        delays = [each.delay for each in some if each.delay is not None]
        means.append(
            _Mean(
                t,
                fmean(each.precision for each in some),
                fmean(each.recall for each in some),
                fmean(delays) if delays else None,
                fmean(each.expected for each in some),
                fmean(each.actual for each in some),
            )
        )
    return means


def _series(
    series: dict[str, list[_Mean]],
    present: list[tuple[int, str]],
    value: Callable[[_Mean], float | None],
    most: int,
    pick: Callable[[list[float]], float],
) -> tuple[Series, ...]:
    return tuple(Series(engine, place, _points(series[engine], value, most, pick)) for place, engine in present)


def _points(
    means: list[_Mean], value: Callable[[_Mean], float | None], most: int, pick: Callable[[list[float]], float]
) -> tuple[Point, ...]:
    return thin([(each.t / 1000, value(each)) for each in means], most, pick)


def _spans(run: Run, found: Sequence[Asked]) -> Iterator[Span]:
    """Return the windows whose borders were moved, of the first repetition."""
    for asked in found:
        for each in run.windows[asked]:
            if each.repetition or each.used is None or each.open is None or each.close is None:
                continue
            if each.used != (each.open, each.close):
                expected = each.open / 1000, each.close / 1000
                used = each.used[0] / 1000, each.used[1] / 1000
                yield Span(f"{each.close / 1000:,g} s", expected, used, asked.engine, run.engines.index(asked.engine))

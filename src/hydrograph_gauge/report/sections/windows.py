"""Section with charts by window: precision, recall, borders, delay and sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, TypeAlias

from hydrograph_gauge.report.document import (
    Axis,
    Block,
    BorderSpan,
    Choice,
    Lines,
    Option,
    Panel,
    Point,
    Section,
    Series,
    Spans,
    Text,
    section,
)
from hydrograph_gauge.report.run_data import Condition, QueryRun, RunData
from hydrograph_gauge.report.sections.measures import axis, base, counted, listed, thin

POINTS = 240_000
"""Points of all series together: a browser draws few at a time, but the page contains all of them."""
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


_Value: TypeAlias = Callable[[_Mean], float | None]
_Pick: TypeAlias = Callable[[list[float]], float]


def show_windows(run: RunData) -> Section | None:
    """Return the charts of each query under each condition, one of which is shown."""
    groups: dict[tuple[Condition, str], list[QueryRun]] = defaultdict(list)
    for asked in run.windows:
        groups[asked.condition, asked.query].append(asked)
    if not groups:
        return None
    most = max(20, min(LONGEST, POINTS // (5 * max(1, len(run.windows)))))
    means = _means(run)
    options = []
    for condition in run.conditions:
        for query in run.queries:
            if (condition, query) in groups:
                blocks = tuple(_charts(run, groups[condition, query], means, most))
                options.append(Option(f"{query}, {condition.label}", blocks))
    longest = max(len(found) for found in run.windows.values())
    note = Text(
        f"In series of more than {most} windows neighbours are merged: the chart shows their lowest precision and "
        "recall, their median delay and their largest size."
    )
    return section(
        "Windows", note if longest > most else None, _after_last(run), Choice("Query and test", tuple(options))
    )


def _after_last(run: RunData) -> Text | None:
    """Return how many windows were not answered because no element showed that they were over."""
    counts: dict[str, int] = defaultdict(int)
    for asked, found in run.outcomes.items():
        counts[asked.engine] += sum(outcome.after_last for outcome in found)
    named = [f"{counted(count, 'window')} of {engine}" for engine, count in counts.items() if count]
    if not named:
        return None
    return Text(
        f"Not judged, because they close after the last element and were not answered: {listed(named)}. Without a "
        "later element, or an explicit end of the stream, an engine cannot know that they are over."
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Windows of one query under one condition, by engine, with at most `most` points each."""

    what: str
    series: Mapping[str, list[_Mean]]
    present: tuple[tuple[int, str], ...]
    """Engines with windows, each with its place among all engines."""
    x: Axis
    most: int

    def lines(self, value: _Value, pick: _Pick) -> tuple[Series, ...]:
        """Return a line for each engine."""
        return tuple(Series(engine, place, self.points(engine, value, pick)) for place, engine in self.present)

    def points(self, engine: str, value: _Value, pick: _Pick) -> tuple[Point, ...]:
        """Return the points of one engine, few enough to be drawn."""
        return thin([(each.t / 1000, value(each)) for each in self.series[engine]], self.most, pick)


def _charts(
    run: RunData, found: Sequence[QueryRun], means: Mapping[QueryRun, list[_Mean]], most: int
) -> Iterator[Block]:
    condition, query, _ = found[0]
    bases = {at.engine: base(run.windows[at]) for at in found}
    series = {at.engine: [each._replace(t=each.t - bases[at.engine]) for each in means.get(at, [])] for at in found}
    present = tuple((place, engine) for place, engine in enumerate(run.engines) if series.get(engine))
    drawn = _Drawn(f"{query} in test {condition.label}", series, present, axis(bases.values()), most)
    if present:
        total = sum(len(run.windows[asked]) for asked in found)
        yield _correctness(drawn, sum(run.wrong_count.get(asked, 0) for asked in found), total)
        yield _delay(drawn)
    spans = tuple(_spans(run, found, bases))
    if spans:
        left = f" The first {BORDERS} are drawn." if len(spans) > BORDERS else ""
        yield Spans(
            f"Borders of windows of {drawn.what} that differ from the expected ones: expected (grey), and as "
            f"the answer shows them.{left}",
            drawn.x,
            spans[:BORDERS],
        )


def _correctness(drawn: _Drawn, wrong: int, total: int) -> Lines:
    return Lines(
        f"Precision and recall of {drawn.what}, by window, at the time when its answer was due. "
        f"{wrong:,} of {counted(total, 'window')} of all engines are wrong.",
        drawn.x,
        (
            Panel(Axis("precision", "share", top=1.0), drawn.lines(lambda w: w.precision, min)),
            Panel(Axis("recall", "share", top=1.0), drawn.lines(lambda w: w.recall, min)),
        ),
        marks="both",
    )


def _delay(drawn: _Drawn) -> Lines:
    return Lines(
        f"Delay of the answers of {drawn.what}, with the sizes of the results. A window without an answer has no "
        "delay; an answer that came before its window was over has a negative one.",
        drawn.x,
        (
            Panel(Axis("delay", "ms", "ms"), drawn.lines(lambda w: w.delay, median)),
            Panel(Axis("result size", "count", "rows"), (*_expected(drawn), *drawn.lines(lambda w: w.actual, max))),
        ),
        marks="both",
    )


def _expected(drawn: _Drawn) -> Iterator[Series]:
    """Yield the expected sizes: once if they are the same for all engines, else for each group of equal ones."""
    shared: dict[tuple[Point, ...], list[str]] = {}
    for _, engine in drawn.present:
        shared.setdefault(drawn.points(engine, lambda w: w.expected, max), []).append(engine)
    for points, engines in shared.items():
        yield Series("expected" if len(shared) == 1 else f"expected of {listed(engines)}", None, points)


def _means(run: RunData) -> dict[QueryRun, list[_Mean]]:
    """Return the means over repetitions of each window, in order of time; unexpected answers have no time."""
    means: dict[QueryRun, list[_Mean]] = {}
    for condition, query, engine, *figures in run.sql(
        "SELECT condition, query, engine, t, avg(precision), avg(recall), avg(delay), avg(expected), avg(actual) "
        "FROM windows WHERE t IS NOT NULL AND condition IS NOT NULL AND query IS NOT NULL "
        "GROUP BY condition, query, engine, t ORDER BY t"
    ):
        at = QueryRun(run.conditions[condition], run.queries[query], run.engines[engine])
        means.setdefault(at, []).append(_Mean(*figures))
    return means


def _spans(run: RunData, found: Sequence[QueryRun], bases: Mapping[str, int]) -> Iterator[BorderSpan]:
    """Return the windows whose borders were moved, of the first repetition."""
    for asked in found:
        for each in run.windows[asked]:
            if each.repetition or each.used is None or each.open is None or each.close is None:
                continue
            if each.used != (each.open, each.close):
                start, place = bases[asked.engine], run.engines.index(asked.engine)
                expected = (each.open - start) / 1000, (each.close - start) / 1000
                used = (each.used[0] - start) / 1000, (each.used[1] - start) / 1000
                yield BorderSpan(f"{expected[1]:,g} s", expected, used, asked.engine, place)

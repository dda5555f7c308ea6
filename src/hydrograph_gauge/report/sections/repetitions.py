"""Box plots over repetitions: how far figures can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hydrograph_gauge.report.document import Axis, Block, Boxes, BoxPanel, BoxPlot, Choice, Option, Section, section
from hydrograph_gauge.report.gather import Answered, Asked, Condition, Run
from hydrograph_gauge.report.sections.measures import box
from hydrograph_gauge.report.sections.times import base
from hydrograph_gauge.results import Outcome

WINDOWS = 12
"""Windows that get boxes of their own; of a longer run the first."""

_OF_WINDOWS: tuple[tuple[Axis, Callable[[Answered], float | None]], ...] = (
    (Axis("precision", "share", top=1.0), lambda each: each.precision),
    (Axis("recall", "share", top=1.0), lambda each: each.recall),
    (Axis("delay", "ms", "ms"), lambda each: each.delay),
)
_OF_RUNS: tuple[tuple[Axis, Callable[[Outcome], float | None]], ...] = (
    (Axis("median delay", "ms", "ms"), lambda each: each.delay_median),
    (Axis("executions a second", "rate", "1/s"), lambda each: each.executions_rate),
    (Axis("peak memory", "megabytes", "MB"), lambda each: each.memory_peak),
)


def repetitions(run: Run) -> Section | None:
    """Return box plots of each query, by window and by run; nothing where nothing was repeated."""
    options = []
    for condition in run.conditions:
        for query in run.queries:
            blocks = tuple(_plots(run, condition, query))
            if blocks:
                options.append(Option(f"{query}, {condition.label}", blocks))
    return section("Repetitions", Choice("Query and test", tuple(options))) if options else None


def _plots(run: Run, condition: Condition, query: str) -> Iterator[Block]:
    numbers = {e: len({each.key.repetition for each in run.outcome(condition, query, e)}) for e in run.engines}
    engines = [(place, engine) for place, engine in enumerate(run.engines) if numbers[engine] > 1]
    if not engines:
        return
    whiskers = f"Over {max(numbers.values())} repetitions: median, quartiles, least and greatest."
    panels = []
    for axis, measure in _OF_RUNS:
        series = []
        for place, engine in engines:
            values = [value for each in run.outcome(condition, query, engine) if (value := measure(each)) is not None]
            if found := box(values):
                series.append(Boxes(engine, place, (found,)))
        if series:
            panels.append(BoxPanel(axis, tuple(series)))
    if panels:
        yield BoxPlot(f"{query} in test {condition.label}. {whiskers}", ("",), tuple(panels))
    yield from _by_window(run, condition, query, engines, whiskers)


def _by_window(
    run: Run, condition: Condition, query: str, engines: list[tuple[int, str]], whiskers: str
) -> Iterator[Block]:
    found: dict[str, dict[int, list[Answered]]] = {}
    for _, engine in engines:
        by_time = found.setdefault(engine, {})
        windows = run.windows.get(Asked(condition, query, engine), [])
        start = base(windows)
        for each in windows:
            if each.t is not None:
                by_time.setdefault(each.t - start, []).append(each)
    times = sorted({t for by_time in found.values() for t in by_time})
    if not times:
        return
    panels = []
    for axis, measure in _OF_WINDOWS:
        series = tuple(
            Boxes(engine, place, tuple(box(_values(found[engine].get(t, []), measure)) for t in times[:WINDOWS]))
            for place, engine in engines
        )
        panels.append(BoxPanel(axis, series))
    first = f" The first {WINDOWS} of {len(times):,} windows." if len(times) > WINDOWS else ""
    groups = tuple(f"{t / 1000:,g} s" for t in times[:WINDOWS])
    yield BoxPlot(f"Windows of {query} in test {condition.label}. {whiskers}{first}", groups, tuple(panels))


def _values(found: list[Answered], measure: Callable[[Answered], float | None]) -> list[float]:
    return [value for each in found if (value := measure(each)) is not None]

"""Latency of one query under a load that is played by the clock, on a live query or on another engine.

Latency is the time from the hand-over of the first element after a window to the window's report. An engine that goes
by the clock executes once a step after its first element; its answers belong to the nearest step.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hydrograph import api
from hydrograph.api import LiveQuery, ResultUnit
from hydrograph.compile.compiler import answer_columns
from hydrograph.errors import RunError
from hydrograph.rdf.terms import Iri
from hydrograph.streams.static_graphs import Given
from hydrograph.temporal import Instant
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.registry import start_command
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, run_session
from hydrograph_gauge.experiments.max_rate import is_growing
from hydrograph_gauge.measure.load import (
    CHANGE_QUERIES,
    GROWTH_QUERIES,
    QUERIES,
    SLICE,
    STEP,
    STREAM,
    EventSlice,
    draw_kinds,
    make_elements,
    make_slices,
    make_static,
    set_window,
)
from hydrograph_gauge.player import WallClock, pace

WARM_UP = {"local": 10_000, "spark": 25_000}
"""Milliseconds of the stream whose reports are left out of latencies; the Java machine compiles for longer."""
_QUERY = "measured"


@dataclass(slots=True)
class LatencyFigures:
    """Figures of one run."""

    latencies: list[float] = field(default_factory=list)
    """Milliseconds from the hand-over of the first element after a window to its report, in order."""
    behind: float = 0.0
    """Largest delay of the player, in milliseconds."""
    steps: dict[str, float] = field(default_factory=dict)
    """Milliseconds of each step of the driver in the whole run."""
    reports: int = 0
    rows: int = 0
    seconds: float = 0.0
    evaluation: str = ""
    """Evaluation strategy, as the status describes it."""
    cpu: float = 0.0
    """Microseconds of processor time per triple in the last third of the run, player and log included."""

    def percentile(self, share: float) -> float:
        """Return the latency that this share of the reports does not exceed."""
        return float(np.percentile(self.latencies, 100 * share)) if self.latencies else float("nan")

    @property
    def lag(self) -> str:
        """`growing` or `flat`; without any latency it is growing."""
        return "flat" if self.latencies and not is_growing(self.latencies) else "growing"

    def describe(self) -> str:
        """Return the figures as text."""
        steps = ", ".join(f"{name} {spent / max(1, self.reports):.1f}" for name, spent in self.steps.items())
        return (
            f"p50 {self.percentile(0.5):.0f} ms, p95 {self.percentile(0.95):.0f} ms, lag {self.lag}, "
            f"{self.reports} reports, {self.rows} rows, player behind {self.behind:.0f} ms"
            + (f"; ms per report: {steps}" if steps else "")
        )


def measure_live(query: str, rate: int, seconds: int, *, placement: str, driver: str = "loop") -> LatencyFigures:
    """Measure a query of the load as a live query."""
    static = make_static(rate) if query == "hybrid" else None
    slices = [*make_slices(rate, 1000 * seconds)]
    return play_live(api.query(QUERIES[query]), slices, static, placement=placement, driver=driver)


def measure_window(query: str, rate: int, seconds: int, span: str, *, placement: str) -> LatencyFigures:
    """Measure a query with another window over a stream of passing nodes."""
    text = set_window(GROWTH_QUERIES[query], span)
    return play_live(api.query(text), [*make_slices(rate, 1000 * seconds, passing=True)], None, placement=placement)


def measure_changes(query: str, rate: int, seconds: int, *, placement: str) -> LatencyFigures:
    """Measure a query that reports on content change: from the hand-over of an element to its answers.

    An instant ends when a later element arrives, so answers to the last instant of a slice wait for the next slice.
    """
    static = make_static(rate) if query == "hybrid" else None
    slices = [*make_slices(rate, 1000 * seconds)]
    changes = api.query(CHANGE_QUERIES[query], dialect="cqels")
    return play_live(changes, slices, static, placement=placement, trigger=lambda t: t - t % SLICE)


def measure_engine(name: str, query: str, rate: int, seconds: int) -> LatencyFigures:
    """Measure a query of the load on another engine."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-bench-") as directory:
        kinds = draw_kinds(rate).items()
        static = Path(directory) / "kinds.nt"
        static.write_text("".join(f"<urn:bench:n{n}> <urn:bench:kind> <urn:bench:k{kind}> .\n" for n, kind in kinds))
        files: dict[str | None, str] = {None: str(static)} if query == "hybrid" else {}
        return play_engine(name, QUERIES[query], [*make_elements(rate, 1000 * seconds)], files)


def _identity(t: int) -> int:
    return t


def play_live(
    query: api.Query,
    slices: Sequence[EventSlice],
    static: Given | None,
    *,
    placement: str,
    driver: str = "loop",
    trigger: Callable[[int], int] = _identity,
) -> LatencyFigures:
    """Push slices to a live query when they are due, and measure its reports.

    `trigger` maps the time of a report to the start of the slice that the report waits for; a report without such a
    slice has no latency.
    """
    handed: dict[int, float] = {}
    reported: dict[int, float] = {}
    figures = LatencyFigures()

    def note(unit: ResultUnit) -> None:
        reported[unit.report.t] = clock.now()
        figures.rows += len(unit.report.rows)

    (name,) = {window.stream.value for window in query.algebra.windows}
    with tempfile.TemporaryDirectory(prefix="hydrograph-bench-") as directory:
        live = query.start(
            {name: "push:"},
            static,
            checkpoint=f"{directory}/checkpoint",
            results=f"{directory}/results",
            on_unit=note,
            placement=placement,
            driver=driver,
        )
        stream = live.streams[name]
        last_third, spent = slices[2 * len(slices) // 3].start, 0.0
        clock = WallClock()
        for part, at in pace(slices, lambda part: part.start, clock):
            if part.start == last_third:
                spent = time.process_time()
            figures.behind = max(figures.behind, at - part.start)
            handed[part.start] = at
            stream.send_table(part.events)
        figures.seconds = clock.now() / 1000
        triples = sum(part.events.num_rows for part in slices if part.start >= last_third)
        figures.cpu = 1e6 * (time.process_time() - spent) / triples
        stream.end()
        live.wait()
        figures.steps = step_times(live)
        figures.evaluation = next((each["evaluation"] for each in live.status()["queries"].values()), "")
    closed = [t for t in sorted(reported) if t > WARM_UP[placement] and trigger(t) in handed]
    figures.latencies = [reported[t] - handed[trigger(t)] for t in closed]
    figures.reports = len(reported)
    return figures


def step_times(live: LiveQuery) -> dict[str, float]:
    """Return the milliseconds that a driver has spent in each of its steps."""
    return dict(live.loop.progress.totals)


@dataclass(frozen=True, slots=True)
class _BySlice:
    """Pace by event time in which all elements of a slice are due with the first of them, as for live queries."""

    def due(self, elements: Sequence[Element], first: Instant) -> Iterator[float]:  # noqa: ARG002
        """Return the start of the slice of each element."""
        return (float(element.t - element.t % SLICE) for element in elements)


def play_engine(name: str, text: str, elements: Sequence[Element], static: Mapping[str | None, str]) -> LatencyFigures:
    """Play elements to a query on an engine in a process of its own, and measure its answers."""
    stream = Iri(STREAM)
    variables = tuple(variable.name for variable in answer_columns(api.query(text).algebra))
    questions = {_QUERY: EngineQuery(text, variables)}
    session = SessionInput(questions, {stream: elements}, {stream: _BySlice()}, static)
    result = run_session(start_command(name), session, Limits())
    failure = result.outcomes.get(_QUERY)
    if failure is not None and failure.verdict is not Verdict.NO_ANSWER:
        raise RunError(f"{name}: {failure.verdict}: {failure.words}")
    figures = LatencyFigures(seconds=result.seconds, reports=result.executions[_QUERY])
    handed: dict[int, float] = {}
    for each in result.handed:
        figures.behind = max(figures.behind, each.sent - each.due)
        handed.setdefault(each.element.t, each.sent)
    for block in result.blocks[_QUERY]:
        close = STEP * round(block.at / STEP) if block.t is None else block.t
        figures.rows += block.rows.total()
        if close in handed and close > WARM_UP["local"]:
            figures.latencies.append(max(0.0, block.at - handed[close]))
    return figures

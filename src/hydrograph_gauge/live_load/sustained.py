"""`python -m hydrograph_gauge.live_load.sustained`: four queries in one driver, for half an hour, and every answer judged.

The last line is `load: <queries> queries, <reports> reports, precision <p>, recall <r>, lag <flat|growing>, memory
<flat|growing>`. Lag grows if reports of the last third of the run come clearly later than those of the first, or by
more than a window, or if the stream could not be handed over when it was due; a run that lags by minutes is given up,
and what it had reported is judged. Memory grows if the line through what
the tree of processes held after the first five minutes rises by more than a tenth of its middle until the end; of
shorter runs it is unknown.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import click
import numpy as np

from hydrograph import api
from hydrograph.live.query import LiveQuery
from hydrograph.live.results.sink import read_units
from hydrograph.live.step.units import Unit
from hydrograph.live.storage.files import LocalFiles
from hydrograph_gauge.engines.resources import Sample, Watch, slope
from hydrograph_gauge.live_load.expected import Verdict, judge
from hydrograph_gauge.live_load.load import QUERIES, RANGE, SLICE, STEP, STREAM, Measured, draws, slices, static_kinds

_MINUTE = 60_000
_SETTLED = 300.0
"""Seconds after which memory has to be flat."""
_SHARE = 0.1
"""By which part of itself memory may grow from there to the end of the run."""


_WARM = 6
"""Reports of each query at the start that say nothing about lag."""


@dataclass(slots=True)
class Heard:
    """When reports came, compared with the hand-over of what closed their windows; written by the driver's thread."""

    given: dict[int, float] = field(default_factory=dict)
    latencies: dict[str, list[float]] = field(default_factory=lambda: {query: [] for query in QUERIES})
    """Milliseconds of each report of each query, in order."""
    recent: list[float] = field(default_factory=list)
    """Those of all queries since somebody last asked."""

    last: dict[str, int] = field(default_factory=lambda: dict.fromkeys(QUERIES, RANGE - STEP))
    """The close of the newest report of each query."""

    def take(self, unit: Unit) -> None:
        """Note when a report came; none is kept."""
        self.last[unit.key.query] = unit.report.t
        at = self.given.get(unit.report.t)
        if at is not None:
            latency = 1000 * (time.perf_counter() - at)
            self.latencies[unit.key.query].append(latency)
            self.recent.append(latency)

    def lately(self) -> list[float]:
        """Return what came since the last call."""
        found, self.recent = self.recent, []
        return found

    def waiting(self) -> float:
        """Return for how many seconds the oldest report that can be made has not come."""
        at = self.given.get(min(self.last.values()) + STEP)
        return 0.0 if at is None else time.perf_counter() - at

    def lag(self, behind: float) -> str:
        """`growing` if one of the queries answers ever later, or the player was `behind` by a step.

        A stream begins without any lag: one as long as a window has grown, even if it is the same from the start on.
        """
        runs = [found[_WARM:] or found for found in self.latencies.values()]
        flat = all(Measured(run).lag == "flat" and np.median(run[-1 - len(run) // 3 :]) < RANGE for run in runs)
        return "flat" if flat and behind < STEP else "growing"


def memory_lag(samples: Sequence[Sample]) -> tuple[str, str]:
    """Return whether memory is flat after the first minutes, and the figures that say so."""
    late = [sample for sample in samples if sample.at >= _SETTLED]
    if len(late) < 2 or late[-1].at - late[0].at < 60:
        return "unknown", f"no minute of it lies behind the first {_SETTLED:.0f} s"
    middle = float(np.median([sample.memory for sample in late]))
    a_minute = 60 * slope(late)
    grown = a_minute * (late[-1].at - late[0].at) / 60
    words = (
        f"{middle:.0f} MiB in the middle after {_SETTLED:.0f} s, {a_minute:+.2f} MiB a minute, "
        f"{100 * grown / middle:+.1f} % until the end (at most {100 * _SHARE:.0f} %)"
    )
    return "flat" if grown <= _SHARE * middle else "growing", words


@click.command()
@click.option("--seconds", default=1800, show_default=True, help="Length of the stream.")
@click.option("--rate", default=10_000, show_default=True, help="Triples a second.")
@click.option("--placement", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@click.option("--patience", default=180, show_default=True, help="Seconds of lag after which the run is given up.")
@click.option("--memory", default="3g", show_default=True, help="Java's, with Spark; it takes what it may.")
def main(seconds: int, rate: int, placement: str, patience: int, memory: str) -> None:
    """Play a stream to four queries in one driver by the clock; watch lag and memory, and judge every report."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-load-") as directory:
        run = _played(Path(directory), rate, seconds, placement, patience, memory)
        units, stream = _units(Path(directory)), draws(rate, 1000 * seconds)
        verdicts = judge(units, stream, rate, QUERIES, until=run.until)
    for query, verdict in verdicts.items():
        latencies = run.heard.latencies[query]
        said = (
            f"p50 {np.percentile(latencies, 50):.0f} ms, p95 {np.percentile(latencies, 95):.0f} ms" if latencies else ""
        )
        click.echo(
            f"{query}: {verdict.reports} reports, {verdict.said} rows, {verdict.wanted} expected, "
            f"precision {verdict.precision:.6g}, recall {verdict.recall:.6g}; {said}"
        )
        for sentence in verdict.wrong[:10]:
            click.echo(f"  {sentence}")
    lag = run.heard.lag(run.behind) if run.until is None else "growing"
    growth, figures = memory_lag(run.samples)
    click.echo(f"lag: player behind by {run.behind:.0f} ms at most")
    click.echo(f"memory: {figures}")
    click.echo(_last(verdicts, lag, growth))
    if lag == "growing" or growth == "growing" or any(verdict.wrong for verdict in verdicts.values()):
        sys.exit(1)


def _last(verdicts: dict[str, Verdict], lag: str, memory: str) -> str:
    every = verdicts.values()
    precision, recall = min(each.precision for each in every), min(each.recall for each in every)
    reports = sum(each.reports for each in every)
    return (
        f"load: {len(verdicts)} queries, {reports} reports, precision {precision:.6g}, recall {recall:.6g}, "
        f"lag {lag}, memory {memory}"
    )


def _units(directory: Path) -> Iterator[tuple[str, int, str]]:
    for key, text in read_units(LocalFiles(directory / "results")):
        yield key.query, key.t, text


@dataclass(frozen=True, slots=True)
class Run:
    """What has happened."""

    heard: Heard
    samples: list[Sample]
    behind: float
    """Milliseconds by which the player fell behind, at most."""
    until: int | None
    """The time up to which windows opened whose reports came, where the run was given up."""


def _played(directory: Path, rate: int, seconds: int, placement: str, patience: int, memory: str) -> Run:
    heard = Heard()
    live = _started(directory, rate, placement, memory, heard)
    stream = live.streams[STREAM]
    behind = worst = 0.0
    with Watch(os.getpid()) as watch:
        parts = slices(rate, 1000 * seconds)
        first = next(parts)  # before the clock starts: with it come the texts of all nodes
        started, pressure = time.perf_counter(), _pressure()
        for part in chain([first], parts):
            wait = started + part.start / 1000 - time.perf_counter()
            if wait > 0:
                threading.Event().wait(wait)
            behind = max(behind, -1000 * wait)
            if part.start % STEP == 0:
                heard.given[part.start] = time.perf_counter()
            stream.send_table(part.events)
            if part.start % STEP == 0 and heard.waiting() > patience:
                click.echo(f"given up at second {part.start // 1000}: a report is {patience} s late")
                live.stop()
                click.echo(_spent(live, watch))
                return Run(heard, watch.samples, max(worst, behind), min(heard.last.values()) - RANGE + STEP)
            if (end := part.start + SLICE) % _MINUTE == 0:
                click.echo(f"minute {end // _MINUTE}: {_minute(heard, live, watch, behind, _since(pressure))}")
                behind, worst, pressure = 0.0, max(worst, behind), _pressure()
        stream.end()
        live.wait()
    click.echo(_spent(live, watch))
    return Run(heard, watch.samples, max(worst, behind), None)


def _started(directory: Path, rate: int, placement: str, memory: str, heard: Heard) -> LiveQuery:
    """Return a driver in which all queries run."""
    static = static_kinds(rate)
    (name, text), *others = QUERIES.items()
    first = api.query(text)
    live = replace(first, algebra=replace(first.algebra, name=name)).start(
        {STREAM: "push:"},
        checkpoint=directory / "checkpoint",
        results=directory / "results",
        on_unit=heard.take,
        placement=placement,
        memory=memory,
    )
    for other, words in others:
        live.add(words, static if other == "hybrid" else None, name=other)
    return live


def _minute(heard: Heard, live: LiveQuery, watch: Watch, behind: float, waited: float | None) -> str:
    latencies = heard.lately()
    lag = "no reports"
    if latencies:
        p50, p95 = np.percentile(latencies, [50, 95])
        lag = f"{len(latencies)} reports, lag p50 {p50:.0f} ms p95 {p95:.0f} ms"
    busy = "" if waited is None else f", {waited:.0f} s in which somebody waited for a processor"
    return (
        f"{lag}, memory {watch.samples[-1].memory:.0f} MiB, state rows {live.status()['state_rows']}, "
        f"player behind {behind:.0f} ms, processor {watch.cpu:.0f} s{busy}"
    )


def _spent(live: LiveQuery, watch: Watch) -> str:
    """Say where the time went."""
    totals, batches = live.runner.progress.totals, max(1, live.runner.progress.batch)
    steps = ", ".join(f"{step} {total / batches:.1f}" for step, total in totals.items())
    cores = watch.cpu / max(1.0, watch.samples[-1].at)
    return f"{batches} batches, ms of each: {steps}; processor {watch.cpu:.0f} s, {cores:.2f} cores"


def _pressure() -> float | None:
    """Return for how many seconds since the start of the machine some task has waited for a processor, if it says."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def _since(before: float | None) -> float | None:
    now = _pressure()
    return None if now is None or before is None else now - before


if __name__ == "__main__":
    main()

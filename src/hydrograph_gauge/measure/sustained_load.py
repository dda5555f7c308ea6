"""`make bench-load`: four live queries in one driver for half an hour, with every answer judged by the oracle.

The last line is `load: <queries> queries, <reports> reports, precision <p>, recall <r>, lag <flat|growing>, memory
<flat|growing>`. Lag grows if the delay of reports grows, if it reaches the length of a window, or if the player falls
behind by a step. A run that lags by minutes is stopped, and the reports until then are judged. Memory grows if the
trend line after the first five minutes rises by more than a tenth of the median until the end; for shorter runs it is
unknown.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import chain, groupby
from pathlib import Path

import click
import numpy as np
import pyarrow.parquet as pq

from hydrograph import api
from hydrograph.api import LiveQuery, ResultUnit
from hydrograph.compile.compiler import answer_columns
from hydrograph.live.results.segments import read_units
from hydrograph.live.storage.files import LocalFiles
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.streams.schema import EVENTS
from hydrograph.windows.report import Range
from hydrograph_gauge.engines.resources import ResourceMonitor, Sample, memory_growth
from hydrograph_gauge.experiments.data import open_recorded
from hydrograph_gauge.judge.row_compare import score_texts
from hydrograph_gauge.measure.latency import LatencyFigures, step_times
from hydrograph_gauge.measure.load import QUERIES, RANGE, SLICE, STEP, STREAM, make_slices, make_static
from hydrograph_gauge.oracle.evaluate_many import OracleQuery
from hydrograph_gauge.oracle.job import RecordedInput, plan_tasks, read_reports, run_local
from hydrograph_gauge.player import WallClock, pace
from hydrograph_gauge.run_records import RowText

_MINUTE = 60_000
_SETTLED = 300.0
"""Seconds after which memory has to be flat."""
_SHARE = 0.1
"""Share of itself by which memory may grow from there to the end of the run."""
_WARM_UP = 6
"""Reports of each query at the start that do not count for lag."""
_REPORTS_PER_TASK = 240

TimedReport = tuple[int, str]
"""Close of a window, and its report as a line of JSON."""


@dataclass(slots=True)
class ReportClock:
    """Delay of each report after the hand-over of the element that closed its window; called by the driver's thread."""

    clock: WallClock = field(default_factory=WallClock)
    handed: dict[int, float] = field(default_factory=dict)
    """Milliseconds at which the first element of each step was handed over."""
    latencies: dict[str, list[float]] = field(default_factory=lambda: {query: [] for query in QUERIES})
    """Milliseconds of each report of each query, in order."""
    last: dict[str, int] = field(default_factory=lambda: dict.fromkeys(QUERIES, RANGE - STEP))
    """Close of the newest report of each query."""
    _recent: list[float] = field(default_factory=list)

    def note(self, unit: ResultUnit) -> None:
        """Note the time of a report."""
        self.last[unit.key.query] = unit.report.t
        at = self.handed.get(unit.report.t)
        if at is not None:
            latency = self.clock.now() - at
            self.latencies[unit.key.query].append(latency)
            self._recent.append(latency)

    def take_recent(self) -> list[float]:
        """Return the latencies since the last call."""
        recent, self._recent = self._recent, []
        return recent

    def overdue(self) -> float:
        """Return for how many seconds the oldest possible report has been missing."""
        at = self.handed.get(min(self.last.values()) + STEP)
        return 0.0 if at is None else (self.clock.now() - at) / 1000

    def lag(self, behind: float) -> str:
        """Return `growing` if the lag of a query grows, or the player was `behind` by a step.

        A stream begins without any lag: one as long as a window has grown, even if it is constant from the start.
        """
        runs = [latencies[_WARM_UP:] or latencies for latencies in self.latencies.values()]
        flat = all(LatencyFigures(run).lag == "flat" and np.median(run[-1 - len(run) // 3 :]) < RANGE for run in runs)
        return "flat" if flat and behind < STEP else "growing"


def judge_memory(samples: Sequence[Sample]) -> tuple[str, str]:
    """Return whether memory is flat after the first minutes, and the figures behind that."""
    late = [sample for sample in samples if sample.at >= _SETTLED]
    if len(late) < 2 or late[-1].at - late[0].at < 60:
        return "unknown", f"the run has no minute after the first {_SETTLED:.0f} s"
    middle = float(np.median([sample.memory for sample in late]))
    a_minute = 60 * memory_growth(late)
    growth = a_minute * (late[-1].at - late[0].at) / 60
    words = (
        f"{middle:.0f} MiB median after {_SETTLED:.0f} s, {a_minute:+.2f} MiB a minute, "
        f"{100 * growth / middle:+.1f} % until the end (at most {100 * _SHARE:.0f} %)"
    )
    return "flat" if growth <= _SHARE * middle else "growing", words


@dataclass(slots=True)
class LoadVerdict:
    """Comparison of the reports of a query with the oracle's."""

    reports: int = 0
    said: int = 0
    """Rows in reports."""
    wanted: int = 0
    """Rows that the oracle expects."""
    right: int = 0
    """Rows in both."""
    wrong: list[str] = field(default_factory=list)
    """A sentence for every wrong report."""

    @property
    def precision(self) -> float:
        """Share of the reported rows that were expected; 1 without any."""
        return self.right / self.said if self.said else 1.0

    @property
    def recall(self) -> float:
        """Share of the expected rows that were reported; 1 without any."""
        return self.right / self.wanted if self.wanted else 1.0

    def compare(self, query: str, close: int, said: Sequence[Counter[RowText]], due: Counter[RowText] | None) -> None:
        """Compare the reports of one window with the expected rows; None where no report is due."""
        wanted = due or Counter()
        scores = [score_texts(wanted, rows) for rows in said]
        self.reports += len(said)
        self.said += sum(rows.total() for rows in said)
        self.wanted += wanted.total()
        self.right += max((score.hits for score in scores), default=0)
        if due is None:
            self.wrong.append(f"{query} at {close}: expected no report, got {len(said)}")
        elif len(said) != 1:
            self.wrong.append(f"{query} at {close}: expected one report, got {len(said)}")
        elif not scores[0].right:
            missing, extra = scores[0].difference.missing, scores[0].difference.extra
            some = next(iter(missing or extra))
            self.wrong.append(
                f"{query} at {close}: {missing.total()} rows are missing and {extra.total()} too many, such as {some}"
            )


def compute_expected(directory: Path, rate: int, milliseconds: int, until: int | None = None) -> Path:
    """Let the oracle answer the four queries over the load; return the folder of its reports.

    `until` is the close of the last window that counts, for a run that was stopped.
    """
    stream, static, target = directory / "stream.parquet", directory / "static.parquet", directory / "expected"
    with pq.ParquetWriter(stream, EVENTS) as writer:
        for part in make_slices(rate, milliseconds):
            writer.write_table(part.events)
    pq.write_table(make_static(rate), static)
    queries = []
    for name, text in QUERIES.items():
        query = api.query(text)
        queries.append(OracleQuery(name, query.algebra, query.profile.of(query.algebra)))
    recorded = RecordedInput({STREAM: open_recorded(STREAM, str(stream))}, {None: str(static)})
    parts = max(1, milliseconds // STEP * len(queries) // _REPORTS_PER_TASK)
    tasks = plan_tasks(queries, recorded, target, t0=0, within=Range(None, until), parts=parts)
    if failed := run_local(tasks, 1 if parts == 1 else None).failed:
        raise AssertionError(f"the oracle cannot answer {', '.join(failed)}")
    return target


def judge_reports(
    reports_of: Callable[[str], Iterable[TimedReport]], expected: Path, until: int | None = None
) -> dict[str, LoadVerdict]:
    """Compare the reports of each query, in order of time, with those of the oracle.

    Both are read side by side, so that neither is in memory as a whole. Reports after `until` do not count.
    """
    verdicts = {}
    for query, text in QUERIES.items():
        variables = [variable.name for variable in answer_columns(api.query(text).algebra)]
        verdict = verdicts[query] = LoadVerdict()
        due = ((report.t, 0, report.rows) for report, _ in read_reports(expected, query))
        said = ((t, 1, _parse_rows(line, variables)) for t, line in reports_of(query) if until is None or t <= until)
        for close, same in groupby(merge(due, said, key=lambda each: each[:2]), key=lambda each: each[0]):
            sides: tuple[list[Counter[RowText]], list[Counter[RowText]]] = [], []
            for _, side, rows in same:
                sides[side].append(rows)
            verdict.compare(query, close, sides[1], sides[0][0] if sides[0] else None)
    return verdicts


def _parse_rows(line: str, variables: Sequence[str]) -> Counter[RowText]:
    rows = json.loads(line)["rows"]
    return Counter(tuple(_parse_term(row.get(name)) for name in variables) for row in rows)


def _parse_term(value: Mapping[str, str] | None) -> str | None:
    if value is None:
        return None
    if value["type"] == "uri":
        return term_text(Iri(value["value"]))
    if value["type"] == "bnode":
        return term_text(BlankNode(value["value"]))
    return term_text(Literal(value["value"], value["datatype"]) if "datatype" in value else Literal(value["value"]))


@click.command()
@click.option("--seconds", default=1800, show_default=True, help="Length of the stream.")
@click.option("--rate", default=10_000, show_default=True, help="Triples a second.")
@click.option("--placement", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@click.option("--patience", default=180, show_default=True, help="Seconds of lag after which the run is stopped.")
@click.option("--memory", default="3g", show_default=True, help="Memory of the Java machine, with Spark.")
def main(seconds: int, rate: int, placement: str, patience: int, memory: str) -> None:
    """Play a stream to four queries in one driver by the clock; watch lag and memory, and judge every report."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-load-") as name:
        directory = Path(name)
        run = _play(directory, rate, seconds, placement, patience, memory)
        expected = compute_expected(directory, rate, 1000 * seconds, run.until)
        verdicts = judge_reports(lambda query: _read_results(directory, query), expected, run.until)
    for query, verdict in verdicts.items():
        latencies = run.reports.latencies[query]
        said = (
            f"p50 {np.percentile(latencies, 50):.0f} ms, p95 {np.percentile(latencies, 95):.0f} ms" if latencies else ""
        )
        click.echo(
            f"{query}: {verdict.reports} reports, {verdict.said} rows, {verdict.wanted} expected, "
            f"precision {verdict.precision:.6g}, recall {verdict.recall:.6g}; {said}"
        )
        for sentence in verdict.wrong[:10]:
            click.echo(f"  {sentence}")
    lag = run.reports.lag(run.behind) if run.until is None else "growing"
    growth, figures = judge_memory(run.samples)
    click.echo(f"lag: player behind by {run.behind:.0f} ms at most")
    click.echo(f"memory: {figures}")
    click.echo(_format_last_line(verdicts, lag, growth))
    if lag == "growing" or growth == "growing" or any(verdict.wrong for verdict in verdicts.values()):
        sys.exit(1)


def _format_last_line(verdicts: Mapping[str, LoadVerdict], lag: str, memory: str) -> str:
    every = verdicts.values()
    precision, recall = min(each.precision for each in every), min(each.recall for each in every)
    reports = sum(each.reports for each in every)
    return (
        f"load: {len(verdicts)} queries, {reports} reports, precision {precision:.6g}, recall {recall:.6g}, "
        f"lag {lag}, memory {memory}"
    )


def _read_results(directory: Path, query: str) -> Iterator[TimedReport]:
    return ((key.t, line) for key, line in read_units(LocalFiles(directory / "results")) if key.query == query)


@dataclass(frozen=True, slots=True)
class LoadRun:
    """Measurements of the run."""

    reports: ReportClock
    samples: list[Sample]
    behind: float
    """Largest delay of the player, in milliseconds."""
    until: int | None
    """Close of the last window that every query reported, where the run was stopped."""


def _play(directory: Path, rate: int, seconds: int, placement: str, patience: int, memory: str) -> LoadRun:
    reports = ReportClock()
    live = _start(directory, rate, placement, memory, reports)
    stream = live.streams[STREAM]
    behind = worst = 0.0
    with ResourceMonitor(os.getpid()) as monitor:
        slices = make_slices(rate, 1000 * seconds)
        first = next(slices)  # computes the texts of all nodes, before the clock starts
        reports.clock, pressure = WallClock(), _read_pressure()
        for part, at in pace(chain([first], slices), lambda part: part.start, reports.clock):
            behind = max(behind, at - part.start)
            if part.start % STEP == 0:
                reports.handed[part.start] = at
            stream.send_table(part.events)
            if part.start % STEP == 0 and reports.overdue() > patience:
                click.echo(f"stopped at second {part.start // 1000}: a report is {patience} s late")
                live.stop()
                click.echo(_describe_time(live, monitor))
                return LoadRun(reports, monitor.samples, max(worst, behind), min(reports.last.values()))
            if (end := part.start + SLICE) % _MINUTE == 0:
                waited = _pressure_since(pressure)
                click.echo(f"minute {end // _MINUTE}: {_describe_minute(reports, live, monitor, behind, waited)}")
                behind, worst, pressure = 0.0, max(worst, behind), _read_pressure()
        stream.end()
        live.wait()
    click.echo(_describe_time(live, monitor))
    return LoadRun(reports, monitor.samples, max(worst, behind), None)


def _start(directory: Path, rate: int, placement: str, memory: str, reports: ReportClock) -> LiveQuery:
    """Return a driver that runs all queries."""
    static = make_static(rate)
    (name, text), *others = QUERIES.items()
    first = api.query(text)
    live = replace(first, algebra=replace(first.algebra, name=name)).start(
        {STREAM: "push:"},
        checkpoint=directory / "checkpoint",
        results=directory / "results",
        on_unit=reports.note,
        placement=placement,
        memory=memory,
    )
    for other, words in others:
        live.add(words, static if other == "hybrid" else None, name=other)
    return live


def _describe_minute(
    reports: ReportClock, live: LiveQuery, monitor: ResourceMonitor, behind: float, waited: float | None
) -> str:
    latencies = reports.take_recent()
    lag = "no reports"
    if latencies:
        p50, p95 = np.percentile(latencies, [50, 95])
        lag = f"{len(latencies)} reports, lag p50 {p50:.0f} ms p95 {p95:.0f} ms"
    busy = "" if waited is None else f", {waited:.0f} s in which a task waited for a processor"
    return (
        f"{lag}, memory {monitor.samples[-1].memory:.0f} MiB, state rows {live.status()['state_rows']}, "
        f"player behind {behind:.0f} ms, processor {monitor.cpu:.0f} s{busy}"
    )


def _describe_time(live: LiveQuery, monitor: ResourceMonitor) -> str:
    """Return the time of each step of the driver, and of the processor."""
    batches = max(1, live.status()["batch"])
    steps = ", ".join(f"{step} {total / batches:.1f}" for step, total in step_times(live).items())
    cores = monitor.cpu / max(1.0, monitor.samples[-1].at)
    return f"{batches} batches, ms of each: {steps}; processor {monitor.cpu:.0f} s, {cores:.2f} cores"


def _read_pressure() -> float | None:
    """Return the seconds since boot in which some task waited for a processor, where the kernel counts them."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def _pressure_since(before: float | None) -> float | None:
    now = _read_pressure()
    return None if now is None or before is None else now - before


if __name__ == "__main__":
    main()

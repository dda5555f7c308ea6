"""Parallel oracle: expected reports of all queries of a run, cut by time into tasks, here or on Spark.

Every task slides its own store over its part of the stream, asks all queries there, and writes a file for each query:
`TARGET/<query>/<number>.parquet` with a row for each report. Any other query is one task.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hydrograph.algebra.queries import StreamOperator
from hydrograph.errors import HydrographError
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.sources import RecordedStream
from hydrograph.temporal import Instant
from hydrograph.windows.report import Range, reports
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.dataset import StaticData, TripleText, elements_of, graph_of, texts_of
from hydrograph_gauge.oracle.evaluate import evaluate_reports, place_windows
from hydrograph_gauge.oracle.evaluate_many import (
    DueReport,
    OracleQuery,
    OracleReport,
    SlidingOracle,
    StaticTexts,
    WindowView,
    can_slide,
    view_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPORTS = pa.schema(
    [
        ("t", pa.int64()),
        ("open", pa.int64()),
        ("close", pa.int64()),
        ("seq", pa.int64()),
        ("content", pa.int64()),
        ("rows", pa.list_(pa.list_(pa.string()))),
    ]
)
"""Columns of the file of a query, one row for each report; a repeated row is written repeatedly."""
FAILED = "failed.txt"
"""File in the folder of a query that the oracle cannot answer, with the reason."""
_BATCH = 2_000_000  # terms of one row group, about
_SOME = frozenset({Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))})


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """What was played: streams as encoded Parquet by IRI, static graphs as Parquet by IRI, None for the default graph.

    All tasks read them, so on a cluster they lie where every machine sees them.
    """

    streams: Mapping[str, RecordedStream]
    static: Mapping[str | None, str]


@dataclass(frozen=True, slots=True)
class OracleTask:
    """One part of the work."""

    number: int
    asked: tuple[OracleQuery, ...]
    views: Mapping[str, tuple[WindowView, ...]]
    """By query; empty if the query cannot be evaluated by sliding."""
    due: tuple[DueReport, ...]
    t0: Instant | None
    within: Range
    recorded: RecordedInput
    target: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task has written."""

    reports: int
    rows: int
    failed: tuple[str, ...] = ()


def folder_of(target: Path, query: str) -> Path:
    """Return where the reports of a query lie."""
    return target / quote(query, safe="")


def plan_tasks(
    asked: Sequence[OracleQuery],
    recorded: RecordedInput,
    target: Path,
    *,
    t0: Instant | None = None,
    within: Range = Range(),  # noqa: B008 - it is frozen
    parts: int = 8,
) -> list[OracleTask]:
    """Cut the work: sliding queries by time into `parts`, with equal numbers of reports; any other query is a task."""
    times = {name: read_event_times(stream) for name, stream in recorded.streams.items()}
    cache: dict[object, tuple[tuple[WindowView, ...], list[DueReport]]] = {}
    views: dict[str, tuple[WindowView, ...]] = {}
    due: list[DueReport] = []
    sliding = [each for each in asked if can_slide(each)]
    for each in sliding:
        windows = tuple((window.stream, window.definition) for window in each.query.windows)
        profile = replace(each.profile, name="", operator=StreamOperator.RSTREAM)
        key = windows, profile
        if key not in cache:
            cache[key] = _reports(each, times, t0, within)
        views[each.name], found = cache[key]
        due += [replace(one, name=each.name) for one in found]
    due.sort(key=lambda one: (one.t, one.name))
    tasks = [
        OracleTask(number, _of(sliding, part), views, part, t0, within, recorded, str(target))
        for number, part in enumerate(_parts(due, parts, {each.name: each for each in sliding}))
    ]
    rest = [each for each in asked if each not in sliding]
    return tasks + [
        OracleTask(len(tasks) + number, (each,), {}, (), t0, within, recorded, str(target))
        for number, each in enumerate(rest)
    ]


def _of(asked: Iterable[OracleQuery], due: Sequence[DueReport]) -> tuple[OracleQuery, ...]:
    names = {one.name for one in due}
    return tuple(each for each in asked if each.name in names)


def read_event_times(stream: RecordedStream) -> list[Element]:
    """Return an element for each time of a stream: what reports depend on, where windows close by time."""
    data = ds.dataset(list(stream.files), schema=EVENTS, format="parquet")
    unique = pc.unique(data.to_table(columns=["t"]).column("t"))
    return [Element(t, 0, _SOME) for t in sorted(unique.to_pylist())]


def _reports(
    asked: OracleQuery, times: Mapping[str, list[Element]], t0: Instant | None, within: Range
) -> tuple[tuple[WindowView, ...], list[DueReport]]:
    query, profile = asked.query, asked.profile
    elements = {Iri(name): found for name, found in times.items()}
    start = profile.start((e for window in query.windows for e in elements[window.stream]), t0)
    placed = place_windows(query, elements, profile, start)
    views = tuple(view_of(window.stream, each) for window, each in zip(query.windows, placed, strict=True))
    found = []
    for reported in reports(placed, profile.report, profile.tick, within, start):
        scope = reported.scope
        open_, close = (None, None) if scope is None else (scope.start, scope.end)
        found.append(DueReport("", reported.moment.t, open_, close))
    return views, found


def _parts(due: Sequence[DueReport], parts: int, asked: Mapping[str, OracleQuery]) -> Iterator[tuple[DueReport, ...]]:
    """Cut reports at times; each part begins with what Istream and Dstream need from before it, which is not said."""
    size = max(1, -(-len(due) // parts))
    last: dict[str, DueReport] = {}
    part: list[DueReport] = []
    before: list[DueReport] = []
    for _, same in groupby(due, key=lambda one: one.t):
        part += same
        if len(part) >= size:
            yield _with_before(part, before)
            last.update((one.name, one) for one in part)
            before = [one for name, one in last.items() if asked[name].profile.operator is not StreamOperator.RSTREAM]
            part = []
    if part:
        yield _with_before(part, before)


def _with_before(part: Sequence[DueReport], before: Iterable[DueReport]) -> tuple[DueReport, ...]:
    names = {one.name for one in part}
    known = [replace(one, said=False) for one in before if one.name in names]
    return (*sorted(known, key=lambda one: one.t), *part)


def run_task(task: OracleTask) -> TaskResult:
    """Do a task and return what it has written; one that is done already is not done again."""
    marker = Path(task.target) / f".{task.number:05}-{len(task.due)}.done"
    if marker.exists():
        reports_, rows, failed = json.loads(marker.read_text("utf-8"))
        return TaskResult(reports_, rows, tuple(failed))
    done = _slid(task) if task.views else _evaluated(task)
    marker.parent.mkdir(parents=True, exist_ok=True)
    partial = marker.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps([done.reports, done.rows, done.failed]), "utf-8")
    partial.replace(marker)
    return done


def _slid(task: OracleTask) -> TaskResult:
    streams = {}
    for name, stream in task.recorded.streams.items():
        spans = [view.content(one.t) for one in task.due for view in task.views[one.name] if view.stream == name]
        if spans:
            streams[name] = _rows(stream, min(start for start, _ in spans), max(end for _, end in spans))
    slides = SlidingOracle(task.asked, task.views, streams, _static(task.recorded))
    written = _Written(task)
    for answer in slides.answers(task.due):
        written.add(answer)
    for name, words in slides.failed.items():
        _fail(task, name, words)
    return replace(written.close(), failed=tuple(slides.failed))


def _rows(stream: RecordedStream, start: Instant, end: Instant) -> pa.Table:
    inside = (ds.field("t") >= start) & (ds.field("t") < end)
    return ds.dataset(list(stream.files), schema=EVENTS, format="parquet").to_table(
        columns=["t", "s", "p", "o"], filter=inside
    )


def _static(recorded: RecordedInput) -> StaticTexts:
    def triples(file: str) -> list[TripleText]:
        table = pq.read_table(file, columns=["s", "p", "o"])
        return list(zip(*(table.column(name).to_pylist() for name in ("s", "p", "o")), strict=True))

    default = recorded.static.get(None)
    named = {name: triples(file) for name, file in recorded.static.items() if name is not None}
    return StaticTexts(() if default is None else triples(default), named)


def _evaluated(task: OracleTask) -> TaskResult:
    """Answer one query report by report."""
    (asked,) = task.asked
    graphs = {name: graph_of(pq.read_table(file)) for name, file in task.recorded.static.items()}
    static = StaticData(graphs.pop(None, frozenset()), {Iri(str(name)): graph for name, graph in graphs.items()})
    read = {window.stream.value for window in asked.query.windows}
    elements = {Iri(name): elements_of(task.recorded.streams[name]) for name in read}
    try:
        found = evaluate_reports(
            asked.query,
            elements,
            static,
            profile=asked.profile,
            t0=task.t0,
            from_=task.within.after,
            until=task.within.until,
            text=asked.text,
        )
    except HydrographError as error:
        _fail(task, asked.name, str(error))
        return TaskResult(0, 0, (asked.name,))
    written = _Written(task)
    for report in found:
        content = -1 if report.content is None else report.content
        written.add(
            OracleReport(asked.name, report.t, report.open, report.close, content, texts_of(report.rows)), report.seq
        )
    return written.close()


def _fail(task: OracleTask, name: str, words: str) -> None:
    folder = folder_of(Path(task.target), name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FAILED).write_text(f"{words}\n", "utf-8")


class _Written:
    """Writes the reports of a task; a file appears whole or not at all."""

    def __init__(self, task: OracleTask) -> None:
        self._task = task
        self._kept: dict[str, list[tuple[object, ...]]] = {}
        self._terms: Counter[str] = Counter()
        self._writers: dict[str, tuple[pq.ParquetWriter, Path, Path]] = {}
        self._reports = self._rows = 0

    def add(self, answer: OracleReport, seq: int | None = None) -> None:
        rows = list(answer.rows.elements())
        content = None if answer.content < 0 else answer.content
        line = answer.t, answer.open, answer.close, seq, content, rows
        self._kept.setdefault(answer.name, []).append(line)
        self._terms[answer.name] += sum(map(len, rows)) + 1
        self._reports += 1
        self._rows += len(rows)
        if self._terms[answer.name] > _BATCH:
            self._flush(answer.name)

    def _flush(self, name: str) -> None:
        if name not in self._writers:
            folder = folder_of(Path(self._task.target), name)
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{self._task.number:05}.parquet"
            part_file = folder / f".{self._task.number:05}.{os.getpid()}.partial"
            self._writers[name] = pq.ParquetWriter(part_file, REPORTS, compression="zstd"), part_file, file
        columns = zip(*self._kept.pop(name), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, REPORTS, strict=True)]
        self._writers[name][0].write_table(pa.table(arrays, schema=REPORTS))
        self._terms[name] = 0

    def close(self) -> TaskResult:
        for name in list(self._kept):
            self._flush(name)
        for writer, part_file, file in self._writers.values():
            writer.close()
            part_file.replace(file)
        return TaskResult(self._reports, self._rows)


def run_local(
    tasks: Sequence[OracleTask], processes: int | None = None, done: Callable[[TaskResult], None] = lambda _: None
) -> TaskResult:
    """Do tasks in so many processes of this machine, one for each processor by default; return the sums."""
    count = min(len(tasks), processes or os.cpu_count() or 1)
    if count <= 1:
        return _sum(map(run_task, tasks), done)
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        return _sum(pool.map(run_task, tasks), done)


def run_on_spark(tasks: Sequence[OracleTask], session: SparkSession) -> TaskResult:
    """Do tasks on Spark, one partition each; return the sums."""
    if not tasks:
        return TaskResult(0, 0)
    spread = session.sparkContext.parallelize(list(tasks), len(tasks))
    return _sum(spread.map(run_task).collect(), lambda _: None)


def _sum(parts: Iterable[TaskResult], done: Callable[[TaskResult], None]) -> TaskResult:
    total = TaskResult(0, 0)
    for part in parts:
        done(part)
        failed = tuple(dict.fromkeys((*total.failed, *part.failed)))
        total = TaskResult(total.reports + part.reports, total.rows + part.rows, failed)
    return total


def read_reports(target: Path, query: str) -> Iterator[tuple[OracleReport, int | None]]:
    """Yield the reports of a query with their arrivals, in order of time rows are texts."""
    for file in sorted(folder_of(target, query).glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=64):
            for line in batch.to_pylist():
                rows = Counter(tuple(row) for row in line["rows"])
                content = -1 if line["content"] is None else line["content"]
                yield OracleReport(query, line["t"], line["open"], line["close"], content, rows), line["seq"]

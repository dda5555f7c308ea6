"""Expected reports of a run, computed by the oracle: by event time, or by the times of hand-over."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hydrograph.language import dialect_of, parse
from hydrograph.rdf.terms import Iri
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.sources import RecordedStream
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Profile, preset
from hydrograph.windows.report import Range
from hydrograph_gauge.engines import registry
from hydrograph_gauge.experiments.data import open_recorded
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.run_folder import (
    EXPECTED,
    SEARCH,
    PlayedRun,
    is_fed_independently,
    read_answers,
    read_handed,
)
from hydrograph_gauge.judge.t0_search import EngineOutput, list_t0_candidates, search_t0
from hydrograph_gauge.oracle.evaluate_many import OracleQuery
from hydrograph_gauge.oracle.job import (
    OracleTask,
    RecordedInput,
    TaskResult,
    folder_of,
    plan_tasks,
    read_event_times,
    read_reports,
    run_local,
    run_on_spark,
    run_task,
)

_DONE = "done.json"
_PARTS = 8
_LITTLE = 100_000  # triples times queries
_T0 = "t0.json"
"""The t0 of each query, where it was searched for."""
_FEWEST, _COST = 40, 4_000_000
"""How many t0 are tried at least, and so many times the triples of the streams; where more differ, not all are."""


def choose_profile(record: PlayedRun, given: str | None = None) -> Profile:
    """Return the profile by which a run is judged: the given one, the experiment's, or the engine's."""
    if (name := given or record.judging.profile) is not None:
        return preset(name)
    engine = registry.find_engine(record.engine)
    if engine is not None:
        return engine.profile
    texts = [question.text for question in record.questions.values()]
    return preset(dialect_of(texts[0]).preset) if texts else preset("rspql")


def is_judged_by_clock(record: PlayedRun) -> bool:
    """Tell whether windows are expected by the times of hand-over."""
    if record.judging.time is not None:
        return record.judging.time == "handed"
    engine = registry.find_engine(record.engine)
    return engine is not None and engine.by_clock


def expected_folder(folder: Path, place: Path, record: PlayedRun, given: str | None = None) -> Path:
    """Return the folder of the expected reports of a run; runs with the same expectation share it."""
    key = [
        choose_profile(record, given),
        {name: (question.text, question.oracle_text) for name, question in record.questions.items()},
        dict(record.streams),
        dict(record.static),
        record.judging.t0,
        record.judging.after,
        record.judging.until,
        place.name if is_judged_by_clock(record) or record.judging.t0 == SEARCH else "",
        record.judging.comparison if record.judging.t0 == SEARCH else "",
    ]
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]
    return folder / EXPECTED / digest


def compute_expected(
    folder: Path,
    place: Path,
    record: PlayedRun,
    options: RunOptions,
    *,
    given: str | None = None,
) -> Path:
    """Return the folder of the expected reports of a run; compute them if they are missing."""
    target = expected_folder(folder, place, record, given)
    if (target / _DONE).exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    profile = choose_profile(record, given)
    asked = []
    for name, question in record.questions.items():
        query = parse(question.text)
        asked.append(OracleQuery(name, query, profile.of(query), question.oracle_text))
    judging = record.judging
    within = Range(judging.after, judging.until)
    tasks: list[OracleTask] = []
    searches: list[tuple[OracleQuery, _Search]] = []
    for some in _with_the_same_input(place, record, asked):
        streams = open_streams(place, record, target, some[0].name)
        recorded = RecordedInput(streams, {name or None: file for name, file in record.static.items()})
        if judging.t0 == SEARCH:
            searches += [(each, _Search(place, record, recorded, within, options)) for each in some]
        else:
            parts = _parts(recorded, len(some))
            tasks += plan_tasks(some, recorded, target, t0=judging.t0, within=within, parts=parts)
    if judging.t0 == SEARCH:
        _search(target, searches)
        return target
    done = _answered(tasks, len(asked), options)
    _finish(target, done)
    return target


def _with_the_same_input(place: Path, record: PlayedRun, asked: Sequence[OracleQuery]) -> list[list[OracleQuery]]:
    """Return the queries in groups whose streams have the same times: each alone, where each took them alone."""
    if is_judged_by_clock(record) and is_fed_independently(place):
        return [[each] for each in asked]
    return [list(asked)] if asked else []


class ExpectedLocation(NamedTuple):
    """Where the job put the reports of a query, and the t0 they are expected for where one is known."""

    target: Path
    t0: Instant | None
    searched: bool = False


def locate_expected(target: Path, record: PlayedRun, query: str) -> ExpectedLocation:
    """Return where the reports of a query lie in the folder that `compute_expected` returned."""
    given = record.judging.t0
    if given != SEARCH:
        return ExpectedLocation(target, given)
    t0 = int(json.loads((target / _T0).read_text("utf-8"))[query])
    return ExpectedLocation(_of_t0(target, query, t0), t0, searched=True)


def _of_t0(target: Path, query: str, t0: Instant) -> Path:
    return folder_of(target, query) / f"t0 {t0}"


@dataclass(frozen=True, slots=True)
class _Search:
    """What a search for t0 is made over."""

    place: Path
    record: PlayedRun
    recorded: RecordedInput
    within: Range
    options: RunOptions


def _search(target: Path, searches: Sequence[tuple[OracleQuery, _Search]]) -> None:
    """Find the t0 of each query, and keep the reports that are expected for it."""
    chosen = {}
    total = TaskResult(0, 0)
    for each, given in searches:
        best, done = _search_one(target, each, given)
        chosen[each.name] = best
        total = TaskResult(total.reports + done.reports, total.rows + done.rows, (*total.failed, *done.failed))
        for folder in folder_of(target, each.name).iterdir():
            if folder != _of_t0(target, each.name, best):
                shutil.rmtree(folder)
    (target / _T0).write_text(json.dumps(chosen), "utf-8")
    _finish(target, total)


def _search_one(target: Path, asked: OracleQuery, given: _Search) -> tuple[Instant, TaskResult]:
    """Return the t0 of a query, and what is expected for it."""
    engine = registry.find_engine(given.record.engine)
    is_eager = engine is not None and engine.eager
    answers = EngineOutput(
        [(t, rows) for _, t, rows in read_answers(given.place, asked.name)],
        eager=is_eager,
        by=given.record.judging.comparison,
    )
    done: dict[Instant, TaskResult] = {}
    rows = _rows(given.recorded)

    def wrong(times: Sequence[Instant]) -> dict[Instant, int]:
        tasks = {t0: _tasks(target, asked, given, t0) for t0 in times}
        together = [task for some in tasks.values() for task in some]
        if rows * len(times) <= _LITTLE:
            run_local(together, 1)  # other processes take longer to start
        elif (session := given.options.session) is not None:
            run_on_spark(together, session)
        else:
            run_local(together, given.options.processes)
        found = {}
        for t0, some in tasks.items():
            parts = [run_task(task) for task in some]  # they are done: this reads what was done
            failed = tuple(name for part in parts for name in part.failed)
            done[t0] = TaskResult(sum(part.reports for part in parts), sum(part.rows for part in parts), failed)
            folder = _of_t0(target, asked.name, t0)
            found[t0] = answers.wrong((report.t, report.rows) for report, _ in read_reports(folder, asked.name))
        return found

    times = {Iri(name): [e.t for e in read_event_times(stream)] for name, stream in given.recorded.streams.items()}
    some = list_t0_candidates(asked.query, asked.profile, times, answers.named)
    most = max(_FEWEST, _COST // max(rows, 1))
    best, tried = search_t0(some, most, wrong)
    if answers.named and not answers.met:
        # None of the times is that of a report, whatever t0: then the order of the answers counts, as for CSRBench.
        answers.forget_times()
        best, tried = search_t0(list_t0_candidates(asked.query, asked.profile, times), most, wrong)
    given.options.progress(
        f"oracle: t0 of {asked.name} is {best.t0} ms: {best.wrong} rows are wrong, "
        f"the fewest of {tried} tried, of {len(some.times)} that differ"
    )
    return best.t0, done[best.t0]


def _tasks(target: Path, asked: OracleQuery, given: _Search, t0: Instant) -> list[OracleTask]:
    folder = _of_t0(target, asked.name, t0)
    folder.mkdir(parents=True, exist_ok=True)
    return plan_tasks([asked], given.recorded, folder, t0=t0, within=given.within, parts=1)


def _answered(tasks: Sequence[OracleTask], queries: int, options: RunOptions) -> TaskResult:
    """Let the oracle answer, and say how far it is."""
    options.progress(f"oracle: {queries} queries in {len(tasks)} tasks")
    if options.session is not None:
        return run_on_spark(tasks, options.session)
    begin = time.monotonic()
    finished = 0

    def count(done: TaskResult) -> None:
        nonlocal finished
        finished += 1
        if len(tasks) > 1:
            seconds = time.monotonic() - begin
            options.progress(f"oracle: task {finished} of {len(tasks)}, {done.reports} reports, after {seconds:.0f} s")

    return run_local(tasks, options.processes, count)


def _parts(recorded: RecordedInput, queries: int) -> int:
    """Return into how many tasks to cut: little work is done at once, because every task loads data of its own."""
    return _PARTS if _rows(recorded) * queries > _LITTLE else 1


def _rows(recorded: RecordedInput) -> int:
    return sum(pq.read_metadata(file).num_rows for stream in recorded.streams.values() for file in stream.files)


def _finish(target: Path, done: TaskResult) -> None:
    partial = target / f".{_DONE}.partial"
    partial.write_text(json.dumps({"reports": done.reports, "rows": done.rows, "failed": done.failed}), "utf-8")
    partial.replace(target / _DONE)


def open_streams(place: Path, record: PlayedRun, target: Path, query: str) -> dict[str, RecordedStream]:
    """Return the streams as windows are expected over them."""
    given = {name: open_recorded(name, location) for name, location in record.streams.items()}
    if not is_judged_by_clock(record):
        return given
    own = f"{list(record.questions).index(query)}-" if is_fed_independently(place) else ""
    files = {name: target / f".{own}{number}.parquet" for number, name in enumerate(given)}
    if not all(file.exists() for file in files.values()):
        handed = read_handed(place, query)
        for name, stream in given.items():
            _write_handed(stream, handed, files[name])
    return {name: open_recorded(name, str(file)) for name, file in files.items()}


def _write_handed(stream: RecordedStream, handed: pa.Table, file: Path) -> None:
    """Write a stream with the times at which its elements were handed over; what was not is left out."""
    rows = ds.dataset(list(stream.files), schema=EVENTS, format="parquet").to_table()
    mine = handed.filter(pc.equal(handed.column("stream"), stream.name))
    times: Mapping[tuple[int, int], int] = {
        (line["t"], line["seq"]): int(line["at"]) for line in mine.select(["t", "seq", "at"]).to_pylist()
    }
    keys: Sequence[tuple[int, int]] = list(
        zip(rows.column("t").to_pylist(), rows.column("seq").to_pylist(), strict=True)
    )
    at = pa.array([times.get(key) for key in keys], pa.int64())
    moved = rows.set_column(rows.schema.get_field_index("t"), "t", at)
    pq.write_table(moved.filter(pc.is_valid(at)), file)

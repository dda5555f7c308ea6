"""The oracle over what was played: expected reports by event time, or by when elements were really handed over."""

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
from hydrograph_gauge.experiments.data import opened
from hydrograph_gauge.experiments.options import Options
from hydrograph_gauge.experiments.run_folder import EXPECTED, SEARCH, PlayedRecord, read_answers, read_handed
from hydrograph_gauge.judge.t0_search import Answers, candidates, search
from hydrograph_gauge.oracle.job import (
    Done,
    Recorded,
    Task,
    elements_at,
    folder_of,
    local,
    on_spark,
    plan_tasks,
    read_reports,
    work,
)
from hydrograph_gauge.oracle.slide import Asked

_DONE = "done.json"
_PARTS = 8
_LITTLE = 100_000  # triples times queries
_T0 = "t0.json"
"""The t0 of each query, where it was searched for."""
_FEWEST, _COST = 40, 4_000_000
"""How many t0 are tried at least, and so many times the triples of the streams; where more differ, not all are."""


def profile_of(record: PlayedRecord, given: str | None = None) -> Profile:
    """Return the habits by which a run is judged: those given, the experiment's, the engine's."""
    if (name := given or record.judging.profile) is not None:
        return preset(name)
    engine = registry.known(record.engine)
    if engine is not None:
        return engine.profile
    texts = [question.text for question in record.questions.values()]
    return preset(dialect_of(texts[0]).preset) if texts else preset("rspql")


def goes_by_hand_over(record: PlayedRecord) -> bool:
    """Tell whether windows are expected by the times of hand-over."""
    if record.judging.time is not None:
        return record.judging.time == "handed"
    engine = registry.known(record.engine)
    return engine is not None and engine.by_clock


def expected_folder(folder: Path, place: Path, record: PlayedRecord, given: str | None = None) -> Path:
    """Return where the reports lie that a run is judged by; runs that expect the same share them."""
    key = [
        profile_of(record, given),
        {name: (question.text, question.oracle_text) for name, question in record.questions.items()},
        dict(record.streams),
        dict(record.static),
        record.judging.t0,
        record.judging.after,
        record.judging.until,
        place.name if goes_by_hand_over(record) or record.judging.t0 == SEARCH else "",
    ]
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]
    return folder / EXPECTED / digest


def expect(
    folder: Path,
    place: Path,
    record: PlayedRecord,
    options: Options,
    *,
    given: str | None = None,
) -> Path:
    """Return where the expected reports of a run lie; the oracle is asked if they are not there."""
    target = expected_folder(folder, place, record, given)
    if (target / _DONE).exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    profile = profile_of(record, given)
    asked = []
    for name, question in record.questions.items():
        query = parse(question.text)
        asked.append(Asked(name, query, profile.of(query), question.oracle_text))
    recorded = Recorded(streams_of(place, record, target), {name or None: file for name, file in record.static.items()})
    judging = record.judging
    within = Range(judging.after, judging.until)
    if judging.t0 == SEARCH:
        _search(target, asked, _Search(place, record, recorded, within, options))
        return target
    tasks = plan_tasks(asked, recorded, target, t0=judging.t0, within=within, parts=_parts(recorded, len(asked)))
    done = _answered(tasks, len(asked), options)
    _finish(target, done)
    return target


class Found(NamedTuple):
    """Where the job put the reports of a query, and the t0 they are expected for where one is known."""

    target: Path
    t0: Instant | None
    searched: bool = False


def found(target: Path, record: PlayedRecord, query: str) -> Found:
    """Return where the reports of a query lie in the folder that `expect` returned."""
    given = record.judging.t0
    if given != SEARCH:
        return Found(target, given)
    t0 = int(json.loads((target / _T0).read_text("utf-8"))[query])
    return Found(_of_t0(target, query, t0), t0, searched=True)


def _of_t0(target: Path, query: str, t0: Instant) -> Path:
    return folder_of(target, query) / f"t0 {t0}"


@dataclass(frozen=True, slots=True)
class _Search:
    """What a search for t0 is made over."""

    place: Path
    record: PlayedRecord
    recorded: Recorded
    within: Range
    options: Options


def _search(target: Path, asked: Sequence[Asked], given: _Search) -> None:
    """Find the t0 of each query, and keep the reports that are expected for it."""
    chosen = {}
    total = Done(0, 0)
    for each in asked:
        best, done = _search_one(target, each, given)
        chosen[each.name] = best
        total = Done(total.reports + done.reports, total.rows + done.rows, (*total.failed, *done.failed))
        for folder in folder_of(target, each.name).iterdir():
            if folder != _of_t0(target, each.name, best):
                shutil.rmtree(folder)
    (target / _T0).write_text(json.dumps(chosen), "utf-8")
    _finish(target, total)


def _search_one(target: Path, asked: Asked, given: _Search) -> tuple[Instant, Done]:
    """Return the t0 of a query, and what is expected for it."""
    engine = registry.known(given.record.engine)
    answers = Answers(
        [rows for _, _, rows in read_answers(given.place, asked.name)], eager=engine is not None and engine.eager
    )
    done: dict[Instant, Done] = {}
    rows = _rows(given.recorded)

    def wrong(times: Sequence[Instant]) -> dict[Instant, int]:
        tasks = {t0: _tasks(target, asked, given, t0) for t0 in times}
        together = [task for some in tasks.values() for task in some]
        if rows * len(times) <= _LITTLE:
            local(together, 1)  # other processes take longer to start
        elif (session := given.options.session) is not None:
            on_spark(together, session)
        else:
            local(together, given.options.processes)
        found = {}
        for t0, some in tasks.items():
            parts = [work(task) for task in some]  # they are done: this reads what was done
            failed = tuple(name for part in parts for name in part.failed)
            done[t0] = Done(sum(part.reports for part in parts), sum(part.rows for part in parts), failed)
            folder = _of_t0(target, asked.name, t0)
            found[t0] = answers.wrong(report.rows for report, _ in read_reports(folder, asked.name))
        return found

    times = {Iri(name): [e.t for e in elements_at(stream)] for name, stream in given.recorded.streams.items()}
    some = candidates(asked.query, asked.profile, times)
    best, tried = search(some, max(_FEWEST, _COST // max(rows, 1)), wrong)
    given.options.say(
        f"oracle: t0 of {asked.name} is {best.t0} ms: {best.wrong} rows are wrong, "
        f"the fewest of {tried} tried, of {len(some.times)} that differ"
    )
    return best.t0, done[best.t0]


def _tasks(target: Path, asked: Asked, given: _Search, t0: Instant) -> list[Task]:
    folder = _of_t0(target, asked.name, t0)
    folder.mkdir(parents=True, exist_ok=True)
    return plan_tasks([asked], given.recorded, folder, t0=t0, within=given.within, parts=1)


def _answered(tasks: Sequence[Task], queries: int, options: Options) -> Done:
    """Let the oracle answer, and say how far it is."""
    options.say(f"oracle: {queries} queries in {len(tasks)} tasks")
    if options.session is not None:
        return on_spark(tasks, options.session)
    begin = time.monotonic()
    finished = 0

    def count(done: Done) -> None:
        nonlocal finished
        finished += 1
        if len(tasks) > 1:
            seconds = time.monotonic() - begin
            options.say(f"oracle: task {finished} of {len(tasks)}, {done.reports} reports, after {seconds:.0f} s")

    return local(tasks, options.processes, count)


def _parts(recorded: Recorded, queries: int) -> int:
    """Return into how many tasks to cut: little work is done at once, because every task loads data of its own."""
    return _PARTS if _rows(recorded) * queries > _LITTLE else 1


def _rows(recorded: Recorded) -> int:
    return sum(pq.read_metadata(file).num_rows for stream in recorded.streams.values() for file in stream.files)


def _finish(target: Path, done: Done) -> None:
    partial = target / f".{_DONE}.partial"
    partial.write_text(json.dumps({"reports": done.reports, "rows": done.rows, "failed": done.failed}), "utf-8")
    partial.replace(target / _DONE)


def streams_of(place: Path, record: PlayedRecord, target: Path) -> dict[str, RecordedStream]:
    """Return the streams as windows are expected over them."""
    given = {name: opened(name, location) for name, location in record.streams.items()}
    if not goes_by_hand_over(record):
        return given
    files = {name: target / f".{number}.parquet" for number, name in enumerate(given)}
    if not all(file.exists() for file in files.values()):
        handed = read_handed(place)
        for name, stream in given.items():
            _write_handed(stream, handed, files[name])
    return {name: opened(name, str(file)) for name, file in files.items()}


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

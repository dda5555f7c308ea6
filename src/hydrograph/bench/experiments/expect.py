"""The oracle over what was played: expected reports by event time, or by when elements were really handed over."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hydrograph.bench.engines import registry
from hydrograph.bench.experiments.data import opened
from hydrograph.bench.experiments.folder import EXPECTED, PlayedRecord, read_handed
from hydrograph.bench.experiments.options import Options
from hydrograph.bench.oracle.job import Done, Recorded, Task, local, on_spark, plan_tasks
from hydrograph.bench.oracle.slide import Asked
from hydrograph.language import dialect_of, parse
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.sources import RecordedStream
from hydrograph.windows.profile import Profile, preset
from hydrograph.windows.report import Range

_DONE = "done.json"
_PARTS = 8
_LITTLE = 100_000  # triples times queries


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
        place.name if goes_by_hand_over(record) else "",
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
    tasks = plan_tasks(asked, recorded, target, t0=judging.t0, within=within, parts=_parts(recorded, len(asked)))
    done = _answered(tasks, len(asked), options)
    _finish(target, done)
    return target


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
    rows = sum(pq.read_metadata(file).num_rows for stream in recorded.streams.values() for file in stream.files)
    return _PARTS if rows * queries > _LITTLE else 1


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

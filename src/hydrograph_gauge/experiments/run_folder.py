"""Files in the folder of a run: played runs, results, and tables.

`played/<name>/played.json` describes one run of an engine: its queries, data and outcome. Next to it are
`answers.parquet`, `handed.parquet`, `samples.parquet`, the engine's standard error in `stderr.txt`, and `taken.parquet`
where queries are fed independently. `expected/<name>/` has the oracle's reports, `results.jsonl`
the records, and `tables/` the same records as Parquet.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from hydrograph.atomic_files import write_atomically
from hydrograph.errors import DataError
from hydrograph_gauge.engines.outcome import AnswerBlock, Origin, OutputError
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.engines.session import SessionResult
from hydrograph_gauge.judge.mismatch import COMPARABLE
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.oracle.dataset import row_text
from hydrograph_gauge.run_records import (
    RECORDS_FILE,
    ExclusionRecord,
    FunctionalRecord,
    Key,
    MaxRateRecord,
    MismatchRecord,
    MissingEngineRecord,
    OutcomeRecord,
    QueryRecord,
    Record,
    RowText,
    SampleRecord,
    Setting,
    WindowRecord,
    line_of,
    read_provenance,
    read_records,
)
from hydrograph_gauge.validation import find_invalid_field

PLAYED = "played"
EXPECTED = "expected"
SEARCH: Literal["search"] = "search"
"""Instead of a t0: the one that fits the answers of a query best."""
PLAYED_FILE = "played.json"
_TAKEN = "taken.parquet"
ANSWERS = pa.schema(
    [("query", pa.string()), ("at", pa.float64()), ("t", pa.int64()), ("rows", pa.list_(pa.list_(pa.string())))]
)
HANDED = pa.schema(
    [
        ("stream", pa.string()),
        ("seq", pa.int64()),
        ("t", pa.int64()),
        ("due", pa.float64()),
        ("at", pa.float64()),
        ("told", pa.float64()),
    ]
)
"""`at` is when the engine took an element; without `told` it did not acknowledge, and `at` is when it was sent."""
TAKEN = pa.schema([("query", pa.string()), *((field.name, field.type) for field in HANDED)])
"""The same by query, for engines that feed their queries independently."""
STANDARD_ERROR = "stderr.txt"
SAMPLES = pa.schema([("at", pa.float64()), ("memory", pa.float64()), ("cpu", pa.float64()), ("threads", pa.int64())])
_BATCH = 500_000  # terms in a row group, about


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlayedQuery(_Record):
    """A query: what the engine was asked, and what the oracle goes by."""

    asked: str | None
    """None where the engine has no words for it."""
    text: str
    oracle_text: str | None = None
    variables: tuple[str, ...]


class PlayedFailure(_Record):
    """What went wrong with a query."""

    verdict: str
    phase: str
    words: str = ""
    output_error: OutputError | None = None
    origin: Origin | None = None


class JudgeSettings(_Record):
    """Settings of the judge, from the experiment."""

    profile: str | None = None
    time: Literal["event", "handed"] | None = None
    t0: int | Literal["search"] | None = None
    after: int | None = None
    until: int | None = None
    ends: bool = False
    comparison: Comparison = Comparison.EXACT
    gracious: bool = False
    eager: bool | None = None
    """Whether answers are judged by slides, row by row; None leaves it to what is known of the engine."""
    comparable: float = COMPARABLE


class PlayedRun(_Record):
    """One run of an engine."""

    test: str
    engine: str
    repetition: int
    settings: Mapping[str, Setting] = {}
    measure: str = "windows"
    questions: Mapping[str, PlayedQuery]
    streams: Mapping[str, str]
    """Parquet by the IRI of the stream."""
    static: Mapping[str, str] = {}
    """Parquet by the IRI of the graph, the empty name for the default graph."""
    first: int | None = None
    """The time of the first element of all streams: the start of the play, in event time."""
    speed: float | None = None
    """How many times as fast as event time it was played; None where the pace has nothing to do with it."""
    hurried: bool = False
    """Whether elements were handed over as fast as they were taken."""
    judging: JudgeSettings = JudgeSettings()
    seconds: float = 0.0
    elements: int = 0
    triples: int = 0
    executions: Mapping[str, int] = {}
    endings: Mapping[str, PlayedFailure] = {}
    errors: Mapping[str, tuple[str, ...]] = {}
    """Relevant lines of standard error: by query those of its registration, under the empty name those of the play."""


def name_run(record: PlayedRun) -> str:
    """Return the folder name of a run: short, readable, and different for different runs."""
    parts = [record.test, *(f"{key}-{value}" for key, value in record.settings.items()), record.engine]
    if len(record.questions) == 1:
        parts.append(next(iter(record.questions)))
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(map(str, parts))).strip("-").lower()[:80]
    key = [record.test, dict(record.settings), record.engine, record.repetition, sorted(record.questions)]
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:8]
    return f"{plain}-{record.repetition}-{digest}"


def write_played(folder: Path, record: PlayedRun, played: SessionResult) -> Path:
    """Write a run of an engine; its record comes last, so what is there is whole."""
    place = folder / PLAYED / name_run(record)
    place.mkdir(parents=True, exist_ok=True)
    _write_answers(place / "answers.parquet", played.blocks)
    handed = [(h.stream.value, h.element.seq, h.element.t, h.due, h.at, h.told) for h in played.handed]
    _write(place / "handed.parquet", HANDED, handed)
    taken = [
        (query, *line[:4], at, line[5])
        for query, times in played.taken.items()
        for line, at in zip(handed, times, strict=True)
        if at is not None
    ]
    if taken:
        _write(place / _TAKEN, TAKEN, taken)
    samples = [(s.at, s.memory, s.cpu, s.threads) for s in played.samples]
    _write(place / "samples.parquet", SAMPLES, samples)
    partial = place / f".{PLAYED_FILE}.partial"
    partial.write_text(record.model_dump_json(indent=1) + "\n", "utf-8")
    partial.replace(place / PLAYED_FILE)
    return place


def _write(file: Path, schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> None:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    pq.write_table(pa.table(arrays, schema=schema), file, compression="zstd")


def _write_answers(file: Path, blocks: Mapping[str, list[AnswerBlock]]) -> None:
    with pq.ParquetWriter(file, ANSWERS, compression="zstd") as writer:
        for query, said in blocks.items():
            kept: list[tuple[object, ...]] = []
            terms = 0
            for block in said:
                rows = [row_text(row) for row in block.rows.elements()]
                kept.append((query, block.at, block.t, rows))
                terms += sum(map(len, rows)) + 1
                if terms > _BATCH:
                    writer.write_table(_table(kept))
                    kept, terms = [], 0
            if kept:
                writer.write_table(_table(kept))


def _table(rows: list[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ANSWERS, strict=True)]
    return pa.table(arrays, schema=ANSWERS)


def list_played(folder: Path) -> list[Path]:
    """Return the runs of engines that are whole, in order of their names."""
    return sorted(place.parent for place in (folder / PLAYED).glob(f"*/{PLAYED_FILE}"))


def is_played(folder: Path, record: PlayedRun) -> bool:
    """Tell whether a run of an engine is there."""
    return (folder / PLAYED / name_run(record) / PLAYED_FILE).exists()


def read_played(place: Path) -> PlayedRun:
    """Return what is said about a run, or raise DataError."""
    try:
        return PlayedRun.model_validate_json((place / PLAYED_FILE).read_bytes())
    except FileNotFoundError:
        raise DataError(f"{place}: expected {PLAYED_FILE}, as `hydrograph bench play` writes it") from None
    except ValidationError as error:
        raise DataError(f"{place / PLAYED_FILE}: {find_invalid_field(error)}") from None


def read_answers(place: Path, query: str) -> Iterator[tuple[float, int | None, Counter[RowText]]]:
    """Yield time, time of the report where the engine said it, and rows of every answer to a query, as they came."""
    file = pq.ParquetFile(place / "answers.parquet")
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(0).statistics
        if statistics is not None and statistics.has_min_max and not statistics.min <= query <= statistics.max:
            continue
        for batch in file.iter_batches(batch_size=64, row_groups=[group]):
            for line in batch.to_pylist():
                if line["query"] == query:
                    yield line["at"], line["t"], Counter(map(tuple, line["rows"]))


def read_samples(place: Path) -> list[Sample]:
    """Return the resources of a run."""
    return [Sample(**line) for line in pq.read_table(place / "samples.parquet").to_pylist()]


def read_handed(place: Path, query: str | None = None) -> pa.Table:
    """Return when the engine took each element: all queries, or one of those that are fed independently."""
    if query is None or not is_fed_independently(place):
        return pq.read_table(place / "handed.parquet")
    return pq.read_table(place / _TAKEN, filters=[("query", "=", query)]).drop_columns(["query"])


def is_fed_independently(place: Path) -> bool:
    """Tell whether each query of a run took elements at times of its own."""
    return (place / _TAKEN).exists()


def find_errors_file(folder: Path, record: PlayedRun) -> Path:
    """Return the file for the standard error of a run, in a folder that exists."""
    place = folder / PLAYED / name_run(record)
    place.mkdir(parents=True, exist_ok=True)
    return place / STANDARD_ERROR


def identify_key(key: Key) -> Hashable:
    """Return what two keys share if they mean the same."""
    return key.test, key.engine, key.query, key.repetition, tuple(sorted(key.settings.items()))


def identify_comparison(record: MismatchRecord) -> tuple[str, str, str, int]:
    """Return what the mismatches of all pairs of engines on one query share."""
    return record.test, record.query, str(dict(record.settings)), record.repetition


class ResultsFile:
    """The file of results: what is in it is known, and records are added whole."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of a run."""
        self.file = folder / RECORDS_FILE
        self.outcomes: dict[Hashable, OutcomeRecord] = {}
        """By `identify_key`."""
        self.facts: set[tuple[str, str]] = set()
        self.excluded: set[tuple[str, str]] = set()
        self.absent: set[tuple[str, str]] = set()
        self.functional: set[str] = set()
        self.held: set[Hashable] = set()
        self.compared: set[tuple[str, str, str, int]] = set()

    @classmethod
    def resume(cls, folder: Path, tests: Collection[str] = ()) -> ResultsFile:
        """Return what is written; a torn last line, and the windows of a query that has no outcome, are cut off.

        Records of missing engines in `tests` are cut off too: they are determined again.
        """
        written = cls(folder)
        if not written.file.exists():
            return written
        records = list(read_records(folder))
        done = {identify_key(record.key) for record in records if isinstance(record, OutcomeRecord)}
        kept = [
            each
            for each in records
            if not (isinstance(each, WindowRecord | SampleRecord) and identify_key(each.key) not in done)
            and not (isinstance(each, MissingEngineRecord) and each.test in tests)
        ]
        write_atomically(written.file, "".join(map(line_of, kept)))
        for record in kept:
            written._note(record)
        return written

    def add(self, records: Iterable[Record]) -> None:
        """Add records; those of a query end with its outcome."""
        with self.file.open("a", encoding="utf-8") as out:
            for record in records:
                out.write(line_of(record))
                self._note(record)

    def _note(self, record: Record) -> None:
        match record:
            case OutcomeRecord():
                self.outcomes[identify_key(record.key)] = record
            case QueryRecord():
                self.facts.add((record.test, record.query))
            case ExclusionRecord():
                self.excluded.add((record.test, record.query))
            case MissingEngineRecord():
                self.absent.add((record.test, record.engine))
            case FunctionalRecord():
                self.functional.add(record.engine)
            case MaxRateRecord():
                self.held.add(identify_key(record.key))
            case MismatchRecord():
                self.compared.add(identify_comparison(record))
            case _:
                pass


TABLES = "tables"


def write_tables(folder: Path) -> list[Path]:
    """Write `tables/<record>.parquet` from the results of a run, and return the files."""
    origin = read_provenance(folder).model_dump(mode="json")
    rows: dict[str, list[dict[str, Any]]] = {}
    for record in read_records(folder):
        line = record.model_dump(mode="json")
        rows.setdefault(line.pop("record"), []).append(flatten_record(line))
    target = folder / TABLES
    target.mkdir(exist_ok=True)
    files = []
    for kind, lines in rows.items():
        table = pa.Table.from_pylist(lines)
        known = {f"hydrograph.{key}": json.dumps(value) for key, value in origin.items()}
        file = target / f"{kind}.parquet"
        pq.write_table(table.replace_schema_metadata(known), file, compression="zstd")
        files.append(file)
    return files


def flatten_record(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row: the parts of the key are columns, mappings are JSON.

    >>> flatten_record({"key": {"test": "a", "settings": {"n": 1}}, "right": 2})
    {'test': 'a', 'settings': '{"n": 1}', 'right': 2}
    """
    flat: dict[str, Any] = {}
    for name, value in line.items():
        if name == "key":
            flat |= flatten_record(value)
        else:
            flat[name] = json.dumps(value) if isinstance(value, Mapping) else value
    return flat


def label_run(record: PlayedRun) -> str:
    """Return a run of an engine in words: test, settings, engine, query, and the repetition where it is not the first.

    >>> label_run(PlayedRun(test="load", engine="cqels", repetition=1, settings={"rate": 9}, questions={}, streams={}))
    'load, rate 9, cqels, repetition 2'
    """
    parts = [record.test, *(f"{key} {value}" for key, value in record.settings.items()), record.engine]
    if len(record.questions) == 1:
        parts.append(next(iter(record.questions)))
    elif record.questions:
        parts.append(f"{len(record.questions)} queries")
    if record.repetition:
        parts.append(f"repetition {record.repetition + 1}")
    return ", ".join(parts)

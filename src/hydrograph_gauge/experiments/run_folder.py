"""What lies in the folder of a run beside its results: what was played, what came, and what was expected.

`played/<name>/played.json` says what was asked of which engine, over which data, and what became of it; beside it lie
`answers.parquet`, `handed.parquet` and `samples.parquet`. `expected/<name>/` holds the oracle's reports. So each step
can be done again alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import term_text
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.engines.session import Played
from hydrograph_gauge.judge.blocks import Block
from hydrograph_gauge.judge.mismatch import COMPARABLE
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.oracle.slide import RowText
from hydrograph_gauge.results import Setting

PLAYED = "played"
EXPECTED = "expected"
SEARCH: Literal["search"] = "search"
"""Instead of a t0: the one that fits the answers of a query best."""
_RECORD = "played.json"
ANSWERS = pa.schema(
    [("query", pa.string()), ("at", pa.float64()), ("t", pa.int64()), ("rows", pa.list_(pa.list_(pa.string())))]
)
HANDED = pa.schema(
    [("stream", pa.string()), ("seq", pa.int64()), ("t", pa.int64()), ("due", pa.float64()), ("at", pa.float64())]
)
SAMPLES = pa.schema([("at", pa.float64()), ("memory", pa.float64()), ("cpu", pa.float64()), ("threads", pa.int64())])
_BATCH = 500_000  # terms in a row group, about


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Question(_Record):
    """A query: what the engine was asked, and what the oracle goes by."""

    asked: str | None
    """None where the engine has no words for it."""
    text: str
    oracle_text: str | None = None
    variables: tuple[str, ...]


class Ending(_Record):
    """What went wrong with a query."""

    verdict: str
    phase: str
    words: str = ""


class Judging(_Record):
    """How answers are to be judged, as the experiment says."""

    profile: str | None = None
    time: Literal["event", "handed"] | None = None
    t0: int | Literal["search"] | None = None
    after: int | None = None
    until: int | None = None
    gracious: bool = False
    eager: bool | None = None
    """Whether answers are judged by slides, row by row; None leaves it to what is known of the engine."""
    comparable: float = COMPARABLE


class PlayedRecord(_Record):
    """One run of an engine."""

    test: str
    engine: str
    repetition: int
    settings: Mapping[str, Setting] = {}
    measure: str = "windows"
    questions: Mapping[str, Question]
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
    judging: Judging = Judging()
    seconds: float = 0.0
    elements: int = 0
    triples: int = 0
    executions: Mapping[str, int] = {}
    endings: Mapping[str, Ending] = {}


def name_of(record: PlayedRecord) -> str:
    """Return the folder name of a run: short, readable, and different for different runs."""
    parts = [record.test, *(f"{key}-{value}" for key, value in record.settings.items()), record.engine]
    if len(record.questions) == 1:
        parts.append(next(iter(record.questions)))
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(map(str, parts))).strip("-").lower()[:80]
    key = [record.test, dict(record.settings), record.engine, record.repetition, sorted(record.questions)]
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:8]
    return f"{plain}-{record.repetition}-{digest}"


def write_played(folder: Path, record: PlayedRecord, played: Played) -> Path:
    """Write a run of an engine; its record comes last, so what is there is whole."""
    place = folder / PLAYED / name_of(record)
    place.mkdir(parents=True, exist_ok=True)
    _write_answers(place / "answers.parquet", played.blocks)
    handed = [(h.stream.value, h.element.seq, h.element.t, h.due, h.at) for h in played.handed]
    _write(place / "handed.parquet", HANDED, handed)
    samples = [(s.at, s.memory, s.cpu, s.threads) for s in played.samples]
    _write(place / "samples.parquet", SAMPLES, samples)
    partial = place / f".{_RECORD}.partial"
    partial.write_text(record.model_dump_json(indent=1) + "\n", "utf-8")
    partial.replace(place / _RECORD)
    return place


def _write(file: Path, schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> None:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    pq.write_table(pa.table(arrays, schema=schema), file, compression="zstd")


def _write_answers(file: Path, blocks: Mapping[str, list[Block]]) -> None:
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


def row_text(row: Row) -> RowText:
    """Return a row as N-Triples terms."""
    return tuple(None if term is None else term_text(term) for term in row)


def played_folders(folder: Path) -> list[Path]:
    """Return the runs of engines that are whole, in order of their names."""
    return sorted(place.parent for place in (folder / PLAYED).glob(f"*/{_RECORD}"))


def is_played(folder: Path, record: PlayedRecord) -> bool:
    """Tell whether a run of an engine is there."""
    return (folder / PLAYED / name_of(record) / _RECORD).exists()


def read_record(place: Path) -> PlayedRecord:
    """Return what is said about a run, or raise DataError."""
    try:
        return PlayedRecord.model_validate_json((place / _RECORD).read_bytes())
    except FileNotFoundError:
        raise DataError(f"{place}: expected {_RECORD}, as `hydrograph bench play` writes it") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DataError(f"{place / _RECORD}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


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


def read_handed(place: Path) -> pa.Table:
    """Return when each element was handed over."""
    return pq.read_table(place / "handed.parquet")

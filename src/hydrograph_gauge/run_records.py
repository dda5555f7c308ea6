"""Records of a run as files: every step of the gauge reads and writes them, so that each can be repeated alone.

The folder of a run holds `run.json` (a `Provenance`) and `results.jsonl`, one record a line. Records of one query on
one engine share a `Key`. Rows are written as their terms in N-Triples, an unbound variable as null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hydrograph.errors import DataError
from hydrograph_gauge.validation import find_invalid_field

PROVENANCE_FILE = "run.json"
RECORDS_FILE = "results.jsonl"

Setting: TypeAlias = str | int | float | bool
RowText: TypeAlias = tuple[str | None, ...]
"""A row as its terms in N-Triples; None is unbound."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Provenance(_Record):
    """Provenance of the figures of a run: all that is needed to repeat it."""

    experiment: str
    title: str = ""
    started: str
    """ISO 8601, with zone."""
    seed: int
    """That of the experiment; tests may have others."""
    seeds: Mapping[str, int] = {}
    """By test, those that its data and queries were really made with."""
    settings: Mapping[str, Setting] = {}
    machine: Mapping[str, Setting] = {}
    versions: Mapping[str, str] = {}
    commit: str | None = None
    published: Mapping[str, Mapping[str, Setting | None]] = {}
    """Figures of the paper that the experiment repeats, by table row and column."""
    tests: Mapping[str, str] = {}
    """A digest of what each test asks over which data, so that a run is not resumed with another experiment."""

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds that there are, each once."""
        return tuple(dict.fromkeys(self.seeds.values())) or (self.seed,)


class Key(_Record):
    """One query on one engine, once."""

    test: str
    engine: str
    query: str
    repetition: int = 0
    settings: Mapping[str, Setting] = {}
    """The values of what the experiment sweeps."""


class QueryRecord(_Record):
    """Query before it runs: its texts, and features by which results are grouped."""

    record: Literal["query"] = "query"
    test: str
    query: str
    text: str
    texts: Mapping[str, str] = {}
    """By engine, if one has its own text."""
    variables: tuple[str, ...] = ()
    features: Mapping[str, Setting | None] = {}
    """kind, patterns, shape, cardinality, selectivities: as `hydrograph features` prints them."""


class SmallestDifference(_Record):
    """Window with the fewest triples of all that an engine answers wrongly."""

    t: int | None = None
    """When it was due; None for an answer that nothing expected."""
    open: int | None = None
    close: int | None = None
    triples: tuple[str, ...] = ()
    """Its content, the first ones."""
    content: int = 0
    """Number of its triples."""
    missing: tuple[RowText, ...] = ()
    extra: tuple[RowText, ...] = ()
    """Rows that differ, the first ones."""


class OutcomeRecord(_Record):
    """Outcome of one query on one engine."""

    record: Literal["outcome"] = "outcome"
    key: Key
    verdict: str
    phase: str
    words: str = ""
    origin: str | None = None
    """What a failure is attributed to: engine, adapter or text; None if nothing failed."""
    errors: tuple[str, ...] = ()
    """Lines of the engine's standard error that may explain a verdict that is not ok."""
    comparison: str = "exact"
    """The policy by which rows were compared: exact, value or double."""
    strict_verdict: str = ""
    """The verdict of the comparison `exact`, where the experiment declares another."""
    strict_missing: int = 0
    strict_extra: int = 0
    """Rows that are missing or too many by the comparison `exact`, where the experiment declares another."""
    faults: tuple[str, ...] = ()
    """Faults found by the judge: dropped elements, shifted windows, and so on."""
    smallest: SmallestDifference | None = None
    """Where the cause is not identified: the smallest window that differs."""
    notes: tuple[str, ...] = ()
    """Notes on the judgement: what it left out or could not check."""
    t0: int | None = None
    """The t0 that fits best, where it was searched for."""
    windows: int = 0
    after_last: int = 0
    """Windows that close after the last element and were not answered; they are not among `windows`."""
    non_empty: int = 0
    right: int = 0
    precision: float | None = None
    recall: float | None = None
    missing: int = 0
    extra: int = 0
    output: int = 0
    """Rows that came."""
    seconds: float | None = None
    executions: int = 0
    elements: int = 0
    triples: int = 0
    static: int = 0
    """Triples of static data."""
    rate: float | None = None
    """Triples a second that were really handed over."""
    executions_rate: float | None = None
    """Executions a second: cmet, for engines that are comparable."""
    last_result: float | None = None
    """Milliseconds from the start to the last row."""
    delay_median: float | None = None
    """Milliseconds, where elements came at a pace of their own."""
    delay_95: float | None = None
    memory_peak: float | None = None
    """Megabytes of the process tree."""
    memory_slope: float | None = None
    cpu: float | None = None
    """Seconds of processor time."""


class RowExplanation(_Record):
    """Missing or extra row, with the triples of the window that make it."""

    row: RowText
    triples: tuple[str, ...] = ()


class WindowRecord(_Record):
    """One report and the answer to it."""

    record: Literal["window"] = "window"
    key: Key
    t: int | None = None
    """When it was due, in event time; None for an answer that nothing expected."""
    open: int | None = None
    close: int | None = None
    used_open: int | None = None
    """The borders that the engine really used, where gracious judging found others."""
    used_close: int | None = None
    content: int | None = None
    """Triples in the window."""
    expected: int
    actual: int
    precision: float
    recall: float
    delay: float | None = None
    """Milliseconds from when the report was due to its answer; None where none came."""
    missing: tuple[RowExplanation, ...] = ()
    extra: tuple[RowExplanation, ...] = ()
    """The first ones; `expected`, `actual`, precision and recall count all."""
    opinion: str = ""
    """Opinion of rdflib on a difference, if it was asked. If the oracle is wrong, the answer counts as right, and
    `missing` and `extra` are what the oracle finds wrong with it."""


class SampleRecord(_Record):
    """Resources at one moment."""

    record: Literal["sample"] = "sample"
    key: Key
    at: float
    """Seconds since the engine was started."""
    memory: float
    cpu: float
    threads: int


class MismatchRecord(_Record):
    """Share of one engine's output that another does not have (LSBench's mm)."""

    record: Literal["mismatch"] = "mismatch"
    test: str
    query: str
    settings: Mapping[str, Setting] = {}
    repetition: int = 0
    one: str
    other: str
    value: float
    comparable: bool


class MaxRateRecord(_Record):
    """The highest rate at which answers stayed right and delay did not grow."""

    record: Literal["held"] = "held"
    key: Key
    rate: float
    unit: str = "elements/s"
    tried: tuple[tuple[float, bool], ...] = ()
    why: str = ""
    """Why the lowest rate that was not held is not; nothing if the highest that was tried is held."""


class FunctionalVerdict(StrEnum):
    """Verdict on a functional test over all of its runs."""

    PASSED = "passed"
    FAILED = "failed"
    UNSTABLE = "unstable"
    """Right in some runs and wrong in others."""
    NOT_ASKED = "not asked"


class FunctionalRecord(_Record):
    """One test of the functional suite."""

    record: Literal["functional"] = "functional"
    engine: str
    group: str
    """R2R, R2S, S2R, Experiment 1, Experiment 2."""
    name: str
    passed: bool | None = None
    """Whether it was right in every run; None if not asked, because the engine cannot be asked this."""
    rights: tuple[bool, ...] = ()
    """Whether it was right, by run; empty where there was one run, or none."""
    words: str = ""

    @property
    def verdict(self) -> FunctionalVerdict:
        """Verdict over all runs."""
        if self.passed is None:
            return FunctionalVerdict.NOT_ASKED
        if len(set(self.rights)) > 1:
            return FunctionalVerdict.UNSTABLE
        return FunctionalVerdict.PASSED if self.passed else FunctionalVerdict.FAILED

    @property
    def runs(self) -> int:
        """Number of runs in which it was asked."""
        return 0 if self.passed is None else max(1, len(self.rights))


class ExclusionRecord(_Record):
    """A query that performance is not compared on, and why."""

    record: Literal["excluded"] = "excluded"
    test: str
    query: str
    why: str


class MissingEngineRecord(_Record):
    """Engine that a test needs and that cannot run here, with the reason."""

    record: Literal["absent"] = "absent"
    test: str
    engine: str
    why: str


Record: TypeAlias = (
    QueryRecord
    | OutcomeRecord
    | WindowRecord
    | SampleRecord
    | MismatchRecord
    | MaxRateRecord
    | FunctionalRecord
    | ExclusionRecord
    | MissingEngineRecord
)
_RECORDS: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="record")])


def line_of(record: Record) -> str:
    """Return a record as its line."""
    return record.model_dump_json(exclude_defaults=False, exclude_none=True) + "\n"


def parse_record(value: object) -> Record:
    """Return the record of a line's JSON value."""
    return _RECORDS.validate_python(value)


def read_provenance(folder: Path) -> Provenance:
    """Return the provenance of a run, or raise DataError."""
    try:
        return Provenance.model_validate_json((folder / PROVENANCE_FILE).read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{folder} holds no run: expected {PROVENANCE_FILE} in it, as `hydrograph bench run` writes it"
        ) from None
    except ValidationError as error:
        raise DataError(f"{folder / PROVENANCE_FILE}: {_first(error)}") from None


def read_records(folder: Path) -> Iterator[Record]:
    """Yield the records of a run in the order in which they were written; a torn last line is left out.

    A run that was broken off ends in such a line, and is resumed from there.
    """
    with (folder / RECORDS_FILE).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield _RECORDS.validate_json(line)
            except ValidationError as error:
                raise DataError(f"{folder / RECORDS_FILE}, line {number}: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    invalid = find_invalid_field(error)
    return f"{invalid.place or 'the line'}: {invalid.message}, got {json.dumps(invalid.value, default=str)[:80]}"

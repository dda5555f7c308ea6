"""Judging a published run again: the same verdicts from its raw answers, on any machine, without an engine.

Checksums of the files and of the rows of the data are checked first. Then the oracle computes the expected reports and
the judge compares them with the stored answers. What differs from the published records is listed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hydrograph.errors import DataError
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.published_data import locate_data, read_published_data
from hydrograph_gauge.experiments.run import rejudge_run
from hydrograph_gauge.experiments.run_folder import PLAYED, PLAYED_FILE, list_played, read_played
from hydrograph_gauge.run_records import (
    PROVENANCE_FILE,
    RECORDS_FILE,
    FunctionalRecord,
    Key,
    MaxRateRecord,
    MismatchRecord,
    OutcomeRecord,
    Record,
    SampleRecord,
    WindowRecord,
    line_of,
    read_records,
)

CHECKSUMS = "SHA256SUMS"
ENGINE_FILES = "engines"
"""Descriptions of engines, which tell how their answers are judged."""

_MEASURED = {
    "seconds", "rate", "executions_rate", "last_result", "delay_median", "delay_95", "memory_peak", "memory_slope",
    "cpu", "delay", "notes", "opinion",
}  # fmt: skip
"""Fields that are no verdicts: measured times and memory, and opinions of rdflib, which has a time limit."""


@dataclass(frozen=True, slots=True)
class Rejudgement:
    """Result of judging a published run again."""

    queries: int
    windows: int
    kept: int
    """Records that cannot be judged from stored answers: cases of the functional suite and highest rates."""
    differences: tuple[str, ...]

    def __str__(self) -> str:
        """Return the counts in one line."""
        kept = f", {self.kept} records without stored answers" if self.kept else ""
        return f"rejudged: {self.queries} queries, {self.windows} windows{kept}, {len(self.differences)} differences"


def rejudge_published(folder: Path, options: RunOptions) -> Rejudgement:
    """Judge a published folder again and compare every verdict with the published one.

    Over other data than the published one nothing is judged: every verdict would be about something else.
    """
    wrong = [*check_files(folder)]
    with tempfile.TemporaryDirectory(prefix="hydrograph-rejudge-") as scratch:
        judged, data = judge_published(folder, Path(scratch), options)
    published = [*read_records(folder)]
    differences = (*wrong, *data, *(() if data else compare_records(published, judged)))
    return Rejudgement(
        queries=sum(isinstance(each, OutcomeRecord) for each in judged),
        windows=sum(isinstance(each, WindowRecord) for each in judged),
        kept=sum(isinstance(each, FunctionalRecord | MaxRateRecord) for each in published),
        differences=differences,
    )


def judge_published(
    folder: Path, scratch: Path, options: RunOptions, known: Mapping[str, str] | None = None
) -> tuple[list[Record], list[str]]:
    """Return the records that the judge finds for a published folder, or what is wrong with its data.

    `known` is where the data lies by its published file, if it need not be looked for or generated.
    """
    places: Mapping[str, str] = known or {}
    wrong: list[str] = []
    if known is None:
        cache = options.data_folder(scratch)
        places, wrong = locate_data(folder, read_published_data(folder), cache, options.progress)
    if wrong:
        return [], wrong
    staged, target = scratch / "run", scratch / "judged"
    (staged / PLAYED).mkdir(parents=True)
    shutil.copyfile(folder / PROVENANCE_FILE, staged / PROVENANCE_FILE)
    engines: dict[str, str] = {}
    for place in list_played(folder):
        record = read_played(place)
        engine = _local_engine(folder, record.engine)
        engines[engine] = record.engine
        local = record.model_copy(
            update={
                "engine": engine,
                "streams": {iri: _located(places, file, place) for iri, file in record.streams.items()},
                "static": {iri: _located(places, file, place) for iri, file in record.static.items()},
            }
        )
        copy = staged / PLAYED / place.name
        copy.mkdir()
        for file in place.iterdir():
            if file.name != PLAYED_FILE:
                (copy / file.name).symlink_to(file.resolve())
        (copy / PLAYED_FILE).write_text(local.model_dump_json(), "utf-8")
    played = set(engines.values())
    with (staged / RECORDS_FILE).open("w", encoding="utf-8") as out:
        out.writelines(line_of(each) for each in read_records(folder) if not _is_judged(each, played))
    rejudge_run(staged, target, replace(options, worlds=None))
    return [_published(record, engines) for record in read_records(target)], []


def _is_judged(record: Record, engines: set[str]) -> bool:
    """Tell whether a record comes from the stored answers of an engine."""
    return isinstance(record, OutcomeRecord | WindowRecord | SampleRecord) and record.key.engine in engines


def _located(places: Mapping[str, str], file: str, place: Path) -> str:
    if file not in places:
        raise DataError(f"{place}: reads {file}, which the published data does not list")
    return places[file]


def _local_engine(folder: Path, name: str) -> str:
    """Return the name of an engine with the place where its description lies now."""
    base, _, rest = name.partition(":")
    if base != "described":
        return name
    file, comma, files = rest.partition(",")
    return f"{base}:{(folder / ENGINE_FILES / file).resolve()}{comma}{files}"


def _published(record: Record, engines: dict[str, str]) -> Record:
    """Return a record with the published name of its engine."""
    match record:
        case OutcomeRecord() | WindowRecord() | SampleRecord():
            key = record.key.model_copy(update={"engine": engines.get(record.key.engine, record.key.engine)})
            return record.model_copy(update={"key": key})
        case MismatchRecord():
            one, other = (engines.get(each, each) for each in (record.one, record.other))
            return record.model_copy(update={"one": one, "other": other})
        case _:
            return record


def compare_records(published: Iterable[Record], judged: Iterable[Record]) -> Iterator[str]:
    """Yield a line for every verdict that is not the published one."""
    left, right = _verdicts(published), _verdicts(judged)
    for name in left.keys() | right.keys():
        one, other = left.get(name, Counter()), right.get(name, Counter())
        if one != other:
            yield f"{name}: published {_shown(one - other)}, now {_shown(other - one)}"


def _verdicts(records: Iterable[Record]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for record in records:
        match record:
            case OutcomeRecord():
                name = _label(record.key)
            case WindowRecord():
                name = f"{_label(record.key)}, window at {record.t} ms"
            case MismatchRecord():
                name = f"{record.test}, {record.query}, mismatch of {record.one} and {record.other}"
            case _:
                continue
        plain = record.model_dump(mode="json", exclude={"key", "record", *_MEASURED})
        for side in ("missing", "extra"):
            if isinstance(plain.get(side), list):  # triples explain a row, and are searched for within a budget
                plain[side] = [row["row"] for row in plain[side]]
        found.setdefault(name, Counter())[json.dumps(plain, sort_keys=True)] += 1
    return found


def _label(key: Key) -> str:
    settings = "".join(f", {name} {value}" for name, value in key.settings.items())
    repetition = f", repetition {key.repetition + 1}" if key.repetition else ""
    return f"{key.test}{settings}, {key.engine}, {key.query}{repetition}"


def _shown(verdicts: Counter[str]) -> str:
    """Return a verdict in words; of a window its counts."""
    found = []
    for text in verdicts:
        plain = json.loads(text)
        if "verdict" in plain:
            faults = "; ".join(plain["faults"])
            found.append(", ".join(filter(None, [plain["verdict"], plain["words"], faults])))
        elif "value" in plain:
            found.append(str(plain["value"]))
        else:
            shares = f"precision {plain['precision']:.6g}, recall {plain['recall']:.6g}"
            found.append(f"{plain['actual']} rows for {plain['expected']}, {shares}")
    return " and ".join(found) or "nothing"


def list_files(folder: Path) -> list[Path]:
    """Return the files of a published folder, without the list of checksums, by their relative names."""
    files = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return sorted(file for file in files if str(file) != CHECKSUMS)


def checksum_file(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of every file, as `sha256sum --check` reads it."""
    lines = [f"{checksum_file(folder / file)}  {file.as_posix()}\n" for file in list_files(folder)]
    (folder / CHECKSUMS).write_text("".join(lines), "utf-8")


def check_files(folder: Path) -> Sequence[str]:
    """Return the files that are not as published: changed, gone, or added."""
    try:
        lines = (folder / CHECKSUMS).read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(
            f"{folder} holds no published run: expected {CHECKSUMS} in it, as `hydrograph bench publish` writes it"
        ) from None
    expected = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    actual = {file.as_posix() for file in list_files(folder)}
    wrong = [f"{name}: the file is gone" for name in expected if name not in actual]
    wrong += [f"{name}: the file was not published" for name in sorted(actual - expected.keys())]
    return wrong + [
        f"{name}: the file was changed, its SHA-256 is not that of {CHECKSUMS}"
        for name, digest in expected.items()
        if name in actual and checksum_file(folder / name) != digest
    ]

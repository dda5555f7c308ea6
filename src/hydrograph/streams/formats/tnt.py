"""Timed N-Triples: `<event time in ms> TAB <N-Triples statement>`, read and written without Spark.

Each line is an element of its own. The triples of a larger element stand on lines `<ms>:<n> TAB <statement>`: the same
time and the same number, the same element. Blank lines and lines that start with `#` say nothing.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

import duckdb
import pyarrow as pa
import zstandard

from hydrograph.errors import DataError, RunError, UsageError
from hydrograph.rdf.encoding import encode_text, skolem, term_id
from hydrograph.rdf.nquads import SPACE, TRIPLE, canonical_texts, shortened, split_triple
from hydrograph.streams.lines import Line, Overlong, numbered
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.unpacked import Unpacked

STDIN = "-"
IRI_LIMIT = 8 * 1024
LITERAL_LIMIT = 1024 * 1024
"""The longest IRI (or blank node) and literal, in bytes of the canonical text; a line with a longer one is broken."""

FILE_BITS = 40
"""`seq` is the number of the file, shifted by this, plus the number of the element's first line."""

TIME = "(-?[0-9]{1,19})(?::([0-9]{1,18}))?+"
NOTHING = rf"{SPACE}(?:#.*+)?+"

_LINE = re.compile(rf"{TIME}\t{TRIPLE}")
_TIME = re.compile(TIME)
_NOTHING = re.compile(NOTHING, re.DOTALL)
NOTEWORTHY = IRI_LIMIT // 4  # characters; a shorter line cannot break a limit
BATCH = 65_536

Row = tuple[int, int, str, str, str]
"""Time, `seq`, and the canonical texts of a triple."""


@dataclass(frozen=True, slots=True)
class BadLines:
    """What happens to lines that break the grammar: stop at the first, leave them out, or keep them in a file."""

    action: str = "fail"
    file: Path | None = None

    @classmethod
    def read(cls, text: str) -> BadLines:
        """Return the policy that a user wrote: `fail`, `skip` or the name of a file.

        >>> BadLines.read("skip"), BadLines.read("bad.tnt").action
        (BadLines(action='skip', file=None), 'file')
        """
        if not text:
            raise UsageError("expected fail, skip or a file name for bad lines, got nothing")
        if text == STDIN:
            raise UsageError("expected fail, skip or a file name for bad lines, got -: answers go to standard output")
        return cls(text) if text in ("fail", "skip") else cls("file", Path(text))

    @contextmanager
    def quarantine(self) -> Iterator[IO[bytes] | None]:
        """Give the file for broken lines, which appears when it is complete; None if they are not kept."""
        if self.file is None:
            yield None
            return
        with written(str(self.file)) as file:
            yield file


@dataclass(slots=True)
class Tally:
    """What a reader has seen so far."""

    lines: int = 0
    bad: int = 0
    blanks: bool = False
    grouped: bool = False


@dataclass(frozen=True, slots=True)
class TntReader:
    """Reads the rows of timed N-Triples files, in the order of files and lines."""

    files: tuple[str, ...]
    salt: str
    bad_lines: BadLines = field(default_factory=BadLines)

    def batches(self, tally: Tally | None = None) -> pa.RecordBatchReader:
        """Return the rows in the encoded schema, without `t_next`."""
        return pa.RecordBatchReader.from_batches(EVENTS, self._batches(tally or Tally()))

    def times(self, tally: Tally) -> Iterator[int]:
        """Yield the time of each row, and count in `tally` what else is to know; much cheaper than the rows.

        Broken lines are seen for sure only if they are not to stop the reading anyway.
        """
        if self.bad_lines.action != "fail":
            for t, _, _, _, _ in self._rows(tally):
                yield t
            return
        for name, number, line in self._lines():
            if isinstance(line, Overlong):
                raise broken(name, number, line.reason, line.start)
            time, tab, statement = line.partition("\t")
            if found := _TIME.fullmatch(time) if tab else None:
                tally.lines += 1
                tally.blanks = tally.blanks or ("_:" in statement and has_blank(statement))
                tally.grouped = tally.grouped or found[2] is not None
                yield _instant(found[1])
            elif _NOTHING.fullmatch(line) is None:
                raise broken(name, number, _reason(line), line)

    def _batches(self, tally: Tally) -> Iterator[pa.RecordBatch]:
        rows: list[Row] = []
        for row in self._rows(tally):
            rows.append(row)
            if len(rows) == BATCH:
                yield batch(rows)
                rows = []
        if rows:
            yield batch(rows)

    def _rows(self, tally: Tally) -> Iterator[Row]:
        elements: dict[tuple[int, int], int] = {}
        index = {name: position for position, name in enumerate(self.files)}
        with self.bad_lines.quarantine() as quarantine:
            for name, number, line in self._lines():
                try:
                    if isinstance(line, Overlong):
                        raise DataError(line.reason)  # noqa: TRY301
                    found = _LINE.fullmatch(line)
                    if found is None:
                        if _NOTHING.fullmatch(line):
                            continue
                        raise DataError(_reason(line))  # noqa: TRY301
                    time, group, s, p, o = found.groups()
                    t = _instant(time)
                    s, p, o = canonical_texts(s, p, o, line)
                    if len(line) > NOTEWORTHY:
                        check_limits(s, p, o)
                except DataError as error:
                    tally.bad += 1
                    if self.bad_lines.action == "fail":
                        shown = line.start if isinstance(line, Overlong) else line
                        raise broken(name, number, str(error), shown) from None
                    if quarantine is not None and not isinstance(line, Overlong):
                        quarantine.write(line.encode("utf-8", "surrogateescape") + b"\n")
                    continue
                tally.lines += 1
                seq = (index[name] << FILE_BITS) + number
                if group is not None:
                    tally.grouped = True
                    seq = elements.setdefault((t, int(group)), seq)
                if s[0] == "_":
                    tally.blanks, s = True, skolem(self.salt, seq, s[2:])
                if o[0] == "_":
                    tally.blanks, o = True, skolem(self.salt, seq, o[2:])
                yield t, seq, s, p, o

    def _lines(self) -> Iterator[tuple[str, int, Line]]:
        for name in self.files:
            with open_text(name) as lines:
                for number, line in numbered(lines):
                    yield name, number, line if isinstance(line, Overlong) else line.removesuffix("\n")


def has_blank(statement: str) -> bool:
    """Tell whether a blank node may occur: white space or an IRI stands before `_:`, perhaps inside a literal."""
    return _BEFORE_BLANK.search(statement) is not None


BEFORE_BLANK = r"(?:^|[ \t>])_:"
_BEFORE_BLANK = re.compile(BEFORE_BLANK)


def broken(file: str, number: int | None, reason: str, line: str) -> DataError:
    """Return the error for a broken line."""
    place = f"{file}, line {number}" if number is not None else file
    return DataError(f"{place}: {reason}, in: {shortened(line, 120)}")


def reason(line: str) -> str | None:
    """Return why `line` is broken, or None if it is not."""
    try:
        found = _LINE.fullmatch(line)
        if found is None:
            return _reason(line)
        _instant(found[1])
        check_limits(*canonical_texts(found[3], found[4], found[5], line))
    except DataError as error:
        return str(error)
    return None


def _reason(line: str) -> str:
    time, tab, statement = line.partition("\t")
    if any("\ud800" <= c <= "\udfff" for c in line):
        return "expected UTF-8, got other bytes"
    if not tab or _TIME.fullmatch(time) is None:
        return "expected an event time in milliseconds and a tab"
    try:
        split_triple(statement)
    except DataError as error:
        column, _, rest = str(error).partition(": ")
        return f"column {int(column.removeprefix('column ')) + len(time) + 1}: {rest}"
    return "unknown reason"


def _instant(text: str) -> int:
    t = int(text)
    if not -(2**63) <= t < 2**63:
        raise DataError("expected an event time of at most 64 bits")
    return t


def check_limits(s: str, p: str, o: str) -> None:
    """Raise DataError if a term is longer than it may be."""
    for text in (s, p, o):
        if len(text) <= NOTEWORTHY:
            continue
        kind, limit = ("literal", LITERAL_LIMIT) if text[0] == '"' else ("IRI", IRI_LIMIT)
        if len(text.encode()) > limit:
            raise DataError(f"expected at most {limit} bytes in the {kind}, got {len(text.encode())}")


def batch(rows: list[Row]) -> pa.RecordBatch:
    """Return rows in the encoded schema, without `t_next`."""
    t, seq, s, p, o = zip(*rows, strict=True)
    objects = [encode_text(text) for text in o]
    columns = {
        "t": t,
        "seq": seq,
        "t_next": [None] * len(rows),
        "s": s,
        "p": p,
        "o": o,
        "s_id": [term_id(text) for text in s],
        "p_id": [encode_text(text).id for text in p],
        "o_id": [encoded.id for encoded in objects],
        "o_kind": [encoded.kind for encoded in objects],
        "o_num": [encoded.num for encoded in objects],
        "o_dec": [encoded.dec for encoded in objects],
    }
    return pa.record_batch([pa.array(columns[name], EVENTS.field(name).type) for name in EVENTS.names], schema=EVENTS)


@contextmanager
def open_text(name: str) -> Iterator[TextIO]:
    """Open a plain, gzip or zstd file, or standard input, as lines; bytes that are no UTF-8 become surrogates."""
    with open_binary(name) as binary:
        # The default of Spark's text source too: any of LF, CR and CR LF ends a line, a byte order mark is skipped.
        yield io.TextIOWrapper(binary, "utf-8-sig", errors="surrogateescape", newline=None)


@contextmanager
def open_binary(name: str) -> Iterator[IO[bytes]]:
    """Open a plain, gzip or zstd file, or standard input, as the bytes that it holds."""
    try:
        with _opened(name) as binary:
            yield binary
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise DataError(f"{name}: the compressed file is damaged: {error}") from error
    except FileNotFoundError as error:
        raise DataError(f"{name}: no such file") from error
    except (PermissionError, IsADirectoryError) as error:
        raise DataError(f"{name} can not be read: {error.strerror}") from error


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == STDIN:
        yield sys.stdin.buffer
    elif name.endswith(".gz"):
        with gzip.open(name, "rb") as unzipped:
            yield unzipped  # type: ignore[misc]
    elif name.endswith(".zst"):
        with Path(name).open("rb") as raw:
            yield io.BufferedReader(Unpacked(raw), 1 << 20)
    else:
        with Path(name).open("rb") as raw:
            yield raw


def copy_stdin(target: Path) -> None:
    """Copy standard input to `target`."""
    with target.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)


def write_tnt(files: list[str], salt: str, target: str, seen: Callable[[int], None] = lambda _: None) -> int:
    """Write the events of Parquet files as timed N-Triples in canonical order, and return the number of rows.

    `target` is a file (`.gz` and `.zst` are compressed) that appears when it is complete, or `-` for standard output.
    Blank nodes get back the labels they had; the triples of an element are sorted. `seen` is told the rows as they go.
    """
    rows = 0
    with written(target) as out, duckdb.connect() as database:
        # One file at a time: files are cut by time, and no time is in two of them.
        for file in files:
            lines = database.sql(_AS_LINES, params={"file": file, "salt": salt}).to_arrow_reader(BATCH)
            assert lines is not None
            for part in lines:
                out.write(("\n".join(part.column(0).to_pylist()) + "\n").encode())
                rows += part.num_rows
                seen(part.num_rows)
    return rows


_AS_LINES = r"""
SELECT concat(t, CASE WHEN many > 1 THEN concat(':', n) ELSE '' END, chr(9),
              CASE WHEN starts_with(s, own) THEN concat('_:', substr(s, length(own) + 1)) ELSE s END, ' ', p, ' ',
              CASE WHEN starts_with(o, own) THEN concat('_:', substr(o, length(own) + 1)) ELSE o END, ' .') AS line
FROM (SELECT t, seq, s, p, o, concat('_:e', seq, 'x', $salt, 'x') AS own,
             count(*) OVER (PARTITION BY t, seq) AS many, dense_rank() OVER (PARTITION BY t ORDER BY seq) AS n
      FROM read_parquet($file))
ORDER BY t, seq, s, p, o
"""


@contextmanager
def written(target: str) -> Iterator[IO[bytes]]:
    """Give a place to write to: standard output, or a file that appears when it is complete, packed as it is named."""
    if target == STDIN:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        opened = partial.open("wb")
    except OSError as error:
        raise RunError(f"{target} can not be written: {error.strerror or error}") from None
    try:
        with opened as raw:
            if target.endswith(".gz"):
                with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=6) as zipped:
                    yield zipped  # type: ignore[misc]
            elif target.endswith(".zst"):
                with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as zipped:
                    yield zipped
            else:
                yield raw
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

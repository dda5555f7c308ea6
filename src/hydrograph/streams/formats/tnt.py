"""Timed N-Triples: `<event time in ms> TAB <N-Triples statement>`, read and written without Spark.

Each line is an element of its own. The triples of a larger element are on lines `<ms>:<n> TAB <statement>`: the same
time and the same number, the same element. Blank lines and lines that start with `#` are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import skolem
from hydrograph.rdf.nquads import SPACE, TRIPLE, canonical_texts, shorten, split_triple
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.files import Line, Overlong, atomic_output, number_lines, open_text
from hydrograph.streams.schema import BATCH, EVENTS, FILE_BITS, NOTEWORTHY, Row, check_limits, encode_events

TIME = "(-?[0-9]{1,19})(?::([0-9]{1,18}))?+"
NOTHING = rf"{SPACE}(?:#.*+)?+"

_LINE = re.compile(rf"{TIME}\t{TRIPLE}")
_TIME = re.compile(TIME)
_NOTHING = re.compile(NOTHING, re.DOTALL)


@dataclass(frozen=True, slots=True)
class TntReader:
    """Reads the rows of timed N-Triples files, in the order of files and lines."""

    files: tuple[str, ...]
    salt: str
    bad_lines: BadLines = field(default_factory=BadLines)

    def batches(self, tally: ReadCounts | None = None) -> pa.RecordBatchReader:
        """Return the rows in the encoded schema, without `t_next`."""
        return pa.RecordBatchReader.from_batches(EVENTS, self._batches(tally or ReadCounts()))

    def times(self, tally: ReadCounts) -> Iterator[int]:
        """Yield the time of each row, and count in `tally`; much cheaper than the rows.

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

    def _batches(self, tally: ReadCounts) -> Iterator[pa.RecordBatch]:
        rows: list[Row] = []
        for row in self._rows(tally):
            rows.append(row)
            if len(rows) == BATCH:
                yield encode_events(rows)
                rows = []
        if rows:
            yield encode_events(rows)

    def _rows(self, tally: ReadCounts) -> Iterator[Row]:
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
                for number, line in number_lines(lines):
                    yield name, number, line if isinstance(line, Overlong) else line.removesuffix("\n")


def has_blank(statement: str) -> bool:
    """Tell whether a blank node may occur: white space or an IRI comes before `_:`, perhaps inside a literal."""
    return _BEFORE_BLANK.search(statement) is not None


BEFORE_BLANK = r"(?:^|[ \t>])_:"
_BEFORE_BLANK = re.compile(BEFORE_BLANK)


def broken(file: str, number: int | None, reason: str, line: str) -> DataError:
    """Return the error for a broken line."""
    place = f"{file}, line {number}" if number is not None else file
    return DataError(f"{place}: {reason}, in: {shorten(line, 120)}")


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


def write_tnt(files: list[str], salt: str, target: str, seen: Callable[[int], None] = lambda _: None) -> int:
    """Write the events of Parquet files as timed N-Triples in canonical order, and return the number of rows.

    `target` is a file (`.gz` and `.zst` are compressed) that appears when it is complete, or `-` for standard output.
    Blank nodes get back the labels they had; the triples of an element are sorted. `seen` is told the rows as they go.
    """
    rows = 0
    with atomic_output(target) as out, duckdb.connect() as database:
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

"""Parquet files of a stream: the boundaries between them, and a writer that runs inside Spark tasks.

A task holds the narrow rows of one file, sorts them, and encodes them in Arrow arrays, one row group at a time, so that
it needs little extra memory. A text that recurs in a row group is built and written once. This costs a third of what
Spark's own writer does. Text formats are written from the Parquet files by DuckDB; each is one SQL expression.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hydrograph.rdf.vocab import RDF_TYPE, XSD
from hydrograph.rdf.xsd import Kind
from hydrograph.streams.formats import parquet, tnt
from hydrograph.streams.formats.parquet import Manifest
from hydrograph.streams.schema import EVENTS
from hydrograph_gauge.worlds.hashing import NumberArray, hash_long_arrays
from hydrograph_gauge.worlds.social.triples import PREFIXES, SIOCT
from hydrograph_gauge.worlds.spark import constant_numbers
from hydrograph_gauge.worlds.world import ArrayEncoding

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from hydrograph_gauge.worlds.world import ElementLine, StreamPlan


_UNSORTED = {"s", "p", "o"}
"""Columns without min/max statistics: no reader uses them, and computing them for text is a third of the cost."""
_STATISTICS = [name for name in EVENTS.names if name not in _UNSORTED]
_TOLD = "name string, rows bigint, first bigint, last bigint, blanks boolean, kinds bigint, a bigint, b bigint"


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """Summary of the written files of a stream."""

    files: tuple[str, ...]
    rows: int
    first: int | None
    last: int | None
    blanks: bool
    kinds: int
    """A bit for each kind of object."""
    sums: tuple[int, ...]
    """The sums of both hashes of all rows, modulo 2**64."""


def write_files(rows: DataFrame, arrays: ArrayEncoding, directory: Path, salts: tuple[int, ...]) -> WrittenFiles:
    """Write each partition of `rows` as a file of `directory`, in order and in the encoded schema."""
    # The encoding holds a Spark column, which cannot be serialised: only its functions go to the tasks.
    order, encode = arrays.order, arrays.encode
    directory.mkdir(parents=True, exist_ok=True)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        name = f"part-{task.partitionId():05d}.parquet"
        told = _write_file(_groups(batches, order), encode, directory, name, f".{name}.{task.taskAttemptId()}", salts)
        if told is not None:
            yield pa.RecordBatch.from_pylist([told])

    found = rows.mapInArrow(write, _TOLD).toArrow().sort_by("name").to_pylist()
    return WrittenFiles(
        files=tuple(one["name"] for one in found),
        rows=sum(one["rows"] for one in found),
        first=min((one["first"] for one in found), default=None),
        last=max((one["last"] for one in found), default=None),
        blanks=any(one["blanks"] for one in found),
        kinds=int(np.bitwise_or.reduce([one["kinds"] for one in found], dtype=np.int64)) if found else 0,
        sums=tuple(sum(one[name] for one in found) % 2**64 for name in "ab"),
    )


def _groups(batches: Iterator[pa.RecordBatch], order: Callable[[pa.Table], NumberArray]) -> Iterator[pa.Table]:
    """Yield the rows of all batches in their order, in tables of the size of a row group."""
    given = list(batches)
    if not given:
        return
    table = pa.Table.from_batches(given).combine_chunks()
    places = order(table)
    for first in range(0, len(places), parquet.ROWS_PER_GROUP):
        yield table.take(pa.array(places[first : first + parquet.ROWS_PER_GROUP]))


def _write_file(
    groups: Iterator[pa.Table],
    encode: Callable[[pa.Table], pa.Table],
    directory: Path,
    name: str,
    partial: str,
    salts: tuple[int, ...],
) -> dict[str, Any] | None:
    """Write a file atomically and return its summary, or None if there are no rows."""
    told: dict[str, Any] | None = None
    writer: pq.ParquetWriter | None = None
    for group in groups:
        table = encode(group)
        if writer is None or told is None:
            writer = pq.ParquetWriter(
                directory / partial, table.schema, **parquet.WRITTEN, write_statistics=_STATISTICS
            )
            told = {"name": name, "rows": 0, "first": None, "last": None, "blanks": False, "kinds": 0, "a": 0, "b": 0}
        writer.write_table(table, row_group_size=len(table))
        _tell(told, table, salts)
    if writer is not None:
        writer.close()
        (directory / partial).replace(directory / name)
    return told


def _tell(told: dict[str, Any], table: pa.Table, salts: tuple[int, ...]) -> None:
    """Add a row group to the summary of its file."""
    first, last = (one.as_py() for one in pc.min_max(table["t"]).values())
    told["rows"] += len(table)
    told["first"] = first if told["first"] is None else min(first, told["first"])
    told["last"] = last if told["last"] is None else max(last, told["last"])
    kinds = [int(kind) for kind in pc.unique(table["o_kind"]).to_pylist()]
    told["kinds"] |= sum(1 << kind for kind in kinds)
    subjects = table["s"].chunk(0).dictionary
    told["blanks"] |= Kind.BLANK in kinds or bool(pc.any(pc.starts_with(subjects, "_")).as_py())
    columns = [table[name].to_numpy() for name in ("t", "seq", "s_id", "p_id", "o_id")]
    for name, salt in zip("ab", salts, strict=True):
        total = told[name] + int(hash_long_arrays(salt, *columns).sum(dtype=np.int64))
        told[name] = (total + 2**63) % 2**64 - 2**63  # a sum of BIGINTs modulo 2**64 is one again


_CELLS = 16
"""Cells for each file."""


@dataclass(frozen=True, slots=True)
class FileBoundaries:
    """The first times of files, in order, and for each cell of time the file it begins in."""

    starts: tuple[int, ...]
    width: int
    cells: tuple[int, ...]
    most: int
    """How many files begin inside of one cell, after its beginning."""

    @classmethod
    def of(cls, starts: Sequence[int]) -> FileBoundaries:
        """Return the cuts of files that start at these times, of which there is at least one."""
        first = starts[0]
        span = starts[-1] - first + 1
        width = -(-span // (_CELLS * len(starts)))
        ends = range(first, first + span + width, width)
        held = [bisect_right(starts, end) - 1 for end in ends]
        inside = (bisect_right(starts, end + width - 1) - 1 - begun for end, begun in zip(ends, held, strict=True))
        return cls(tuple(starts), width, tuple(held), max(inside))

    def value(self, t: int) -> int:
        """Return the number of the last file that starts at or before `t`; times before all files are in the first."""
        cell = min(max((t - self.starts[0]) // self.width, 0), len(self.cells) - 1)
        begun = self.cells[cell]
        later = self.starts[begun + 1 : begun + 1 + self.most]
        return begun + sum(start <= t for start in later)

    def column(self, t: Column) -> Column:
        """Return the same for each row."""
        from pyspark.sql import functions as F  # noqa: N812

        if len(self.starts) == 1:
            return F.lit(0)
        cell = F.floor((t - F.lit(self.starts[0])) / F.lit(self.width))
        within = F.greatest(F.least(cell, F.lit(len(self.cells) - 1)), F.lit(0)).cast("int")
        begun = F.get(constant_numbers(self.cells, "int"), within)
        known = constant_numbers(self.starts, "bigint")
        result = begun
        for place in range(1, self.most + 1):
            result = result + F.when(F.get(known, begun + place) <= t, F.lit(1)).otherwise(F.lit(0))
        return result


_BATCH = 65_536

_BARE = "CASE WHEN starts_with({0}, '<') THEN substr({0}, 2, length({0}) - 2) ELSE {0} END"
_UNQUOTED_NUMBER = r"regexp_replace(o, '^\"([^\"]*)\"(\^\^<http://www\.w3\.org/2001/XMLSchema#float>)$', '\1\2')"


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Text format with a line for each triple: the file extension, and the line as SQL over t, seq, s, p and o."""

    ending: str
    line: str
    head: tuple[str, ...] = ()
    """Header lines."""
    static: bool = False
    """Whether the static graph is written in this format too; otherwise it is written as N-Triples."""


def _prefixed(prefixes: Mapping[str, str]) -> TextFormat:
    """Return S2Gen's format: Turtle without times, one triple per line, all IRIs prefixed and `a` for rdf:type.

    The original writes `rdf:type` for the type of an album, and uses the file extension of N-Triples.
    """
    names, spaces = (f"[{', '.join(map(_quoted, values))}]" for values in (prefixes, prefixes.values()))

    def short(term: str) -> str:
        parts = f"regexp_extract({term}, '^<(.*[/#])([A-Za-z0-9_]+)>$', ['space', 'name'])"
        name = f"list_extract({names}, list_position({spaces}, {parts}.space)) || ':' || {parts}.name"
        return f"coalesce({name}, {term})"

    typed = rf"""regexp_replace(o, '("\^\^)<{re.escape(XSD)}([A-Za-z]+)>$', '\1xsd:\2')"""
    types = f"CASE WHEN o = {_quoted(f'<{SIOCT}ImageGallery>')} THEN 'rdf:type' ELSE 'a' END"
    predicate = f"CASE WHEN p = {_quoted(f'<{RDF_TYPE}>')} THEN {types} ELSE {short('p')} END"
    object_ = f"CASE WHEN starts_with(o, '<') THEN {short('o')} ELSE {typed} END"
    head = tuple(f"@prefix {name}: <{space}> ." for name, space in prefixes.items())
    return TextFormat(".ttl", f"concat({short('s')}, ' ', {predicate}, ' ', {object_}, ' .')", head, static=True)


def _quoted(text: str) -> str:
    """Return a text as an SQL string literal.

    >>> _quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


FORMATS = {
    "tnt": TextFormat(".tnt", "concat(t, ':', seq, chr(9), s, ' ', p, ' ', o, ' .')"),
    "yabench": TextFormat(".n3t", f"concat(s, ' ', p, ' ', {_UNQUOTED_NUMBER}, ' \"', t, '\" .')"),
    "watdiv": TextFormat(
        ".txt", f"concat({_BARE.format('s')}, chr(9), {_BARE.format('p')}, chr(9), {_BARE.format('o')}, chr(9), t)"
    ),
    "s2gen": _prefixed(PREFIXES),
}
"""Timed N-Triples, YABench's streams (the time as a quoted fourth term), Stream WatDiv's (IRIs bare, tabs), S2Gen's."""


N_TRIPLES = TextFormat(".nt", "concat(s, ' ', p, ' ', o, ' .')")


def write_stream(form: str, stream: StreamPlan, place: Path, manifest: Manifest, directory: Path) -> str:
    """Write a stream as text beside its directory `place` and return the name of the file."""
    files = [str(place / name) for name in manifest.files]
    lines = FORMATS[form]
    name = stream.name + lines.ending
    if form == "tnt" and not stream.arrival:
        tnt.write_tnt(files, manifest.salt, str(directory / name))
        return name
    first = "seq" if stream.arrival else "t, seq"
    sql = f"SELECT {lines.line} AS line FROM read_parquet($files) ORDER BY {first}, {_rank(stream.order)}s, p, o"
    # Files are disjoint in time and can be sorted one by one; the order of arrival needs a sort over all files.
    _write_lines([files] if stream.arrival else [[file] for file in files], sql, directory / name, lines.head)
    return name


def _rank(order: Sequence[ElementLine]) -> str:
    """Return the sort key of a triple's position among the lines of its element; unlisted lines come first."""
    cases = (
        f"WHEN p = {_quoted(line.predicate)} AND starts_with(o, {_quoted(line.object)}) THEN {place}"
        for place, line in enumerate(order, 1)
    )
    return f"CASE {' '.join(cases)} ELSE 0 END, " if order else ""


def write_static(forms: Sequence[str], place: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Write the static graph as text beside its directory `place`, and return the names of the files.

    It is written in those formats that apply to static data, otherwise as N-Triples.
    """
    written = {own if (own := FORMATS[form]).static else N_TRIPLES: None for form in forms}
    for lines in written:
        sql = f"SELECT {lines.line} AS line FROM read_parquet($files) ORDER BY s, p, o"
        parts = [[str(place / name)] for name in names]
        _write_lines(parts, sql, place.with_name(place.name + lines.ending), lines.head)
    return tuple(place.name + lines.ending for lines in written)


def _write_lines(parts: list[list[str]], sql: str, target: Path, head: Sequence[str]) -> None:
    """Write the header and then, part by part, the lines that `sql` selects from its files."""
    with target.open("wb") as out, duckdb.connect() as database:
        out.write("".join(f"{line}\n" for line in head).encode())
        database.execute("SET temp_directory = ?", [str(target.parent / ".spill")])
        for files in parts:
            batches = database.sql(sql, params={"files": files}).to_arrow_reader(_BATCH)
            assert batches is not None
            for batch in batches:
                out.write(("\n".join(batch.column(0).to_pylist()) + "\n").encode())

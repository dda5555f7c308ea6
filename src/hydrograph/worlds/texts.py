"""The text forms of generated data, written from its Parquet files: each is a line of SQL for DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from hydrograph.streams.formats import tnt
from hydrograph.streams.formats.parquet import Manifest

if TYPE_CHECKING:
    from hydrograph.worlds.plan import StreamPlan

_BATCH = 65_536

_BARE = "CASE WHEN starts_with({0}, '<') THEN substr({0}, 2, length({0}) - 2) ELSE {0} END"
_UNQUOTED_NUMBER = r"regexp_replace(o, '^\"([^\"]*)\"(\^\^<http://www\.w3\.org/2001/XMLSchema#float>)$', '\1\2')"


@dataclass(frozen=True, slots=True)
class LineForm:
    """A text form with a line for each triple: how files end, and the line as SQL over t, s, p and o."""

    ending: str
    line: str


LINES = {
    "tnt": LineForm(".tnt", "concat(t, ':', seq, chr(9), s, ' ', p, ' ', o, ' .')"),
    "yabench": LineForm(".n3t", f"concat(s, ' ', p, ' ', {_UNQUOTED_NUMBER}, ' \"', t, '\" .')"),
    "watdiv": LineForm(
        ".txt", f"concat({_BARE.format('s')}, chr(9), {_BARE.format('p')}, chr(9), {_BARE.format('o')}, chr(9), t)"
    ),
}
"""Timed N-Triples, YABench's stream files (the time as a quoted fourth term), and Stream WatDiv's (IRIs bare, tabs)."""


def write_stream(form: str, stream: StreamPlan, place: Path, manifest: Manifest, directory: Path) -> str:
    """Write a stream as text beside its directory `place` and return the name of the file."""
    files = [str(place / name) for name in manifest.files]
    lines = LINES[form]
    name = stream.name + lines.ending
    if form == "tnt" and not stream.arrival:
        tnt.write_tnt(files, manifest.salt, str(directory / name))
        return name
    order = ", ".join("'" + predicate.replace("'", "''") + "'" for predicate in stream.order)
    rank = f"coalesce(list_position([{order}], p), 0), " if order else ""
    first = "seq" if stream.arrival else "t, seq"
    sql = f"SELECT {lines.line} AS line FROM read_parquet($files) ORDER BY {first}, {rank}s, p, o"
    # In order of time one file is sorted after the other; in order of arrival only all of them together can be.
    _write_lines([files] if stream.arrival else [[file] for file in files], sql, directory / name)
    return name


def write_static(place: Path, names: tuple[str, ...], target: Path) -> str:
    """Write the static graph as N-Triples and return the name of the file."""
    sql = "SELECT concat(s, ' ', p, ' ', o, ' .') AS line FROM read_parquet($files) ORDER BY s, p, o"
    _write_lines([[str(place / name)] for name in names], sql, target)
    return target.name


def _write_lines(parts: list[list[str]], sql: str, target: Path) -> None:
    """Write the lines that `sql` makes of the files of each part, one part after the other."""
    with target.open("wb") as out, duckdb.connect() as database:
        database.execute("SET temp_directory = ?", [str(target.parent / ".spill")])
        for files in parts:
            batches = database.sql(sql, params={"files": files}).to_arrow_reader(_BATCH)
            assert batches is not None
            for batch in batches:
                out.write(("\n".join(batch.column(0).to_pylist()) + "\n").encode())

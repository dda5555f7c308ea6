"""Text formats of generated data, written from the Parquet files by DuckDB; each format is one SQL expression."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from hydrograph.rdf.vocab import RDF_TYPE, XSD
from hydrograph.streams.formats import tnt
from hydrograph.streams.formats.parquet import Manifest
from hydrograph_gauge.worlds.social.triples import PREFIXES, SIOCT

if TYPE_CHECKING:
    from hydrograph_gauge.worlds.world import ElementLine, StreamPlan

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

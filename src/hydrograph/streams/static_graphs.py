"""Static graphs as encoded triples: N-Triples, Turtle, N-Quads, TriG, or Parquet in the encoded schema.

Blank nodes are scoped to their file, duplicates are removed; the same files always give the same tables.
RDF/XML is refused, because its entities can be made to fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyoxigraph as ox

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import TRIPLE_COLUMNS, salt_of, skolem, term_id
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.streams.files import open_binary
from hydrograph.streams.rdf_parsers import Complaints, Labels, parse_quads, text
from hydrograph.streams.schema import BATCH, TRIPLES, check_files, encode_triples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARSERS = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".ttl": ox.RdfFormat.TURTLE,
    ".nq": ox.RdfFormat.N_QUADS,
    ".trig": ox.RdfFormat.TRIG,
}
_WITH_NAMES = (".nq", ".trig")
_ANONYMOUS = (".ttl", ".trig")
"""What may hold nodes without a label, for which the parser makes up another one each time."""
_COMPRESSED = (".gz", ".zst")
_REFUSED = (".rdf", ".xml", ".owl")

DEFAULT_GRAPH = ""

QUADS = pa.schema([*TRIPLES, ("g", pa.string()), ("g_id", pa.int64())])
"""The triples of named graphs, each with the name of its graph."""
GRAPHS = pa.schema([("g", pa.string()), ("g_id", pa.int64())])
"""The names of named graphs, empty ones included."""


@dataclass(frozen=True, slots=True)
class StaticGraphs:
    """The static data of a query, encoded, each triple once in its graph."""

    default: pa.Table | None = None
    """The default graph; None where none is given."""
    named: Mapping[str, pa.Table] | None = None
    """The named graphs by the canonical texts of their names; None where nothing given could have held one."""

    @property
    def tables(self) -> list[pa.Table]:
        """All graphs."""
        return [*([] if self.default is None else [self.default]), *(self.named or {}).values()]

    def quads(self) -> pa.Table:
        """Return the triples of all named graphs with the names of their graphs."""
        tables = [_with_name(table, name) for name, table in (self.named or {}).items()]
        return pa.concat_tables(tables) if tables else QUADS.empty_table()

    def names(self) -> pa.Table:
        """Return the names of all named graphs."""
        names = list(self.named or {})
        return pa.table([names, [term_id(name) for name in names]], schema=GRAPHS)


def read_graphs(sources: Iterable[tuple[str | None, str]]) -> StaticGraphs:
    """Return what (name, location) pairs give: a named graph each, or where the name is None a whole dataset.

    Graphs that are given several times are merged; blank nodes of different files stay apart.
    """
    found: dict[str, list[pa.Table]] = {}
    may_be_named, number = False, 0
    for name, location in sources:
        files = static_files(location)
        dataset = _read_files(files, number)
        number += len(files)
        if name is not None:
            if len(dataset) > 1:
                raise DataError(
                    f"{location}: expected the triples of the graph <{name}>, got named graphs; give it without an IRI"
                )
            dataset = {term_text(Iri(name)): dataset[DEFAULT_GRAPH]}
        may_be_named = may_be_named or name is not None or any(_ending(file) in _WITH_NAMES for file in files)
        for graph, table in dataset.items():
            found.setdefault(graph, []).append(table)
    merged = {graph: tables[0] if len(tables) == 1 else merge(tables) for graph, tables in found.items()}
    default = merged.pop(DEFAULT_GRAPH, None)
    return StaticGraphs(default, merged if may_be_named else None)


Given: TypeAlias = Mapping[str, str | Path] | Mapping[str | None, str | Path] | str | Path | StaticGraphs | pa.Table
"""What a program may give as static data."""


def load_graphs(given: Given | None) -> StaticGraphs:
    """Return the graphs of a location, of locations by the IRIs of graphs, or of rows that are encoded already."""
    if isinstance(given, StaticGraphs):
        return given
    if isinstance(given, Mapping):
        return read_graphs((name, str(location)) for name, location in given.items())
    return read_graphs([(None, str(given))]) if isinstance(given, str | Path) else StaticGraphs(given)


def merge(tables: list[pa.Table]) -> pa.Table:
    """Return the triples of several graphs, each once."""
    return _distinct(pa.concat_tables(tables))


def _with_name(table: pa.Table, name: str) -> pa.Table:
    columns = [*table.columns, [name] * len(table), [term_id(name)] * len(table)]
    arrays = [
        pa.array(column, field.type) if isinstance(column, list) else column
        for column, field in zip(columns, QUADS, strict=True)
    ]
    return pa.table(arrays, schema=QUADS)


def read_static(location: str) -> pa.Table:
    """Return the default graph of a file or of all files of a directory: encoded, and each triple once."""
    return read_dataset(location)[DEFAULT_GRAPH]


def read_dataset(location: str) -> dict[str, pa.Table]:
    """Return the default graph, under the empty name, and the named graphs by the canonical texts of their names."""
    return _read_files(static_files(location), 0)


def _read_files(files: list[Path], first: int) -> dict[str, pa.Table]:
    """Return the graphs of files; `first` is the number of the first one, which keeps its blank nodes apart."""
    found: dict[str, list[pa.Table]] = {}
    for number, file in enumerate(files, first):
        for graph, table in _read(file, number).items():
            found.setdefault(graph, []).append(table)
    return {graph: merge(tables) for graph, tables in found.items()}


def static_files(location: str) -> list[Path]:
    """Return the files at `location` in order of their names, or raise DataError if one is of no known format."""
    path = Path(location)
    if not path.exists():
        raise DataError(f"{location}: no such file or directory")
    files = [path]
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith((".", "_"))]
        if not files:
            raise DataError(f"{location}: the directory is empty")
    for file in files:
        if _ending(file) in _REFUSED:
            raise DataError(f"{file}: RDF/XML is not read, as its entities can exhaust memory; convert it to Turtle")
        if _ending(file) not in (*_PARSERS, ".parquet"):
            known = ", ".join((*_PARSERS, ".parquet"))
            raise DataError(f"{file}: unknown format; known are {known}, each but the last also with .gz or .zst")
    return files


def static_on_spark(location: str, spark: SparkSession) -> DataFrame:
    """Return the triples of N-Triples files (or encoded Parquet) as a plan: for graphs too large for one process."""
    from hydrograph.streams.formats import tnt_spark

    files = static_files(location)
    endings = {_ending(file) for file in files}
    names = tuple(str(file.resolve()) for file in files)
    if endings == {".nt"}:
        scopes = {file: skolem(_salt(Path(file)), number, "") for number, file in enumerate(names)}
        return tnt_spark.triples(spark, scopes).distinct()
    if endings == {".parquet"}:
        check_files(files, TRIPLES)
        return spark.read.parquet(*names).select(*TRIPLE_COLUMNS).distinct()
    raise DataError(f"{location}: Spark reads .nt and .parquet graphs, found {', '.join(sorted(endings))}")


def _ending(file: Path) -> str:
    suffixes = file.suffixes
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes = suffixes[:-1]
    return suffixes[-1] if suffixes else ""


def _read(file: Path, number: int) -> dict[str, pa.Table]:
    if _ending(file) == ".parquet":
        check_files([file], TRIPLES)
        return {DEFAULT_GRAPH: pq.read_table(file, columns=list(TRIPLE_COLUMNS)).cast(TRIPLES)}
    blank = _blanks(file, number)
    parts: dict[str, list[tuple[str, str, str]]] = {DEFAULT_GRAPH: []}
    batches: dict[str, list[pa.RecordBatch]] = {}
    for quad in _quads(file):
        named = not isinstance(quad.graph_name, ox.DefaultGraph)
        graph = text(quad.graph_name, blank) if named else DEFAULT_GRAPH
        s, p, o = (text(term, blank) for term in quad.triple)
        part = parts.setdefault(graph, [])
        part.append((s, p, o))
        if len(part) == BATCH:
            batches.setdefault(graph, []).append(encode_triples(part))
            part.clear()
    return {
        graph: pa.Table.from_batches([*batches.get(graph, []), encode_triples(part)], TRIPLES)
        for graph, part in parts.items()
    }


def _blanks(file: Path, number: int) -> Callable[[str], str]:
    """Return what gives blank nodes their texts: no other file has them, and each reading gives the same."""
    scoped = partial(skolem, _salt(file), number)
    if _ending(file) not in _ANONYMOUS:
        return scoped  # as `static_on_spark` names them
    labels = Labels()
    return lambda label: scoped(labels(label)[2:])


def _salt(file: Path) -> str:
    return salt_of(f"static {file.name}")


def _quads(file: Path) -> Iterator[ox.Quad]:
    with open_binary(str(file)) as raw:
        try:
            with Complaints():
                yield from parse_quads(raw, _PARSERS[_ending(file)])
        except DataError as error:
            place = f"{file}, " if str(error).startswith("line ") else f"{file}: "
            raise DataError(f"{place}{error}") from None


def _distinct(table: pa.Table) -> pa.Table:
    """Return each triple once, in the order of its first appearance."""
    numbered = table.select(["s", "p", "o"]).append_column("row", pa.array(range(len(table)), pa.int64()))
    first = numbered.group_by(["s", "p", "o"]).aggregate([("row", "min")])["row_min"]
    return table.take(first.take(pc.sort_indices(first)))

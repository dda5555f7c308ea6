"""Reports: the results of one query at one instant, from encoded rows to terms, JSON and digests.

The hash of a row is xxhash64 (seed 42) over the canonical texts of its terms, each hashed with the hash before it as
the seed, as Spark's function does with several columns; an unbound term leaves the hash as it is. The hash of a report
is the sum of the hashes of its rows, modulo 2^64.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache, reduce
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
from xxhash import xxh64_intdigest

from hydrograph.compile.program import Output, Program
from hydrograph.compile.relation import (
    BooleanLayout,
    EncodedLayout,
    GeneralLayout,
    IntegerLayout,
    NumberLayout,
    Part,
    StringLayout,
    column_name,
)
from hydrograph.rdf.encoding import Kind, decode
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER, XSD_STRING
from hydrograph.rdf.xsd import double_text, single_text
from hydrograph.temporal import Instant

Row = tuple[str | None, ...]
"""The canonical texts of a solution's terms, in SELECT order; None where unbound."""
BLOCK = 65_536
"""Rows that are looked at together."""
_TEXTS = 2**17
"""Terms whose JSON is remembered."""


@dataclass(frozen=True, slots=True)
class Report:
    """The answers at `t`; `open` and `close` where the report belongs to one window (A11)."""

    t: Instant
    open: Instant | None
    close: Instant | None
    variables: tuple[str, ...]
    rows: tuple[Row, ...]
    seq: int | None = None
    """The place in its log of the element that made the report alone (S12)."""
    texts: Sequence[str] | None = field(default=None, compare=False, repr=False)
    """The JSON of the rows, if it has been made before."""

    def terms(self) -> list[tuple[Term | None, ...]]:
        """Return the rows as terms."""
        return [tuple(None if text is None else decode(text) for text in row) for row in self.rows]

    def json(self, query: str, version: int = 1) -> str:
        """Return the report as one line: SPARQL-JSON terms in rows."""
        head = {"query": query, "version": version, "open": self.open, "close": self.close, "t": self.t}
        if self.seq is not None:
            head["seq"] = self.seq
        texts = self.texts
        if texts is None:
            names = member_names(self.variables) if self.rows else []
            texts = [row_text(names, row) for row in self.rows]
        rows = ",".join(texts)
        return f'{_dumped(head)[:-1]},"rows":[{rows}]}}'


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _dumped(value: object) -> str:
    return _ENCODER.encode(value)


def member_names(variables: Iterable[str]) -> list[str]:
    """Return the names of variables as a JSON object has them."""
    return [f"{_dumped(name)}:" for name in variables]


def row_text(names: Sequence[str], row: Row) -> str:
    """Return a row as JSON: SPARQL-JSON terms under names as `member_names` gives them."""
    bound = [name + _term_text(text) for name, text in zip(names, row, strict=True) if text is not None]
    return f"{{{','.join(bound)}}}"


@lru_cache(_TEXTS)
def _term_text(text: str) -> str:
    """Return a term as JSON text; a term is in many rows, and a row in many reports."""
    if text[0] == "<" and "\\" not in text:
        return f'{{"type":"uri","value":{encode_basestring(text[1:-1])}}}'
    return _dumped(term_json(text))


def term_json(text: str) -> dict[str, str]:
    """Return a term as the SPARQL results format writes it."""
    match decode(text):
        case Iri(value):
            return {"type": "uri", "value": value}
        case BlankNode(label):
            return {"type": "bnode", "value": label}
        case Literal(lexical, datatype, language):
            if language is not None:
                return {"type": "literal", "value": lexical, "xml:lang": language}
            typed = {} if datatype == XSD_STRING else {"datatype": datatype}
            return {"type": "literal", "value": lexical, **typed}


class RowsByRank(Mapping[int, Sequence[Row]]):
    """The rows of reports out of a result table; only some of them at a time are more than columns of a table."""

    def __init__(self, program: Program, table: pa.Table) -> None:
        """Keep `table`, which has the rank of each row in the column `r`."""
        ranks = table.column("r").to_numpy()
        self._program = program
        in_order = bool((ranks[1:] >= ranks[:-1]).all())
        self._order = None if in_order else np.argsort(ranks, kind="stable")
        self._ranks = ranks if self._order is None else ranks[self._order]
        self._table = table if self._order is None else table.combine_chunks()
        self._first = 0
        self._block: list[Row] = []

    def __getitem__(self, rank: int) -> Sequence[Row]:
        """Return the rows of one report; quick for reports in order."""
        start, end = (int(at) for at in np.searchsorted(self._ranks, (rank, rank + 1)))
        if start == end:
            raise KeyError(rank)
        if start < self._first or end > self._first + len(self._block):
            self._load(start, max(end, start + BLOCK))
        return self._block[start - self._first : end - self._first]

    def __iter__(self) -> Iterator[int]:
        """Return the ranks of reports that have rows."""
        return iter(np.unique(self._ranks).tolist())

    def __len__(self) -> int:
        """Return how many reports have rows."""
        return len(np.unique(self._ranks))

    def _load(self, start: int, end: int) -> None:
        part = self._table.slice(start, end - start)
        if self._order is not None:
            part = self._table.take(pa.array(self._order[start:end]))
        columns = {name: part.column(name).to_pylist() for name in part.column_names}
        self._first, self._block = start, list(rows_of(self._program, columns))


def rows_by_interval(program: Program, table: pa.Table) -> Iterator[tuple[int, int, Row]]:
    """Return the rows of a result table as texts, each with the ranks `[lo, hi)` of its columns."""
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    rows = rows_of(program, {**columns, "r": columns["lo"]})
    return zip(columns["lo"], columns["hi"], rows, strict=True)


def rows_of(program: Program, columns: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """Return the rows of a result table as texts; computed terms get their text here."""
    texts = [_texts(output, columns) for output in program.outputs]
    return iter(zip(*texts, strict=True)) if texts else iter(() for _ in columns["r"])


def _texts(output: Output, columns: Mapping[str, Sequence[Any]]) -> Iterable[str | None]:
    match output.layout:
        case EncodedLayout(parts) if Part.TEXT in parts:
            texts: Sequence[str | None] = columns[column_name(output.stem, output.layout, Part.TEXT)]
            return texts
        case EncodedLayout():
            return [None] * len(columns["r"])
        case IntegerLayout():
            return [None if n is None else _literal(str(n), XSD_INTEGER) for n in columns[f"{output.stem}_int"]]
        case NumberLayout():
            kinds, numbers, decimals = (columns[f"{output.stem}_{part}"] for part in ("kind", "num", "dec"))
            return [number_text(*parts) for parts in zip(kinds, numbers, decimals, strict=True)]
        case BooleanLayout():
            return [
                None if b is None else _literal(str(b).lower(), XSD_BOOLEAN) for b in columns[f"{output.stem}_bool"]
            ]
        case StringLayout(tagged):
            lexicals = columns[f"{output.stem}_lex"]
            tags: Sequence[str | None] = columns[f"{output.stem}_lang"] if tagged else [None] * len(lexicals)
            return [string_text(*parts) for parts in zip(lexicals, tags, strict=True)]
        case GeneralLayout():
            computed: Sequence[str | None] = columns[f"{output.stem}_text"]
            return computed


def number_text(kind: int | None, number: float | None, decimal: Decimal | None) -> str | None:
    """Return the canonical text of a computed number; None for an error."""
    match kind:
        case None:
            return None
        case Kind.INTEGER | Kind.DECIMAL:
            assert decimal is not None
            lexical = format(decimal, "f")
            lexical = lexical.rstrip("0").rstrip(".") if "." in lexical else lexical
            return _literal("0" if lexical == "-0" else lexical, XSD_INTEGER if kind == Kind.INTEGER else XSD_DECIMAL)
        case _:
            assert number is not None
            double = kind == Kind.DOUBLE
            return _literal(double_text(number), XSD_DOUBLE) if double else _literal(single_text(number), XSD_FLOAT)


def string_text(lexical: str | None, language: str | None) -> str | None:
    """Return the canonical text of a computed string; None for an error."""
    if lexical is None:
        return None
    return term_text(Literal(lexical) if language is None else Literal.tagged(lexical, language))


def _literal(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{datatype}>'


_SEED = 42
_MODULUS = 2**64


@dataclass(frozen=True, slots=True)
class ReportDigest:
    """What a report holds, without its rows."""

    t: Instant
    rows: int
    hash: int

    def __str__(self) -> str:
        """Return instant, row count and hash, tab-separated."""
        return f"{self.t}\t{self.rows}\t{self.hash:016x}"


def row_hash(row: Row) -> int:
    """Return the hash of one row."""
    return reduce(lambda seed, text: seed if text is None else xxh64_intdigest(text.encode(), seed), row, _SEED)


def digest(report: Report) -> ReportDigest:
    """Return the digest of a report whose rows are at hand."""
    return ReportDigest(report.t, len(report.rows), sum(map(row_hash, report.rows)) % _MODULUS)


def sweep(stretches: Iterable[tuple[int, int, int, int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Return row count and hash of every rank in `[start, end)`.

    A stretch `(lo, hi, n, low, high)` counts n rows at the ranks `[lo, hi)`, with the sums of the lower and of the
    upper halves of their hashes.
    """
    deltas: dict[int, list[int]] = {}
    for lo, hi, count, low, high in stretches:
        for at, sign in ((lo, 1), (hi, -1)):
            total = deltas.setdefault(at, [0, 0])
            total[0] += sign * count
            total[1] += sign * (low + (high << 32))
    rows, hashed = 0, 0
    for rank in range(start, end):
        count, change = deltas.get(rank, (0, 0))
        rows, hashed = rows + count, hashed + change
        yield rows, hashed % _MODULUS


def stretches(columns: dict[str, list[Any]]) -> Iterator[tuple[int, int, int, int, int]]:
    """Return the rows of a `by_stretch` query as whole numbers."""
    rows = zip(*(columns[name] for name in ("lo", "hi", "n", "low", "high")), strict=True)
    return ((int(lo), int(hi), int(n), int(low), int(high)) for lo, hi, n, low, high in rows)

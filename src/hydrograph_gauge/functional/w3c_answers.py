"""What a test expects, from every format the W3C writes it in, and whether an answer is that.

[XML](https://www.w3.org/TR/rdf-sparql-XMLres/), [JSON](https://www.w3.org/TR/sparql11-results-json/), [CSV and
TSV](https://www.w3.org/TR/sparql11-results-csv-tsv/), the result-set vocabulary in RDF, and graphs.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pyoxigraph as ox

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import parse_term
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.rdf.vocab import XSD_BOOLEAN
from hydrograph_gauge.functional.w3c_manifest import Node
from hydrograph_gauge.oracle.compare import compare, format_row, rows_equal
from hydrograph_gauge.oracle.dataset import Row

RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
TRIPLE = ("subject", "predicate", "object")
BOOLEAN = ("boolean",)
"""The columns under which the engine gives graphs and truth values."""

_GRAPHS = {".ttl": ox.RdfFormat.TURTLE, ".rdf": ox.RdfFormat.RDF_XML, ".nt": ox.RdfFormat.N_TRIPLES}
_TABLES = {
    ".srx": ox.QueryResultsFormat.XML,
    ".srj": ox.QueryResultsFormat.JSON,
    ".tsv": ox.QueryResultsFormat.TSV,
}


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Solutions; a graph is its triples, a truth value one row of one boolean."""

    variables: tuple[str, ...]
    rows: tuple[Row, ...]
    ordered: bool = False
    """Whether the order of the rows is part of the answer."""
    sorted_by: tuple[str, ...] = ()
    """The columns that ORDER BY sorts by, most significant first: rows that agree in them may come in any order."""
    texts_only: bool = False
    """Whether the format knows no kinds of terms but blank nodes, and no unbound variables but empty texts."""


def read_answer(file: Path) -> QueryResult:
    """Return the answer that a file of results holds."""
    ending = file.suffix
    if ending in _TABLES:
        found = ox.parse_query_results(path=file, format=_TABLES[ending])
        if isinstance(found, ox.QueryBoolean):
            return truth(value=bool(found))
        names = tuple(variable.value for variable in found.variables)
        return QueryResult(names, tuple(tuple(None if x is None else term_of(x) for x in row) for row in found))
    if ending in _GRAPHS:
        return _of_graph(file)
    if ending == ".csv":
        return _of_csv(file)
    raise DataError(f"{file}: unknown format of results; known are {', '.join((*_TABLES, *_GRAPHS, '.csv'))}")


def truth(*, value: bool) -> QueryResult:
    """Return the answer of an ASK."""
    return QueryResult(BOOLEAN, ((Literal(str(value).lower(), XSD_BOOLEAN),),))


def term_of(node: object) -> Term:
    """Return a term that pyoxigraph read."""
    return parse_term(str(node))


def _of_graph(file: Path) -> QueryResult:
    store = ox.Store()
    store.load(path=file, format=_GRAPHS[file.suffix], base_iri=file.as_uri())
    sets = [quad.subject for quad in store.quads_for_pattern(None, TYPE, ox.NamedNode(RS + "ResultSet"))]
    if not sets:
        return QueryResult(TRIPLE, tuple(tuple(map(term_of, quad.triple)) for quad in store))
    if len(sets) != 1:
        raise DataError(f"{file}: expected one result set, got {len(sets)}")

    def objects(subject: object, local: str) -> list[Node]:
        assert isinstance(subject, ox.NamedNode | ox.BlankNode)
        return [quad.object for quad in store.quads_for_pattern(subject, ox.NamedNode(RS + local), None)]

    for value in objects(sets[0], "boolean"):
        return truth(value=term_of(value) == Literal("true", XSD_BOOLEAN))
    names = tuple(sorted(str(getattr(name, "value", name)) for name in objects(sets[0], "resultVariable")))
    found: list[tuple[int | None, Row]] = []
    for solution in objects(sets[0], "solution"):
        bound: dict[str, Term] = {}
        for binding in objects(solution, "binding"):
            (name,), (value,) = objects(binding, "variable"), objects(binding, "value")
            bound[str(getattr(name, "value", name))] = term_of(value)
        places = [int(str(getattr(place, "value", place))) for place in objects(solution, "index")]
        found.append((places[0] if places else None, tuple(bound.get(name) for name in names)))
    ordered = bool(found) and all(place is not None for place, _ in found)
    rows = [row for _, row in (sorted(found, key=lambda item: item[0] or 0) if ordered else found)]
    return QueryResult(names, tuple(rows), ordered)


def _of_csv(file: Path) -> QueryResult:
    with file.open(encoding="utf-8", newline="") as opened:
        lines = list(csv.reader(opened))
    if not lines:
        raise DataError(f"{file}: expected a line of variables, got an empty file")
    return QueryResult(tuple(lines[0]), tuple(tuple(map(_of_cell, line)) for line in lines[1:]), texts_only=True)


def _of_cell(text: str) -> Term | None:
    if text.startswith("_:"):
        return BlankNode(text[2:])
    return Literal(text) if text else None


def _as_cell(term: Term | None) -> Term | None:
    match term:
        case Iri(value):
            return Literal(value)
        case Literal(lexical):
            return Literal(lexical) if lexical else None
        case _:
            return term


def difference(expected: QueryResult, got: QueryResult, *, lax: bool = False) -> str:
    """Return in words how an answer differs from the expected one; nothing if it does not.

    Blank nodes are equal up to one bijection of the whole answer, numbers by value within their datatype.
    """
    if set(expected.variables) != set(got.variables) or len(expected.variables) != len(got.variables):
        return f"expected the variables {' '.join(expected.variables)}, got {' '.join(got.variables)}"
    got = _arranged(got, expected.variables)
    if expected.texts_only:
        got = replace(got, rows=tuple(tuple(map(_as_cell, row)) for row in got.rows))
    mine, other = Counter(expected.rows), Counter(got.rows)
    if lax:
        if any(count > mine[row] for row, count in other.items() if row in mine):
            return "expected equal rows at most as often as without REDUCED, got them more often"
        mine, other = Counter(dict.fromkeys(mine, 1)), Counter(dict.fromkeys(other, 1))
    if found := compare(mine, other):
        return str(found)
    compared = expected.variables if expected.ordered else got.sorted_by
    keys = [_arranged(answer, compared).rows for answer in (expected, got)]
    if lax:  # equal rows may come more or less often
        keys = [tuple(row for row, _ in groupby(rows)) for rows in keys]
    for place, (right, row) in enumerate(zip(*keys, strict=True), 1):
        if not _same(right, row):
            return f"expected {format_row(right)} in place {place}, got {format_row(row)}"
    return ""


def _arranged(answer: QueryResult, variables: tuple[str, ...]) -> QueryResult:
    places = [answer.variables.index(name) for name in variables]
    return replace(answer, variables=variables, rows=tuple(tuple(row[n] for n in places) for row in answer.rows))


def _same(left: Row, right: Row) -> bool:
    """Tell whether two rows in one place agree; that blank nodes do is known of the whole answer already."""
    blanks = [isinstance(a, BlankNode) and isinstance(b, BlankNode) for a, b in zip(left, right, strict=True)]
    kept = [place for place, blank in enumerate(blanks) if not blank]
    return rows_equal(tuple(left[n] for n in kept), tuple(right[n] for n in kept))

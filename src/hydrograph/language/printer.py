"""Printer of algebra in any dialect: parsing the printed text gives the same algebra."""

from __future__ import annotations

from hydrograph.algebra.queries import (
    Construct,
    ContinuousQuery,
)
from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language.dialects import DIALECTS
from hydrograph.language.lexer import did_you_mean
from hydrograph.language.query_printer import QueryPrinter


def print_query(query: ContinuousQuery, dialect: str | None = None) -> str:
    """Return the text of `query`; without a dialect in the first one that can express it.

    Under another view of windows (A9) the printed text parses to a query with the same `window_views.normal` form.
    """
    if dialect is None:
        return _printer_of(query).text()
    if dialect not in DIALECTS:
        known = ", ".join(DIALECTS)
        suggestion = did_you_mean(dialect, DIALECTS)
        raise UsageError(f"unknown dialect {dialect!r} to print; known dialects: {known}{suggestion}")
    printer = DIALECTS[dialect].printer
    return printer(printer.view(query)).text()


def _printer_of(query: ContinuousQuery) -> QueryPrinter:
    """Return the printer of the first dialect that can express a query, else one that reports what it lacks."""
    streaming = query.windows or query.operator is not None or query.name is not None or query.every is not None
    names = ("rspql" if streaming else "sparql", *DIALECTS)
    printers = [DIALECTS[name].printer(query) for name in names]
    fitting = (printer for printer in printers if not any(printer.lacks()))
    return next(fitting, printers[0])


def print_sparql(query: ContinuousQuery, *, window_as_graph: bool = True) -> str:
    """Return the body of `query` as plain SPARQL 1.1, without FROM and REGISTER.

    WINDOW blocks become GRAPH blocks, or plain groups: then the content of the single window is the default graph.
    """
    if isinstance(query.form, Construct) and any(triple.graph is not None for triple in query.form.template):
        raise UnsupportedError("plain SPARQL has no GRAPH blocks in templates")
    return (_WindowsAsGraphs if window_as_graph else _OneGraph)(query).unchecked_text()


class _OneGraph(QueryPrinter):
    """Printer of the body alone, window blocks as groups."""

    def sources(self) -> list[str]:
        """Return nothing: the caller provides the dataset."""
        return []


class _WindowsAsGraphs(_OneGraph):
    """Printer of window blocks as GRAPH blocks."""

    window_word = "GRAPH"

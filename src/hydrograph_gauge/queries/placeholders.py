"""Query texts with placeholders: `${NAME}` for a constant, `${WSIZE}` and `${WSLIDE}` for the lengths of a window.

A text with placeholders is parsed with an IRI in place of each one. To print it in a language, the translated text is
parsed again and printed with the placeholders in place of those IRIs, or of the bounds of its window.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template

from hydrograph.algebra.nodes import Bgp
from hydrograph.algebra.queries import ContinuousQuery, Select
from hydrograph.algebra.windows import TimeWindow
from hydrograph.language import DIALECTS, parse
from hydrograph.language.expression_printer import TermPrinter
from hydrograph.language.query_printer import QueryPrinter
from hydrograph.rdf.terms import Iri

_NAME = r"\$\{([A-Z][A-Z0-9_]*)\}"
_PLACEHOLDER = re.compile(_NAME)
_TERM = re.compile(f"<{_NAME}>|{_NAME}")
"""A placeholder for an IRI, with its angle brackets, or for a number."""

OPEN_BOUNDS: Mapping[str, str] = {
    "rspql": "RANGE ${WSIZE} STEP ${WSLIDE}",
    "csparql": "RANGE ${WSIZE} STEP ${WSLIDE}",
    "cqels": "RANGE ${WSIZE} SLIDE ${WSLIDE}",
    "sparqlstream": "NOW - ${WSIZE} SLIDE ${WSLIDE}",
    "strider": "WINDOW [${WSIZE}] SLIDE [${WSLIDE}] BATCH [${WSLIDE}]",
}
"""The bounds of a sliding time window by language, with placeholders for its lengths."""


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the values of its placeholders."""
    return _PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], text)


def parse_with_placeholders(text: str, language: str) -> tuple[ContinuousQuery, dict[Iri, str]]:
    """Return the query of a text with placeholders, and the placeholder that each stand-in IRI of it prints as."""
    placeholders: dict[Iri, str] = {}

    def insert(placeholder: re.Match[str]) -> str:
        iri = Iri(f"urn:placeholder:{placeholder[1] or placeholder[2]}")
        placeholders[iri] = placeholder[0]
        return f"<{iri.value}>"

    return parse(_TERM.sub(insert, text), language), placeholders


def print_with_placeholders(text: str, language: str, placeholders: Mapping[Iri, str]) -> str:
    """Return a text with placeholders in place of the IRIs that stand in for them."""
    printer = DIALECTS[language].printer(_parse_view(text, language))
    printer.terms = _PlaceholderPrinter(printer.query.prefixes, placeholders)
    return printer.text()


def print_with_open_window(text: str, language: str) -> str:
    """Return a text with `${WSIZE}` and `${WSLIDE}` in place of the lengths of its windows."""
    dialect = DIALECTS[language]
    open_printer = type("OpenWindowPrinter", (dialect.printer,), {"bounds": lambda *_: OPEN_BOUNDS[language]})
    printer: QueryPrinter = open_printer(_parse_view(text, language))
    return printer.text()


def print_window_lengths(window: TimeWindow, language: str) -> dict[str, str]:
    """Return the values of `${WSIZE}` and `${WSLIDE}` in a language.

    >>> print_window_lengths(TimeWindow(5000, 1000), "sparqlstream")
    {'WSIZE': '5 SECONDS', 'WSLIDE': '1 SECONDS'}
    """
    bounds = DIALECTS[language].printer(ContinuousQuery(Select(()), Bgp(()))).bounds(window) or ""
    before, between, after, *_ = re.split(_NAME, OPEN_BOUNDS[language])[::2]
    width, _, rest = bounds.removeprefix(before).partition(between)
    lengths = {"WSIZE": width, "WSLIDE": rest.partition(after)[0] if after else rest}
    assert Template(OPEN_BOUNDS[language]).substitute(lengths) == bounds, f"{language} prints other bounds: {bounds}"
    return lengths


def _parse_view(text: str, language: str) -> ContinuousQuery:
    """Return the query of a text in the form that the printer of its language takes."""
    return DIALECTS[language].printer.view(parse(text, language))


class _PlaceholderPrinter(TermPrinter):
    """Printer of terms with placeholders for some IRIs."""

    def __init__(self, prefixes: tuple[tuple[str, str], ...], placeholders: Mapping[Iri, str]) -> None:
        super().__init__(prefixes)
        self._placeholders = placeholders

    def iri(self, iri: Iri) -> str:
        return self._placeholders.get(iri) or super().iri(iri)

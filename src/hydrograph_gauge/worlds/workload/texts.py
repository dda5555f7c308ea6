"""A query of a workload in the words of every language, as plain SPARQL, and its template as WatDiv writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hydrograph.algebra.nodes import Bgp
from hydrograph.algebra.queries import ContinuousQuery, Select
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import UnsupportedError
from hydrograph.language import DIALECTS
from hydrograph.language.printer import print_sparql
from hydrograph.language.translate_dialect import reword
from hydrograph.windows.profile import preset
from hydrograph_gauge.worlds.queries.registered import registered
from hydrograph_gauge.worlds.shop.model import Model
from hydrograph_gauge.worlds.workload.instances import Instance, continuous, plain
from hydrograph_gauge.worlds.workload.template import Template

LANGUAGES = tuple(name for name in DIALECTS if name != "sparql")
SOURCE = "rspql"
_OPEN = TimeWindow(7_919_009, 7_901_009)
"""A window that stands for an open one: no other number of a text is like its lengths."""
_BOUNDS = re.compile(r"(?:RANGE|NOW -|WINDOW \[) ?(?P<WSIZE>[^\]]+?)\]? (?:STEP|SLIDE) \[?(?P<WSLIDE>[^\]]+)\]?.*")


@dataclass(frozen=True, slots=True)
class Said:
    """A query in all languages that can say it, and why others can not."""

    texts: Mapping[str, str]
    reasons: Mapping[str, str]
    oracle: str
    """Plain SPARQL over one graph of window and static data."""


def said(name: str, made: Instance, model: Model, window: TimeWindow, *, open_window: bool = False) -> Said:
    """Return the texts of an instance; those with an open window have `${WSIZE}` and `${WSLIDE}` for its lengths.

    `name` is a word: what the query is called where a language wants it registered.
    """
    query = continuous(made, model, _OPEN if open_window else window)
    texts: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for language in LANGUAGES:
        try:
            text = reword(registered(query, name, language), language, preset(DIALECTS[SOURCE].preset)).text
        except UnsupportedError as error:
            reasons[language] = str(error)
        else:
            texts[language] = _opened(text, language) if open_window else text
    return Said(texts, reasons, print_sparql(plain(made, model)))


def lengths(window: TimeWindow, language: str) -> dict[str, str]:
    """Return what `${WSIZE}` and `${WSLIDE}` are in a language.

    >>> lengths(TimeWindow(5000, 1000), "sparqlstream")
    {'WSIZE': '5 SECONDS', 'WSLIDE': '1 SECONDS'}
    """
    found = _BOUNDS.fullmatch(_bounds(window, language))
    assert found is not None, f"expected every language to print a time window, got {language}"
    return found.groupdict()


def _bounds(window: TimeWindow, language: str) -> str:
    nothing = ContinuousQuery(Select(()), Bgp(()))
    return DIALECTS[language].printer(nothing).bounds(window) or ""


def _opened(text: str, language: str) -> str:
    """Return a text with names for the lengths of its window."""
    bounds = named = _bounds(_OPEN, language)
    for name, length in lengths(_OPEN, language).items():
        named = named.replace(length, f"${{{name}}}")
    return text.replace(bounds, named)


def template_text(template: Template, model: Model) -> str:
    """Return a template in WatDiv's syntax.

    Its placeholders are `%v0%`; conditions are not part of that syntax, and are given as comments.
    """

    def name(iri: str) -> str:
        return next(
            (f"{short}:{iri.removeprefix(long)}" for short, long in model.prefixes if iri.startswith(long)), iri
        )

    def term(variable: str) -> str:
        return f"%{variable}%" if variable in template.placeholders else f"?{variable}"

    lines = [f"#mapping {one} {name(template.entities[one].type)} uniform" for one in template.placeholders]
    lines += [f"#filter {one}" for one in template.filtered]
    lines.append(f"SELECT {' '.join(f'?{one}' for one in template.shown)} WHERE {{")
    lines += [f"\t{term(part.subject)}\t{name(part.predicate)}\t{term(part.object)} ." for part in template.parts]
    return "\n".join([*lines, "}", "#end"]) + "\n"

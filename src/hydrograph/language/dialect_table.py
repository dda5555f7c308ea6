"""`python -m hydrograph.language.dialect_table` prints docs/dialects.md, obtained from the dialects."""

from __future__ import annotations

import sys
from dataclasses import replace

from hydrograph.algebra.nodes import Bgp, Join, Pattern, Project, TriplePattern, Window
from hydrograph.algebra.queries import (
    Construct,
    ContinuousQuery,
    Dataset,
    NamedWindow,
    Select,
    StreamOperator,
    TemplateTriple,
)
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.language.describe import describe_profile, describe_window
from hydrograph.language.dialects import DIALECTS
from hydrograph.language.query_parser import SparqlParser
from hydrograph.language.query_printer import Part, QueryPrinter
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.temporal import SECOND
from hydrograph.windows.profile import PRESETS

_INTRODUCTION = """\
# Dialects

<!-- Written by `make dialects` from the dialects themselves; edit those instead. -->

The language is detected from the query text; `--dialect` overrides it. All languages are parsed to the same algebra.
`hydrograph validate` checks a text; `hydrograph translate --to NAME` prints it in another language, and lists what
that one cannot preserve.
"""

DEFINITIONS: tuple[WindowDefinition, ...] = (
    TimeWindow(10 * SECOND, 5 * SECOND),
    TimeWindow(10 * SECOND, None),
    PastWindow(20 * SECOND, 10 * SECOND, 5 * SECOND),
    CountWindow(10, 2),
    CountWindow(10, 10, triples=True),
    CountWindow(10, 1, triples=True),
    NowWindow(),
    AllWindow(),
)
_STREAM, _OTHER = Iri("urn:hydrograph:stream"), Iri("http://ex.org/other")
_WINDOW = TimeWindow(10 * SECOND, 5 * SECOND)
_S = Variable("s")
_TRIPLES = Bgp((TriplePattern(_S, Iri("http://ex.org/p"), Variable("o")),))


def document() -> str:
    """Return the whole page."""
    dialects = list(DIALECTS.values())
    head = ["", *(dialect.title for dialect in dialects)]
    facts = [
        ["name", *(f"`{dialect.name}`" for dialect in dialects)],
        ["preset", *(f"`{dialect.preset}`" for dialect in dialects)],
        ["recognised by", *(_marks(dialect) for dialect in dialects)],
        ["defined", *(f"[here]({dialect.reference})" for dialect in dialects)],
    ]
    windows = [[describe_window(one), *(_bounds(dialect.printer, one) for dialect in dialects)] for one in DEFINITIONS]
    features = [
        [words, *("yes" if _can_say(dialect.printer, query, part) else "no" for dialect in dialects)]
        for words, (part, query) in _features().items()
    ]
    names = list(next(iter(map(describe_profile, PRESETS.values()))))
    presets = [[name, *(describe_profile(profile)[name] for profile in PRESETS.values())] for name in names]
    return "\n".join(
        (
            _INTRODUCTION,
            _table(head, facts),
            "\n## Windows\nSyntax in the square brackets; `no` if a language cannot express it.\n",
            _table(head, windows),
            "\n## Other clauses\n",
            _table(head, features),
            "\n## Presets\nEngines differ in what a query text leaves open; `--preset` chooses one of them.\n",
            _table(["", *(f"`{name}`" for name in PRESETS)], presets),
            "",
        )
    )


def _marks(dialect: type[SparqlParser]) -> str:
    return ", ".join(f"`{mark.replace('*', '…')}`" for mark in dialect.marks) or "nothing else"


def _features() -> dict[str, tuple[Part, ContinuousQuery]]:
    """Return one query for each feature, and the part of it that shows the feature."""
    block = Window(Iri("http://ex.org/w"), _TRIPLES)
    named = NamedWindow(Iri("http://ex.org/w"), _STREAM, _WINDOW)
    other = NamedWindow(Iri("http://ex.org/v"), _OTHER, _WINDOW)
    plain = _query(_TRIPLES, NamedWindow(None, _STREAM, _WINDOW))
    quad = TemplateTriple(_S, Iri("http://ex.org/p"), _S, Iri("http://ex.org/g"))
    several = _query(Join(block, Window(Iri("http://ex.org/v"), _TRIPLES)), named, other)
    graphs = Dataset(named=(Iri("http://ex.org/g"),))
    return {
        "RSTREAM, ISTREAM, DSTREAM": ("operator", replace(plain, operator=StreamOperator.ISTREAM)),
        "a query's name is an IRI": ("name", replace(plain, name="http://ex.org/out")),
        "a query's name is a word": ("name", replace(plain, name="Out")),
        "a period of reports": ("every", replace(plain, name="Out", every=SECOND)),
        "one graph of all windows": ("windows", replace(plain, windows=(*plain.windows, replace(other, name=None)))),
        "blocks over several windows": ("windows", several),
        "a variable for windows": ("windows", _query(Window(Variable("w"), _TRIPLES), named)),
        "a static default graph apart from windows": ("windows", _query(Join(block, _TRIPLES), named)),
        "static named graphs": ("dataset", replace(plain, dataset=graphs)),
        "GRAPH in templates": ("template", replace(plain, form=Construct((quad,)), pattern=_TRIPLES)),
    }


def _query(pattern: Pattern, *windows: NamedWindow) -> ContinuousQuery:
    return ContinuousQuery(Select((_S,)), Project(pattern, (_S,)), windows)


def _bounds(printer: type[QueryPrinter], definition: WindowDefinition) -> str:
    bounds = printer(_query(_TRIPLES)).bounds(definition)
    return "no" if bounds is None else f"`{bounds}`"


def _can_say(printer: type[QueryPrinter], query: ContinuousQuery, part: Part) -> bool:
    return all(lack.part != part for lack in printer(printer.view(query)).lacks())


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(document())

"""[C-SPARQL](https://github.com/streamreasoning/CSPARQL-engine): all windows and static graphs are one graph.

After Barbieri, Braga, Ceri, Della Valle and Grossniklaus, EDBT 2010.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hydrograph.algebra.expressions import Expression
from hydrograph.algebra.nodes import Window
from hydrograph.algebra.queries import Construct, ContinuousQuery
from hydrograph.algebra.walk import subpatterns
from hydrograph.algebra.windows import CountWindow, TimeWindow, WindowDefinition
from hydrograph.language.dialect import Dialect
from hydrograph.language.duration import print_short
from hydrograph.language.query_printer import QueryPrinter
from hydrograph.language.window_views import merged
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Duration

TIMESTAMP = Iri("http://larkc.eu/csparql/sparql/jena/ext#timestamp")

UNITS: Mapping[str, Duration | str] = {"S": SECOND, "MS": 1, "M": MINUTE, "H": HOUR, "D": DAY}
UNNAMED = "anonymous"
"""Name that a query without one is printed with, and that is read as none: the engine requires REGISTER."""
_NAME = re.compile(r"(?!(?i:as)$)[A-Za-z_][A-Za-z0-9_]*")


class CSparqlPrinter(QueryPrinter):
    """Printer of C-SPARQL, with REGISTER first."""

    title = "C-SPARQL"

    @classmethod
    def view(cls, query: ContinuousQuery) -> ContinuousQuery:
        """Return the query over one merged graph."""
        return merged(query)

    def can_name(self, name: str) -> bool:
        """Return whether a name consists of letters and digits."""
        return _NAME.fullmatch(name) is not None and name != UNNAMED

    def can_say_every(self) -> bool:
        """Return True: every text has REGISTER, where COMPUTED EVERY belongs."""
        return True

    def window_lacks(self) -> Iterator[str]:
        """Yield what C-SPARQL cannot express: blocks, two windows on one stream, other window bounds."""
        streams = [window.stream for window in self.query.windows]
        if any(window.name is not None for window in self.query.windows) or any(
            isinstance(node, Window) for node in subpatterns(self.query.pattern)
        ):
            yield f"{self.title} has no blocks: its patterns see all windows and static graphs as one graph"
        elif len(set(streams)) < len(streams):
            yield f"{self.title} has one window for each stream"
        yield from self.unsayable_bounds()

    def bounds(self, definition: WindowDefinition) -> str | None:
        """Return RANGE with STEP, or TRIPLES, whose windows tumble."""
        match definition:
            case TimeWindow(width, slide) if slide is not None:
                return f"RANGE {print_short(width)} STEP {print_short(slide)}"
            case CountWindow(size, slide, triples=True) if size == slide:
                return f"RANGE TRIPLES {size}"
            case _:
                return None

    def heading(self) -> list[str]:
        """Return REGISTER STREAM for CONSTRUCT, REGISTER QUERY for all other forms."""
        query = self.query
        kind = "STREAM" if isinstance(query.form, Construct) else "QUERY"
        every = "" if query.every is None else f" COMPUTED EVERY {print_short(query.every)}"
        return [f"REGISTER {kind} {query.name or UNNAMED}{every} AS"]

    def sources(self) -> list[str]:
        """Return the static graphs and the streams."""
        return super().sources() + [f"FROM STREAM {self.bracketed(window)}" for window in self.query.windows]

    def frame(self, prologue: list[str], body: list[str]) -> list[str]:
        """Return REGISTER before the prefixes."""
        return [*self.heading(), *prologue, *body]


class CSparql(Dialect):
    """Parser of C-SPARQL as defined by its papers and by the two grammars of its engine; REGISTER is optional."""

    name = "csparql"
    title = "C-SPARQL"
    reference = "https://github.com/streamreasoning/CSPARQL-engine"
    preset = "csparql"
    printer = CSparqlPrinter
    marks = ("FROM STREAM", "REGISTER QUERY", "COMPUTED EVERY", "NAMED STREAM * [ RANGE")
    slide_words = ("STEP",)
    units = UNITS

    def registration(self) -> None:
        """Read `QUERY name [COMPUTED EVERY duration] AS`, or the same with STREAM."""
        self.expect_one(("QUERY", "STREAM"), "QUERY or STREAM")
        token = self.token
        if not _NAME.fullmatch(token.text):
            raise self.unexpected("the query's name, a word")
        name = self.take().text
        self.registered = None if name == UNNAMED else name
        if self.token.key in ("COMPUTED", "COMPUTE"):
            self.take()
            self.expect("EVERY")
            self.every = self.positive_duration("a period")
        self.expect("AS", "COMPUTED EVERY or AS")

    def default_source(self) -> None:
        """Read a stream or an IRI after FROM."""
        if self.token.key == "STREAM":
            self._stream()
        else:
            super().default_source()

    def named_source(self) -> None:
        """Read a stream or an IRI after FROM NAMED; a named stream feeds the single graph like any other."""
        if self.token.key == "STREAM":
            self._stream()
        else:
            super().named_source()

    def _stream(self) -> None:
        """Read `STREAM <stream> [window]`."""
        self.expect("STREAM")
        offset = self.token.offset
        window = self.stream_window()
        if any(window.stream == known.stream for known in self.windows):
            raise self.fail(f"expected one window for each stream, got a second one of <{window.stream.value}>", offset)
        self.windows.append(window)

    def window_definition(self) -> WindowDefinition:
        """Read `[RANGE … STEP …]`, `[RANGE … TUMBLING]` or `[RANGE TRIPLES n]`, which tumbles."""
        self.expect("[")
        start = self.expect("RANGE")
        definition: WindowDefinition
        if self.accept("TRIPLES"):
            definition = self.count(triples=True)
        else:
            width = self.positive_duration("a width")
            word = self.expect_one(("STEP", "TUMBLING"), "STEP or TUMBLING")
            # SRBench writes STEP without a duration where the windows tumble.
            tumbling = word.key == "TUMBLING" or self.token.key == "]"
            definition = self.sliding(width, width if tumbling else self.slide(), start.offset)
        self.expect("]")
        return definition

    def function(self, name: Iri) -> Expression:
        """Refuse the function that returns the timestamp of a triple."""
        if name == TIMESTAMP:
            raise self.unsupported(
                "f:timestamp is not supported; a triple in a window has as many times as events that brought it",
                self.tokens[self.at - 1].offset,
            )
        return super().function(name)

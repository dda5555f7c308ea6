"""[Strider](https://github.com/Mohmmed-Ali/strider): plain SPARQL in a frame that states window, slide and batch.

After Ren and Curé, ISWC 2017.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hydrograph.algebra.nodes import Window
from hydrograph.algebra.queries import ContinuousQuery, NamedWindow
from hydrograph.algebra.walk import subpatterns
from hydrograph.algebra.windows import TimeWindow, WindowDefinition
from hydrograph.language.dialect import Dialect
from hydrograph.language.duration import print_units
from hydrograph.language.query_printer import QueryPrinter
from hydrograph.language.window_views import merged
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import MINUTE, SECOND, Duration

STREAM = Iri("urn:hydrograph:stream")
"""The one stream of a query, which its text does not name."""

_PRINTED = {"MILLISECONDS": 1, "SECONDS": SECOND, "MINUTES": MINUTE}
UNITS: Mapping[str, Duration | str] = _PRINTED
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class StriderPrinter(QueryPrinter):
    """Printer of Strider's frame, with batches as long as the slide."""

    title = "Strider"

    @classmethod
    def view(cls, query: ContinuousQuery) -> ContinuousQuery:
        """Return the query without blocks."""
        return merged(query)

    def can_name(self, name: str) -> bool:
        """Return whether a name is valid after QUERYID."""
        return _ID.fullmatch(name) is not None

    def window_lacks(self) -> Iterator[str]:
        """Yield every window except a single time window over the single stream."""
        if len(self.query.windows) != 1:
            yield f"{self.title} has one window, not {len(self.query.windows)}"
            return
        (window,) = self.query.windows
        if window.name is not None or any(isinstance(node, Window) for node in subpatterns(self.query.pattern)):
            yield f"{self.title} has no blocks: its patterns see one window"
        if window.stream != STREAM:
            yield f"{self.title} has no name for the stream <{window.stream.value}>"
        yield from self.unsayable_bounds()

    def dataset_lacks(self) -> Iterator[str]:
        """Yield the static graphs."""
        if self.query.dataset.default or self.query.dataset.named:
            yield f"{self.title} has no static graphs"

    def bounds(self, definition: WindowDefinition) -> str | None:
        """Return the clauses of STREAMING."""
        if not isinstance(definition, TimeWindow) or definition.slide is None:
            return None
        slide = _length(definition.slide)
        return f"WINDOW [{_length(definition.width)}] SLIDE [{slide}] BATCH [{slide}]"

    def frame(self, prologue: list[str], body: list[str]) -> list[str]:
        """Return the query inside its frame."""
        (window,) = self.query.windows
        query_id = "" if self.query.name is None else f"QUERYID [{self.query.name}] "
        return [
            f"STREAMING {{ {self.bounds(window.definition)} }}",
            f"REGISTER {{ {query_id}REASONING [FALSE] SPARQL [",
            *prologue,
            *body,
            "] }",
        ]


def _length(duration: Duration) -> str:
    """Return a duration with its unit."""
    number, unit = print_units(duration, _PRINTED)
    return f"{number} {unit}"


class Strider(Dialect):
    """Parser of Strider's query files; batches affect execution, not the meaning of a query."""

    name = "strider"
    title = "Strider"
    reference = "https://github.com/Mohmmed-Ali/strider"
    printer = StriderPrinter
    marks = ("STREAMING {",)
    units = UNITS

    def heading(self) -> None:
        """Read STREAMING, and REGISTER up to the query."""
        self.expect("STREAMING")
        self._streaming()
        self.expect("REGISTER")
        self.expect("{")
        self._parts()
        self.expect("SPARQL", "QUERYID, REASONING or SPARQL")
        self.expect("[")
        self.prologue()

    def ending(self) -> None:
        """Read the end of REGISTER."""
        self.expect("]")
        self._parts()
        self.expect("}", "QUERYID, REASONING or }")
        if self.token.key == "REGISTER":
            raise self.unsupported("several queries in one text are not supported; give each its own")

    def _streaming(self) -> None:
        """Read `{ WINDOW [d] SLIDE [d] BATCH [d] }` in any order; BATCH alone is a window that tumbles."""
        opening = self.expect("{")
        found: dict[str, Duration] = {}
        while self.token.key != "}":
            word = self.expect_one(("WINDOW", "SLIDE", "BATCH"))
            if word.key in found:
                raise self.fail(f"expected one {word.key}, got two", word.offset)
            self.expect("[")
            found[word.key] = self.positive_duration("a duration")
            self.expect("]")
        self.take()
        if set(found) not in ({"BATCH"}, {"WINDOW", "SLIDE", "BATCH"}):
            raise self.fail(
                f"expected BATCH, or WINDOW, SLIDE and BATCH, got {', '.join(found) or 'none'}", opening.end
            )
        width = found.get("WINDOW", found["BATCH"])
        window = self.sliding(width, found.get("SLIDE", width), opening.offset)
        self.windows.append(NamedWindow(None, STREAM, window))

    def _parts(self) -> None:
        """Read QUERYID and REASONING."""
        while self.token.key in ("QUERYID", "REASONING"):
            word = self.take()
            self.expect("[")
            if word.key == "REASONING":
                if self.expect_one(("TRUE", "FALSE")).key == "TRUE":
                    raise self.unsupported("REASONING is not supported; write FALSE", word.offset)
            else:
                if not _ID.fullmatch(self.token.text):
                    raise self.unexpected("the query's id, a word")
                self.registered = self.take().text
            self.expect("]")

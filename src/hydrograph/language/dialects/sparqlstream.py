"""[SPARQLstream](https://github.com/jpcik/morph-streams): windows relative to now, stream operators in SELECT.

After Calbimonte, Corcho and Gray, ISWC 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hydrograph.algebra.queries import Construct, ContinuousQuery, Form, NamedWindow, Select
from hydrograph.algebra.windows import CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.language.dialect import BlockDialect
from hydrograph.language.duration import print_units
from hydrograph.language.lexer import Token
from hydrograph.language.query_printer import BlockPrinter
from hydrograph.language.syntax import Level
from hydrograph.language.window_views import merged, ordered, outside_blocks
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Duration

_PRINTED = {"MS": 1, "SECONDS": SECOND, "MINUTES": MINUTE, "HOURS": HOUR, "DAY": DAY}
_CALENDAR = "months and years have no fixed length"
UNITS: Mapping[str, Duration | str] = {
    **_PRINTED,
    **dict.fromkeys(("S", "SEC", "SECOND"), SECOND),
    **dict.fromkeys(("M", "MIN", "MINUTE"), MINUTE),
    **dict.fromkeys(("H", "HR", "HOUR"), HOUR),
    **dict.fromkeys(("D", "DAYS"), DAY),
    **dict.fromkeys(("MONTH", "MONTHS", "YEAR", "YEARS"), _CALENDAR),
}


class SparqlStreamPrinter(BlockPrinter):
    """Printer of SPARQLstream: windows of the default graph in FROM, all others in their blocks."""

    title = "SPARQLstream"

    @classmethod
    def view(cls, query: ContinuousQuery) -> ContinuousQuery:
        """Return the query with its windows in order; blocks are removed only if they cannot be expressed."""
        blocks = ordered(query)
        return ordered(merged(query)) if any(cls(blocks).window_lacks()) else blocks

    def can_say_operator(self) -> bool:
        """Return whether the query form is SELECT or CONSTRUCT, which take the operator."""
        return isinstance(self.query.form, Select | Construct)

    def window_lacks(self) -> Iterator[str]:
        """Yield patterns that would match more data than they do now, and features that blocks cannot express."""
        merged_windows = [(one.stream, one.definition) for one in self.query.windows if one.name is None]
        apart = [one for one in self.query.windows if one.name and (one.stream, one.definition) not in merged_windows]
        if apart and any(outside_blocks(self.query.pattern)):
            yield f"{self.title} has no static default graph: its patterns outside of blocks see all windows"
        yield from super().window_lacks()

    def bounds(self, definition: WindowDefinition) -> str | None:
        """Return a window relative to NOW, or TRIPLES."""
        match definition:
            case TimeWindow(width, slide):
                return _ago(width) if slide is None else f"{_ago(width)} SLIDE {_length(slide)}"
            case PastWindow(start, end, slide):
                return f"{_ago(start)} TO {_ago(end)} SLIDE {_length(slide)}"
            case CountWindow(size, 1, triples=True):
                return f"TRIPLES {size}"
            case NowWindow():
                return "NOW"
            case _:
                return None

    def operator(self) -> str:
        """Return the operator after SELECT or CONSTRUCT."""
        return "" if self.query.operator is None else self.query.operator.name

    def sources(self) -> list[str]:
        """Return the static graphs and the windows that feed the default graph."""
        streams = [window for window in self.query.windows if window.name is None]
        return super().sources() + [f"FROM NAMED STREAM {self.bracketed(window)}" for window in streams]


def _length(duration: Duration) -> str:
    """Return a duration with its unit."""
    number, unit = print_units(duration, _PRINTED)
    return f"{number} {unit}"


def _ago(duration: Duration) -> str:
    """Return an instant before now."""
    return f"NOW - {_length(duration)}"


class SparqlStream(BlockDialect):
    """Parser of SPARQLstream as printed in its papers and read by morph-streams."""

    name = "sparqlstream"
    title = "SPARQLstream"
    reference = "https://github.com/jpcik/morph-streams"
    preset = "sparqlstream"
    printer = SparqlStreamPrinter
    marks = ("NAMED STREAM", "STREAM * [ NOW -", "STREAM * [ FROM")
    slide_words = ("SLIDE", "STEP")
    units = UNITS

    def __init__(self, text: str, tokens: list[Token], base: str | None = None) -> None:
        """Read `tokens`, see `TermParser`."""
        super().__init__(text, tokens, base)
        self.open_streams: dict[Iri, int] = {}
        """The streams that FROM names without a window, with their offsets."""

    def stream_operator(self) -> None:
        """Read the operator after SELECT or CONSTRUCT."""
        self.read_operator()

    def named_source(self) -> None:
        """Read a stream or an IRI after FROM NAMED; the window of a stream may be given in its blocks instead."""
        if not self.accept("STREAM"):
            super().named_source()
            return
        offset = self.token.offset
        stream = self.iri("the IRI of a stream")
        if self.token.key == "[":
            self.windows.append(NamedWindow(None, stream, self.window_definition()))
        else:
            self.open_streams[stream] = offset

    def stream_window(self) -> NamedWindow:
        """Read a stream and its window, which FROM may have declared already."""
        offset = self.token.offset
        stream = self.iri("the IRI of a stream")
        if self.token.key == "[":
            self.open_streams.pop(stream, None)
            return NamedWindow(None, stream, self.window_definition())
        declared = [window for window in self.windows if window.name is None and window.stream == stream]
        if len(declared) != 1:
            raise self.fail(
                f"expected a window in square brackets after <{stream.value}>; FROM declares {len(declared)} for it",
                offset,
            )
        return declared[0]

    def window_definition(self) -> WindowDefinition:
        """Read `[NOW - … TO NOW - … SLIDE …]`, `[NOW]` or `[TRIPLES n]`; FROM may precede NOW.

        Without SLIDE a window slides continuously, and one in the past tumbles.
        """
        self.expect("[")
        definition: WindowDefinition
        if self.accept("TRIPLES"):
            definition = self.count(triples=True, slide=1)
        else:
            self.accept("FROM")
            self.expect("NOW", "NOW or TRIPLES")
            definition = NowWindow() if self.token.key == "]" else self.past(default_slide=False)
        self.expect("]", "SLIDE or ]")
        return definition

    def finish(self, form: Form | None, level: Level) -> ContinuousQuery:
        """Make patterns outside of blocks match all windows, those of blocks included (A9)."""
        for stream, offset in self.open_streams.items():
            raise self.fail(f"expected a window in square brackets after <{stream.value}>, got none", offset)
        query = super().finish(form, level)
        if not any(outside_blocks(query.pattern)):
            return query
        seen = [window for window in query.windows if window.name is None]
        for window in query.windows:
            twin = replace(window, name=None)
            if twin not in seen:
                seen.append(twin)
        return replace(query, windows=(*seen, *(window for window in query.windows if window.name is not None)))

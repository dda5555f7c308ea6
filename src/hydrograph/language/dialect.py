"""Parser of the clauses that RDF stream languages share, with one hook for each clause.

A dialect subclasses this class, overrides its hooks or those of `SparqlParser` below it, and has a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from hydrograph.algebra.queries import ContinuousQuery, Form, NamedWindow, StreamOperator
from hydrograph.algebra.windows import CountWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.language.duration import parse_duration
from hydrograph.language.lexer import Token, did_you_mean, shown
from hydrograph.language.query_parser import SparqlParser
from hydrograph.language.syntax import Level, NamedElement
from hydrograph.language.window_views import ordered, renamed, window_name
from hydrograph.temporal import DAY, Duration


class Dialect(SparqlParser):
    """Parser of SPARQL 1.1 with windows over streams."""

    max_width: ClassVar[Duration] = 31 * DAY
    max_overlap: ClassVar[int] = 100_000
    slide_words: ClassVar[tuple[str, ...]] = ("STEP", "SLIDE")
    units: ClassVar[Mapping[str, Duration | str]] = {}
    """Duration units, or the reason why one is refused. A dialect without units uses ISO 8601."""

    def __init__(self, text: str, tokens: list[Token], base: str | None = None) -> None:
        """Read `tokens`, see `TermParser`."""
        super().__init__(text, tokens, base)
        self.windows: list[NamedWindow] = []
        self.operator: StreamOperator | None = None
        self.registered: str | None = None
        self.every: Duration | None = None

    # Registration

    def heading(self) -> None:
        """Read REGISTER and the prefixes that follow it."""
        if self.token.key == "REGISTER":
            self.take()
            self.registration()
            self.prologue()

    def registration(self) -> None:
        """Read what follows REGISTER."""
        raise self.fail(f"{self.title} does not register queries in their text; remove REGISTER")

    def stream_operator(self) -> None:
        """Refuse a stream operator."""
        if self.token.key in StreamOperator.__members__:
            raise self.fail(f"{self.title} has no stream operators, got {self.token.key}; remove it")

    def read_operator(self) -> None:
        """Read RSTREAM, ISTREAM or DSTREAM after SELECT or CONSTRUCT, in dialects that place them there."""
        for operator in StreamOperator:
            if self.token.key == operator.name:
                if self.operator is not None and self.operator is not operator:
                    raise self.fail(f"expected one stream operator, got {operator.name} after {self.operator.name}")
                self.take()
                self.operator = operator
                return

    # Windows

    def stream_window(self) -> NamedWindow:
        """Read a stream and its window in brackets."""
        stream = self.iri("the IRI of a stream")
        if self.token.key != "[":
            raise self.unexpected("a window in square brackets")
        return NamedWindow(None, stream, self.window_definition())

    def window_definition(self) -> WindowDefinition:
        """Read a window with its square brackets."""
        raise NotImplementedError

    def stream_block(self) -> NamedElement:
        """Read `STREAM <stream> [window] { … }`; equal windows of one stream are the same window."""
        self.expect("STREAM")
        if self.token.key == "var":
            raise self.unsupported(f"variables for streams are not supported, got {shown(self.token)}; name the stream")
        window = self.stream_window()
        known = {(one.stream, one.definition): one.name for one in self.windows if one.name is not None}
        name = known.get((window.stream, window.definition))
        if name is None:
            name = window_name(len(self.windows) + 1)
            self.windows.append(replace(window, name=name))
        return NamedElement(name, self.group(), window=True)

    def sliding(self, width: Duration, slide: Duration | None, offset: int) -> TimeWindow:
        """Return a time window; refuse one beyond the limits."""
        if width > self.max_width:
            days = self.max_width // DAY
            raise self.fail(f"a window may be {self.max_width} ms ({days} days) wide, got {width} ms", offset)
        if slide is not None and width > slide * self.max_overlap:
            raise self.fail(
                f"at most {self.max_overlap} windows may overlap, got {width} ms / {slide} ms; make the slide longer",
                offset,
            )
        return TimeWindow(width, slide)

    def past(self, *, default_slide: bool) -> TimeWindow | PastWindow:
        """Read `NOW - start TO NOW - end SLIDE slide` after its first NOW; without `TO` the window ends now.

        Without a slide the windows tumble if `default_slide`, otherwise they slide continuously.
        """
        offset = self.token.offset
        self.expect("-", "- and how long ago the window begins")
        start = self.positive_duration("a width")
        end = 0
        if self.accept("TO"):
            self.expect("NOW")
            end = self.duration() if self.accept("-") else 0
        if end >= start:
            raise self.fail(f"expected a window that ends after it begins, got {start} ms to {end} ms ago", offset)
        width = start - end
        slide = self.slide() if self.slide_follows() else width if default_slide or end else None
        window = self.sliding(width, slide, offset)
        if end == 0:
            return window
        self.sliding(start, None, offset)
        assert slide is not None
        return PastWindow(start, end, slide)

    def count(self, *, triples: bool, slide: int | None = None) -> CountWindow:
        """Read the size of a count window, and its slide unless it is given."""
        what = "a number of triples" if triples else "a number of elements"
        size = self.positive_count(what)
        if slide is None:
            slide = self.positive_count(what) if self.slide_follows() else size
        return CountWindow(size, slide, triples)

    def slide_follows(self) -> bool:
        """Take the keyword that precedes a slide."""
        return any(self.accept(word) for word in self.slide_words)

    def slide(self) -> Duration:
        """Read the slide of a window."""
        return self.positive_duration("a slide")

    # Durations and numbers

    def duration(self) -> Duration:
        """Read a duration: a number with a unit if the dialect has units, else ISO 8601 or its short forms."""
        return self._number_with_unit() if self.units else self._iso_duration()

    def _iso_duration(self) -> Duration:
        """Read a duration, which ends at the next blank or bracket."""
        start = end = self.token
        if start.key in ("]", "end"):
            raise self.unexpected("a duration such as PT10S, 10s or 10000")
        self.take()
        while self.token.key not in ("]", "end") and self.token.offset == end.end:
            end = self.take()
        try:
            return parse_duration(self.text[start.offset : end.end])
        except ValueError as error:
            raise self.fail(str(error), start.offset) from None

    def _number_with_unit(self) -> Duration:
        """Read a number and its unit, with or without a blank between them."""
        number = self.natural(f"a duration such as 10 {next(iter(self.units))}")
        token = self.token
        if token.key not in self.units:
            accepted = [unit for unit, length in self.units.items() if not isinstance(length, str)]
            known = ", ".join(accepted)
            suggestion = did_you_mean(token.key, accepted)
            raise self.fail(f"expected a unit after {number}, got {shown(token)}; units: {known}{suggestion}")
        self.take()
        length = self.units[token.key]
        if isinstance(length, str):
            raise self.unsupported(f"durations in {token.text} are not supported; {length}", token.offset)
        return number * length

    def positive_duration(self, what: str) -> Duration:
        """Read a duration above zero."""
        offset = self.token.offset
        found = self.duration()
        if found <= 0:
            raise self.fail(f"expected {what} of at least 1 ms, got {found} ms", offset)
        return found

    def positive_count(self, what: str) -> int:
        """Read a whole number above zero."""
        offset = self.token.offset
        found = self.natural(what)
        if found <= 0:
            raise self.fail(f"expected {what} of at least 1, got {found}", offset)
        return found

    # The whole

    def finish(self, form: Form | None, level: Level) -> ContinuousQuery:
        """Translate to algebra, and add the continuous clauses."""
        query = super().finish(form, level)
        return replace(
            query,
            windows=tuple(self.windows),
            operator=self.operator,
            name=self.registered,
            every=self.every,
        )


class BlockDialect(Dialect):
    """Base of dialects whose blocks define their window themselves, so that windows have no names."""

    def other_element(self) -> NamedElement | None:
        """Read a block over a stream."""
        return self.stream_block() if self.token.key == "STREAM" else None

    def finish(self, form: Form | None, level: Level) -> ContinuousQuery:
        """Number the windows in the order of the algebra, which does not depend on the position of filters."""
        return renamed(ordered(super().finish(form, level)))

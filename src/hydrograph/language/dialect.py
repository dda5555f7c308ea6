"""The continuous clauses that RDF stream languages share: one hook for each clause, so a dialect is its difference.

A dialect overrides hooks of this class, or of `SparqlParser` below it, and names itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hydrograph.algebra.nodes import Pattern
from hydrograph.algebra.queries import ContinuousQuery, Form, NamedWindow, StreamOperator
from hydrograph.algebra.windows import CountWindow, TimeWindow, WindowDefinition
from hydrograph.language.cursor import did_you_mean
from hydrograph.language.duration import parse_duration
from hydrograph.language.lexer import Token
from hydrograph.language.sparql import SparqlParser
from hydrograph.language.syntax import Level
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.temporal import DAY, Duration


class Dialect(SparqlParser):
    """SPARQL 1.1 with windows over streams."""

    max_width: ClassVar[Duration] = 31 * DAY
    max_overlap: ClassVar[int] = 100_000
    slide_words: ClassVar[tuple[str, ...]] = ("STEP", "SLIDE")

    def __init__(self, text: str, tokens: list[Token], base: str | None = None) -> None:
        """Read `tokens`, see `TermParser`."""
        super().__init__(text, tokens, base)
        self.windows: list[NamedWindow] = []
        self.operator: StreamOperator | None = None
        self.registered: str | None = None

    # Registration

    def heading(self) -> None:
        """Read REGISTER, and prefixes behind it."""
        if self.accept("REGISTER"):
            self.registration()
            self.prologue()

    def registration(self) -> None:
        """Read what follows REGISTER: `RSTREAM <iri> AS`, or STREAM, which leaves the operator open."""
        operators = {operator.name: operator for operator in StreamOperator}
        token = self.expect_one((*operators, "STREAM"), "RSTREAM, ISTREAM, DSTREAM or STREAM")
        self.operator = operators.get(token.key)
        self.registered = self.iri("the IRI of the output stream").value
        self.expect("AS")

    def stream_operator(self) -> None:
        """Read RSTREAM, ISTREAM or DSTREAM behind SELECT or CONSTRUCT."""
        for operator in StreamOperator:
            if self.token.key == operator.name:
                if self.operator is not None and self.operator is not operator:
                    raise self.fail(f"expected one stream operator, got {operator.name} behind {self.operator.name}")
                self.take()
                self.operator = operator
                return

    # Windows

    def named_source(self) -> None:
        """Read a window or an IRI behind FROM NAMED."""
        if not self.accept("WINDOW"):
            super().named_source()
            return
        offset = self.token.offset
        name = self.iri("the name of a window")
        if any(window.name == name for window in self.windows):
            raise self.fail(f"expected a new name, got a second window <{name.value}>", offset)
        self.expect("ON")
        self.accept("STREAM")
        stream = self.iri("the IRI of a stream")
        self.windows.append(NamedWindow(name, stream, self.window_definition()))

    def window_definition(self) -> WindowDefinition:
        """Read `[RANGE … STEP …]` or `[ELEMENTS … STEP …]`."""
        self.expect("[")
        kind = self.expect_one(("RANGE", "ELEMENTS"))
        definition = self.time_window(kind) if kind.key == "RANGE" else self.count_window()
        self.expect("]", f"{' or '.join(self.slide_words)} or ]")
        return definition

    def time_window(self, start: Token) -> TimeWindow:
        """Read width and slide; without a slide the windows tumble."""
        width = self._positive_duration("a width")
        slide = self._positive_duration("a slide") if self._slide_follows() else width
        if width > self.max_width:
            days = self.max_width // DAY
            raise self.fail(f"a window may be {self.max_width} ms ({days} days) wide, got {width} ms", start.offset)
        if width > slide * self.max_overlap:
            raise self.fail(
                f"at most {self.max_overlap} windows may overlap, got {width} ms / {slide} ms; make the slide longer",
                start.offset,
            )
        return TimeWindow(width, slide)

    def count_window(self) -> CountWindow:
        """Read size and slide in elements; without a slide the windows tumble."""
        size = self._positive_count("a number of elements")
        return CountWindow(size, self._positive_count("a number of elements") if self._slide_follows() else size)

    def duration(self) -> Duration:
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

    def _positive_duration(self, what: str) -> Duration:
        """Read a duration above zero."""
        offset = self.token.offset
        found = self.duration()
        if found <= 0:
            raise self.fail(f"expected {what} of at least 1 ms, got {found} ms", offset)
        return found

    def _positive_count(self, what: str) -> int:
        """Read a whole number above zero."""
        offset = self.token.offset
        found = self.natural(what)
        if found <= 0:
            raise self.fail(f"expected {what} of at least 1, got {found}", offset)
        return found

    def _slide_follows(self) -> bool:
        """Take the word that announces a slide."""
        return any(self.accept(word) for word in self.slide_words)

    def window_name(self) -> Iri | Variable:
        """Read the name behind WINDOW, which has to be declared."""
        offset = self.token.offset
        name = self.variable_or_iri("the name of a window or a variable")
        declared = [window.name for window in self.windows if window.name is not None]
        if isinstance(name, Iri) and name not in declared:
            known = [f"<{window.value}>" for window in declared]
            suggestion = did_you_mean(f"<{name.value}>", known)
            raise self.fail(
                f"unknown window <{name.value}>; declared windows: {', '.join(known) or 'none'}{suggestion}", offset
            )
        return name

    # The whole

    def finish(self, form: Form | None, level: Level) -> ContinuousQuery:
        """Translate, and add the clauses of this class."""
        query = super().finish(form, level)
        return replace(
            query,
            pattern=self.default_graph(query.pattern),
            windows=tuple(self.windows),
            operator=self.operator,
            name=self.registered,
        )

    def default_graph(self, pattern: Pattern) -> Pattern:
        """Return `pattern` with what patterns outside of any block see; static data here (A9)."""
        return pattern

"""[RSP-QL](https://streamreasoning.github.io/RSP-QL/): named windows over streams, blocks that look into them."""

from __future__ import annotations

from collections.abc import Iterator

from hydrograph.algebra.nodes import Window
from hydrograph.algebra.queries import (
    Ask,
    ContinuousQuery,
    Describe,
    NamedWindow,
    StreamOperator,
    TemplateTriple,
)
from hydrograph.algebra.walk import subpatterns
from hydrograph.algebra.windows import CountWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.language.dialect import Dialect
from hydrograph.language.duration import print_duration
from hydrograph.language.iri import is_absolute
from hydrograph.language.lexer import did_you_mean
from hydrograph.language.query_printer import QueryPrinter
from hydrograph.language.window_views import named
from hydrograph.rdf.terms import Iri, Variable


class RspQlPrinter(QueryPrinter):
    """Printer of RSP-QL, with ISO 8601 durations."""

    title = "RSP-QL"
    window_word = "WINDOW"
    names_are_iris = True
    template_graphs = True

    @classmethod
    def view(cls, query: ContinuousQuery) -> ContinuousQuery:
        """Return the query with blocks over named windows."""
        return named(query)

    def can_name(self, name: str) -> bool:
        """Return whether a name is valid in angle brackets."""
        return not set(name) & set('<>"{}|^`\\ ')

    def can_say_operator(self) -> bool:
        """Return whether the operator can be written: in REGISTER, or after SELECT or CONSTRUCT."""
        return self.query.name is not None or not isinstance(self.query.form, Ask | Describe)

    def window_lacks(self) -> Iterator[str]:
        """Yield unnamed windows, and window bounds that RSP-QL cannot express."""
        declared = [window.name for window in self.query.windows]
        if None in declared:
            together = "one pattern may match several windows, or a window and the static graph, together"
            yield f"{together}, which {self.title} cannot express"
        elif len(set(declared)) < len(declared):
            yield f"{self.title} has one window for each name"
        for node in subpatterns(self.query.pattern):
            if isinstance(node, Window) and isinstance(node.name, Iri) and node.name not in declared:
                yield f"{self.title} has no block over a window that is not declared, such as <{node.name.value}>"
        yield from self.unsayable_bounds()

    def bounds(self, definition: WindowDefinition) -> str | None:
        """Return RANGE, ELEMENTS or a window in the past."""
        match definition:
            case TimeWindow(width, slide) if slide is not None:
                return f"RANGE {print_duration(width)} STEP {print_duration(slide)}"
            case CountWindow(size, slide, triples=False):
                return f"ELEMENTS {size} STEP {slide}"
            case PastWindow(start, end, slide):
                return f"FROM NOW-{print_duration(start)} TO NOW-{print_duration(end)} STEP {print_duration(slide)}"
            case _:
                return None

    def heading(self) -> list[str]:
        """Return REGISTER with the operator, or STREAM if none is given."""
        if self.query.name is None:
            return []
        word = "STREAM" if self.query.operator is None else self.query.operator.name
        name = self.query.name
        shown = self.terms.iri(Iri(name)) if is_absolute(name) else f"<{name}>"
        return [f"REGISTER {word} {shown} AS"]

    def operator(self) -> str:
        """Return the operator unless REGISTER has it."""
        return self.query.operator.name if self.query.operator is not None and self.query.name is None else ""

    def sources(self) -> list[str]:
        """Return the static graphs and the windows."""
        windows = []
        for window in self.query.windows:
            assert window.name is not None
            name, stream = self.terms.iri(window.name), self.terms.iri(window.stream)
            windows.append(f"FROM NAMED WINDOW {name} ON {stream} [{self.bounds(window.definition)}]")
        return super().sources() + windows


class RspQl(Dialect):
    """Parser of RSP-QL as rsp4j and RSP-SPIN read it, and with the plain milliseconds of rsp-js."""

    name = "rspql"
    title = "RSP-QL"
    reference = "https://streamreasoning.github.io/RSP-QL/"
    printer = RspQlPrinter
    marks = ("WINDOW", "REGISTER", "RSTREAM", "ISTREAM", "DSTREAM")

    def registration(self) -> None:
        """Read `RSTREAM <iri> AS`, or STREAM, which leaves the operator to the profile."""
        operators = {operator.name: operator for operator in StreamOperator}
        token = self.expect_one((*operators, "STREAM"), "RSTREAM, ISTREAM, DSTREAM or STREAM")
        self.operator = operators.get(token.key)
        self.registered = self._output()
        self.expect("AS")

    def _output(self) -> str:
        """Read the name of the output stream, which may be relative: nothing is ever fetched from it."""
        token = self.token
        if token.key == "iri" and self.base is None and not is_absolute(token.text[1:-1]) and "\\" not in token.text:
            return self.take().text[1:-1]
        return self.iri("the IRI of the output stream").value

    def stream_operator(self) -> None:
        """Read the operator after SELECT or CONSTRUCT."""
        self.read_operator()

    def named_source(self) -> None:
        """Read a window or an IRI after FROM NAMED."""
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
        """Read `[RANGE … STEP …]`, `[ELEMENTS … STEP …]` or `[FROM NOW-… TO NOW-… STEP …]`; without STEP it tumbles."""
        self.expect("[")
        kind = self.expect_one(("RANGE", "ELEMENTS", "FROM"))
        definition: WindowDefinition
        if kind.key == "RANGE":
            width = self.positive_duration("a width")
            definition = self.sliding(width, self.slide() if self.slide_follows() else width, kind.offset)
        elif kind.key == "FROM":
            self.expect("NOW")
            definition = self.past(default_slide=True)
        else:
            definition = self.count(triples=False)
        self.expect("]", f"{' or '.join(self.slide_words)} or ]")
        return definition

    def window_name(self) -> Iri | Variable:
        """Read the name after WINDOW, which must be declared."""
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

    def template_block(self) -> list[TemplateTriple]:
        """Read `GRAPH name { … }` in a template, and the triples after it."""
        self.expect("GRAPH", "a triple, GRAPH or }")
        graph = self.variable_or_iri("the graph's IRI or a variable")
        self.expect("{")
        inside = self.template_triples(graph)
        self.expect("}", "a triple or }")
        self.accept(".")
        return inside + self.template_triples(None)

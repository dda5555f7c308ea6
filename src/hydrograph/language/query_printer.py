"""Printer of whole queries: one hook for each clause, so that a dialect overrides only what differs.

The base class prints clauses in the order of RSP-QL. Features that a dialect cannot express are yielded by `lacks`
before anything is printed, so that nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from hydrograph.algebra.nodes import PatternTerm, Window
from hydrograph.algebra.queries import (
    Ask,
    Construct,
    ContinuousQuery,
    Describe,
    NamedWindow,
    Select,
    TemplateTriple,
)
from hydrograph.algebra.walk import subpatterns
from hydrograph.algebra.windows import WindowDefinition
from hydrograph.errors import UnsupportedError
from hydrograph.language.describe import describe_window
from hydrograph.language.duration import print_short
from hydrograph.language.expression_printer import TermPrinter
from hydrograph.language.iri import is_absolute
from hydrograph.language.pattern_printer import INDENT, PatternPrinter
from hydrograph.rdf.terms import BlankNode, Iri, Variable

Part: TypeAlias = Literal["name", "operator", "every", "windows", "dataset", "template"]


class Lack(NamedTuple):
    """Part of a query that a dialect cannot express."""

    part: Part
    sentence: str


class QueryPrinter:
    """Printer of one query; the base class prints plain SPARQL 1.1."""

    title: ClassVar[str] = "SPARQL"
    window_word: ClassVar[str | None] = None
    """Keyword before the name of a window in a block; None omits blocks."""
    names_are_iris: ClassVar[bool] = False
    """Whether the name of a query is in angle brackets, so that BASE changes a name that is not an absolute IRI."""
    template_graphs: ClassVar[bool] = False
    """Whether GRAPH is allowed in a template."""

    def __init__(self, query: ContinuousQuery) -> None:
        """Print `query`, which already has the window view of this dialect."""
        self.query = query
        self.terms = TermPrinter(query.prefixes)

    @classmethod
    def view(cls, query: ContinuousQuery) -> ContinuousQuery:
        """Return an equivalent query with the window view of this dialect (A9)."""
        return query

    # Features that can be expressed

    def lacks(self) -> Iterator[Lack]:
        """Yield the features of the query that this dialect cannot express."""
        query = self.query
        if query.name is not None and not self.can_name(query.name):
            yield Lack("name", f"{self.title} has no place for the name {query.name!r}")
        if query.operator is not None and not self.can_say_operator():
            yield Lack("operator", f"{self.title} has no words for {query.operator.name}")
        if query.every is not None and not self.can_say_every():
            yield Lack("every", f"{self.title} has no words for COMPUTED EVERY {print_short(query.every)}")
        yield from (Lack("windows", sentence) for sentence in self.window_lacks())
        yield from (Lack("dataset", sentence) for sentence in self.dataset_lacks())
        form = query.form
        if (
            not self.template_graphs
            and isinstance(form, Construct)
            and any(triple.graph is not None for triple in form.template)
        ):
            yield Lack("template", f"{self.title} has no GRAPH blocks in templates")

    def can_name(self, name: str) -> bool:  # noqa: ARG002
        """Return whether a query can be registered under a name."""
        return False

    def can_say_operator(self) -> bool:
        """Return whether this query can have RSTREAM, ISTREAM and DSTREAM."""
        return False

    def can_say_every(self) -> bool:
        """Return whether a reporting period can be expressed."""
        return False

    def window_lacks(self) -> Iterator[str]:
        """Yield windows and window blocks that cannot be expressed."""
        if self.query.windows:
            yield f"{self.title} has no windows"
        elif any(isinstance(node, Window) for node in subpatterns(self.query.pattern)):
            yield f"{self.title} has no blocks over windows"

    def dataset_lacks(self) -> Iterator[str]:
        """Yield static graphs that cannot be expressed."""
        yield from ()

    def bounds(self, definition: WindowDefinition) -> str | None:  # noqa: ARG002
        """Return the text in the square brackets of a window; None if it cannot be expressed."""
        return None

    def unsayable_bounds(self) -> Iterator[str]:
        """Yield the messages about windows whose bounds cannot be expressed."""
        for window in self.query.windows:
            if self.bounds(window.definition) is None:
                yield f"{self.title} has no words for {describe_window(window.definition)}"

    # Clauses

    def heading(self) -> list[str]:
        """Return the lines of REGISTER."""
        return []

    def operator(self) -> str:
        """Return the stream operator if it follows SELECT or CONSTRUCT."""
        return ""

    def sources(self) -> list[str]:
        """Return the lines between the form and WHERE."""
        dataset = self.query.dataset
        graphs = [f"FROM {self.terms.iri(graph)}" for graph in dataset.default]
        return graphs + [f"FROM NAMED {self.terms.iri(graph)}" for graph in dataset.named]

    def block_heads(self) -> dict[Iri, str]:
        """Return the head of each window block that is not `window_word` and the name."""
        return {}

    def bracketed(self, window: NamedWindow) -> str:
        """Return a stream with its window in square brackets; few grammars allow a prefixed name there."""
        return f"<{window.stream.value}> [{self.bounds(window.definition)}]"

    def frame(self, prologue: list[str], body: list[str]) -> list[str]:
        """Return all lines of the query."""
        return [*prologue, *self.heading(), *body]

    # The whole

    def text(self) -> str:
        """Return the text of the query; refuse one that this dialect cannot express."""
        for lack in self.lacks():
            raise UnsupportedError(lack.sentence)
        return self.unchecked_text()

    def unchecked_text(self) -> str:
        """Return the query; a second pass names generated variables that the first pass found exposed."""
        printer = PatternPrinter(self.terms, {}, self.window_word, self.block_heads())
        lines = self._body(printer)
        if printer.exposed:
            names: dict[Variable, str] = {}
            for variable in printer.exposed:
                stem = "_" + variable.name[1:].replace("-", "_").replace(".", "_")
                taken = printer.visible | {name[1:] for name in names.values()}
                free = (name for n in range(len(taken) + 1) if (name := stem + "_" * n) not in taken)
                names[variable] = "?" + next(free)
            printer = PatternPrinter(self.terms, names, self.window_word, self.block_heads())
            lines = self._body(printer)
        prologue = [f"PREFIX {name}: <{iri}>" for name, iri in dict(self.query.prefixes).items()]
        if printer.base is not None:
            if self.names_are_iris and self.query.name is not None and not is_absolute(self.query.name):
                raise UnsupportedError(f"the name {self.query.name!r} would be read from BASE <{printer.base.value}>")
            prologue.insert(0, f"BASE <{printer.base.value}>")
        return "\n".join(self.frame(prologue, lines)) + "\n"

    def _body(self, printer: PatternPrinter) -> list[str]:
        """Return the query from its form on."""
        operator = self.operator()
        operator = operator and f" {operator}"
        sources, pattern = tuple(self.sources()), self.query.pattern
        match self.query.form:
            case Select():
                return printer.level(f"SELECT{operator}", pattern, sources)
            case Ask():
                return printer.level("ASK", pattern, sources)
            case Describe(resources):
                names = " ".join(printer.name(resource) for resource in resources) or "*"
                return printer.level(f"DESCRIBE {names}", pattern, sources)
            case Construct(template):
                triples = [f"{INDENT}{_template_triple(triple, printer)}" for triple in template]
                return [f"CONSTRUCT{operator} {{", *triples, *printer.level("}", pattern, sources)]


def _template_triple(triple: TemplateTriple, printer: PatternPrinter) -> str:
    """Return one triple of a template, in its GRAPH block if it has one."""
    subject, target = (_template_term(term, printer) for term in (triple.subject, triple.object))
    text = f"{subject} {printer.verb(triple.predicate)} {target} ."
    return text if triple.graph is None else f"GRAPH {printer.name(triple.graph)} {{ {text} }}"


def _template_term(term: PatternTerm | BlankNode, printer: PatternPrinter) -> str:
    """Return a term of a template."""
    return printer.variable(term) if isinstance(term, Variable) else printer.terms.term(term)


class BlockPrinter(QueryPrinter):
    """Printer of `STREAM <stream> [window] { … }` blocks, which have no window names."""

    def block_heads(self) -> dict[Iri, str]:
        """Return the head of each block."""
        return {
            window.name: f"STREAM {self.bracketed(window)}" for window in self.query.windows if window.name is not None
        }

    def window_lacks(self) -> Iterator[str]:
        """Yield windows that no block reads, blocks without a declared window, and bounds that cannot be expressed."""
        declared = [window.name for window in self.query.windows if window.name is not None]
        read = [node.name for node in subpatterns(self.query.pattern) if isinstance(node, Window)]
        if len(set(declared)) < len(declared):
            yield f"{self.title} has one window for each block"
        for name in dict.fromkeys(read):
            if isinstance(name, Variable):
                yield f"{self.title} has no variables for windows, such as ?{name.name}"
            elif name not in declared:
                yield f"{self.title} has no block over a window that is not declared, such as <{name.value}>"
        for name in dict.fromkeys(declared):
            if name not in read:
                yield f"{self.title} has no window that no block reads, such as <{name.value}>"
        yield from self.unsayable_bounds()

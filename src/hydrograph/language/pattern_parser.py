"""Parser of [group graph patterns](https://www.w3.org/TR/sparql11-query/#GraphPattern) and their elements."""

from __future__ import annotations

from hydrograph.algebra.nodes import Pattern, Values
from hydrograph.language.expression_parser import BUILT_INS, ExpressionParser
from hydrograph.language.lexer import Token
from hydrograph.language.syntax import (
    BindElement,
    Element,
    FilterElement,
    GroupElement,
    Level,
    MinusElement,
    NamedElement,
    OptionalElement,
    TriplesBlock,
    UnionElement,
    ValuesElement,
)
from hydrograph.language.syntax_to_algebra import Translator
from hydrograph.language.term_parser import LITERAL_STARTS
from hydrograph.language.triple_parser import NODE_STARTS
from hydrograph.rdf.terms import Iri, Literal, Variable

MAX_TRIPLES = 500

_ELEMENTS = ("FILTER", "OPTIONAL", "UNION", "MINUS", "GRAPH", "BIND", "VALUES", "SERVICE", "SELECT", "WINDOW")


class PatternParser(ExpressionParser):
    """Parser layer of groups, above expressions."""

    def __init__(self, text: str, tokens: list[Token], base: str | None = None) -> None:
        """Read `tokens`, see `TermParser`."""
        super().__init__(text, tokens, base)
        self.triples = []
        self.translator = Translator(text)
        self._count = 0
        self._too_many: int | None = None

    # Hooks of the layers above

    def subquery(self) -> Level:
        """Read a subquery from its SELECT on."""
        raise NotImplementedError

    def window_name(self) -> Iri | Variable:
        """Read the name after WINDOW; plain SPARQL has no windows."""
        raise self.fail("expected no block over a window, got WINDOW; use the dialect rspql")

    def other_element(self) -> Element | None:
        """Read a pattern that only a dialect knows, such as a block over a stream; return None if there is none."""
        if self.token.key == "STREAM":
            raise self.fail("expected no block over a stream, got STREAM; use the dialect cqels or sparqlstream")
        return None

    # Groups

    def exists_group(self) -> Pattern:
        """Read the group of EXISTS as algebra; its blank nodes and aggregates are its own."""
        level, self.level = self.level, None
        pattern = self.translator.group(self.group()).pattern
        self.level = level
        return pattern

    def group(self) -> GroupElement:
        """Read `{ … }`."""
        self.expect("{")
        outer_block, outer_triples = self._block, self.triples
        self._block, self.triples = next(self._blocks), []
        subquery = self.subquery() if self.token.key == "SELECT" else None
        group = GroupElement(self._elements() if subquery is None else (), subquery)
        if self.token.key != "}":
            raise self.unexpected("a triple, a pattern such as OPTIONAL, or }", _ELEMENTS)
        self.take()
        self._block, self.triples = outer_block, outer_triples
        return group

    def _elements(self) -> tuple[Element, ...]:
        """Read triples and other patterns until the group ends."""
        elements: list[Element] = []
        separated = True
        while True:
            if self.token.key in NODE_STARTS:
                if not separated:
                    raise self.unexpected(". before the next triple")
                self.same_subject()
                separated = self.accept(".")
                continue
            element = self._element()
            if element is None:
                break
            if isinstance(element, FilterElement):
                # Filters do not end a basic graph pattern (section 5.2.2).
                elements.append(element)
            else:
                self._end_block(elements)
                elements.append(element)
            self.accept(".")
            separated = True
        self._end_block(elements)
        return tuple(elements)

    def _end_block(self, elements: list[Element]) -> None:
        """Add the triples read so far before the element that ends them."""
        if self.triples:
            self._count += len(self.triples)
            if self._count > MAX_TRIPLES and self._too_many is None:
                self._too_many = self.token.offset
            elements.append(TriplesBlock(tuple(self.triples)))
            self.triples = []
        self._block = next(self._blocks)

    def check_size(self) -> None:
        """Refuse a query with too many triple patterns, and point at the first one too many."""
        if self._too_many is not None:
            raise self.fail(
                f"a query may have {MAX_TRIPLES} triple patterns, got {self._count}; split the query", self._too_many
            )

    def _element(self) -> Element | None:
        """Read one pattern that is not a triple; return None if there is none."""
        match self.token.key:
            case "{":
                return self._union()
            case "FILTER":
                self.take()
                return FilterElement(self.constraint("a condition in brackets or a call"))
            case "OPTIONAL":
                self.take()
                return OptionalElement(self.group())
            case "MINUS":
                self.take()
                return MinusElement(self.group())
            case "GRAPH":
                self.take()
                return NamedElement(self.variable_or_iri("the graph's IRI or a variable"), self.group(), window=False)
            case "WINDOW":
                self.take()
                return NamedElement(self.window_name(), self.group(), window=True)
            case "BIND":
                return self._bind()
            case "VALUES":
                return ValuesElement(self.values())
            case "SERVICE":
                raise self.unsupported(
                    "SERVICE is not supported: nothing is ever fetched; bind the data as a static graph"
                )
            case key if key in BUILT_INS:
                raise self.fail(f"expected a pattern, got {key}; write conditions after FILTER")
            case _:
                return self.other_element()

    def _union(self) -> UnionElement:
        """Read groups with UNION between them."""
        groups = [self.group()]
        while self.accept("UNION"):
            groups.append(self.group())
        return UnionElement(tuple(groups))

    def _bind(self) -> BindElement:
        """Read `BIND(expression AS ?v)`."""
        self.expect("BIND")
        self.expect("(")
        expression = self.whole_expression()
        self.expect("AS", "an operator or AS")
        offset = self.token.offset
        variable = self.variable()
        self.expect(")")
        return BindElement(expression, variable, offset)

    # Inline data

    def values(self) -> Values:
        """Read `VALUES ?x { … }` or `VALUES (?x ?y) { (…) }`."""
        self.expect("VALUES")
        if self.token.key == "var":
            variable = self.variable()
            self.expect("{")
            rows: list[tuple[Iri | Literal | None, ...]] = []
            while not self.accept("}"):
                rows.append((self._datum(),))
            return Values((variable,), tuple(rows))
        self.expect("(", "a variable or (")
        variables: list[Variable] = []
        while not self.accept(")"):
            offset = self.token.offset
            variable = self.variable("a variable or )")
            if variable in variables:
                raise self.fail(f"expected each variable of VALUES once, got ?{variable.name} twice", offset)
            variables.append(variable)
        self.expect("{")
        rows = []
        while not self.accept("}"):
            rows.append(self._row(len(variables)))
        return Values(tuple(variables), tuple(rows))

    def _row(self, width: int) -> tuple[Iri | Literal | None, ...]:
        """Read one row of inline data."""
        offset = self.expect("(", "a row in brackets or }").offset
        row: list[Iri | Literal | None] = []
        while not self.accept(")"):
            row.append(self._datum())
        if len(row) != width:
            raise self.fail(f"expected {width} values, one for each variable, got {len(row)}", offset)
        return tuple(row)

    def _datum(self) -> Iri | Literal | None:
        """Read one value; UNDEF is None."""
        if self.accept("UNDEF"):
            return None
        if self.token.key in LITERAL_STARTS:
            return self.literal()
        return self.iri("an IRI, a literal or UNDEF")

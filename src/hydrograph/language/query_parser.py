"""Parser of [query forms](https://www.w3.org/TR/sparql11-query/#QueryForms) and solution modifiers of SPARQL 1.1."""

from __future__ import annotations

from typing import ClassVar

from hydrograph.algebra.expressions import Expression, Reference
from hydrograph.algebra.nodes import Order, TriplePattern
from hydrograph.algebra.queries import Ask, Construct, ContinuousQuery, Dataset, Describe, Form, Select, TemplateTriple
from hydrograph.language.expression_parser import CALL_STARTS
from hydrograph.language.pattern_parser import PatternParser
from hydrograph.language.query_printer import QueryPrinter
from hydrograph.language.syntax import Condition, Level, PathTriple, Projected, TriplesBlock
from hydrograph.language.syntax_to_algebra import sample_conditions
from hydrograph.language.triple_parser import NODE_STARTS
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable

_FORMS = ("SELECT", "CONSTRUCT", "ASK", "DESCRIBE")
_UPDATES = frozenset(
    {"INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH", "USING"},
)


class SparqlParser(PatternParser):
    """Parser of a whole query; dialects override its hooks."""

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    """URL of the definition of the language."""
    preset: ClassVar[str] = "rspql"
    """The profile of `hydrograph.windows.profile` that a query of this dialect follows by default (A3)."""
    printer: ClassVar[type[QueryPrinter]] = QueryPrinter
    marks: ClassVar[tuple[str, ...]] = ()
    """Token sequences that identify a text as this dialect; `*` matches any token."""

    def query(self) -> ContinuousQuery:
        """Read the text to its end."""
        self.prologue()
        self.heading()
        level = Level()
        form = self._form(level)
        self.ending()
        if self.token.key != "end":
            raise self.unexpected(
                "the end of the query", ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")
            )
        self.check_size()
        return self.finish(form, level)

    # Hooks of the dialects

    def heading(self) -> None:
        """Read clauses between the prologue and the query form."""

    def ending(self) -> None:
        """Read clauses after the query."""

    def stream_operator(self) -> None:
        """Read clauses directly after SELECT or CONSTRUCT."""

    def named_source(self) -> None:
        """Read the IRI after FROM NAMED."""
        self._named.append(self.iri("the IRI of a named graph"))

    def finish(self, form: Form | None, level: Level) -> ContinuousQuery:
        """Translate to algebra; a form of None is SELECT, whose variables the translation determines."""
        pattern, variables = self.translator.query(level, project=form is None)
        if form is None:
            form = Select(variables)
        elif isinstance(form, Describe) and level.star_offset is not None:
            form = Describe(variables)
        return ContinuousQuery(
            form,
            pattern,
            dataset=Dataset(tuple(self._default), tuple(self._named)),
            prefixes=tuple(self.prefixes.items()),
        )

    # Query forms

    def _form(self, level: Level) -> Form | None:
        """Read the query from its form on."""
        self._default: list[Iri] = []
        self._named: list[Iri] = []
        key = self.token.key
        if key in _UPDATES:
            raise self.unsupported(f"updates are not supported, got {key}; a query never changes the data")
        self.expect_one(_FORMS)
        if key == "SELECT":
            self._select(level)
            return None
        if key == "CONSTRUCT":
            return self._construct(level)
        if key == "ASK":
            self.dataset()
            self._where_and_modifiers(level)
            return Ask()
        return self._describe(level)

    def _select(self, level: Level) -> None:
        """Read SELECT after its keyword."""
        self.stream_operator()
        self._projection(level)
        self.dataset()
        self._where_and_modifiers(level)

    def subquery(self) -> Level:
        """Read a subquery from its SELECT on."""
        self.expect("SELECT")
        level = Level()
        outer, self.level = self.level, None
        self._projection(level)
        self._where_and_modifiers(level)
        self.level = outer
        return level

    def _projection(self, level: Level) -> None:
        """Read DISTINCT or REDUCED, and what is selected."""
        level.distinct = self.accept("DISTINCT")
        level.reduced = not level.distinct and self.accept("REDUCED")
        if self.token.key == "*":
            level.star_offset = self.take().offset
            return
        items: list[Projected] = []
        self.level = level
        while self.token.key in ("var", "("):
            items.append(self._item(named=True))
        self.level = None
        if not items:
            raise self.unexpected("a variable, ( or *", ("DISTINCT", "REDUCED"))
        level.projection = tuple(items)

    def _item(self, *, named: bool) -> Projected:
        """Read a variable or `(expression AS ?v)`; if no name is needed, the expression may be alone."""
        offset = self.token.offset
        if self.token.key == "var":
            return Projected(self.variable(), None, offset)
        self.expect("(")
        expression = self.whole_expression()
        if not named and self.accept(")"):
            return self._unnamed(expression, offset)
        self.expect("AS", "an operator or AS" if named else "an operator, AS or )")
        offset = self.token.offset
        variable = self.variable()
        self.expect(")")
        return Projected(variable, expression, offset)

    def _unnamed(self, expression: Expression, offset: int) -> Projected:
        """Assign a variable to a key of GROUP BY; a variable in brackets is its own key."""
        if isinstance(expression, Reference):
            return Projected(expression.variable, None, offset)
        return Projected(self.fresh("g"), expression, offset)

    def _describe(self, level: Level) -> Describe:
        """Read DESCRIBE after its keyword; the pattern is optional."""
        resources: list[Iri | Variable] = []
        if self.token.key == "*":
            level.star_offset = self.take().offset
        else:
            resources.append(self.variable_or_iri("an IRI, a variable or *"))
            while self.token.key in ("var", "iri", "name"):
                resources.append(self.variable_or_iri())
        self.dataset()
        if self.token.key in ("WHERE", "{"):
            self._where(level)
        self._modifiers(level)
        return Describe(tuple(resources))

    def _construct(self, level: Level) -> Construct:
        """Read CONSTRUCT after its keyword, in the long or the short form."""
        self.stream_operator()
        if self.token.key == "{":
            template = self._template()
            self.dataset()
            self._where_and_modifiers(level)
            return Construct(template)
        self.dataset()
        self.expect("WHERE", "a template in braces or WHERE")
        start = self.token
        group = self.group()
        blocks = [element for element in group.elements if isinstance(element, TriplesBlock)]
        triples = [triple for block in blocks for triple in block.triples]
        plain = [triple for triple in triples if isinstance(triple, TriplePattern)]
        if group.subquery is not None or len(blocks) != len(group.elements) or len(plain) != len(triples):
            raise self.fail(
                "expected only triples, since CONSTRUCT WHERE uses its pattern as the template", start.offset
            )
        level.where = group
        self._modifiers(level)
        return Construct(tuple(_template_triple(triple, None) for triple in plain))

    # Templates

    def _template(self) -> tuple[TemplateTriple, ...]:
        """Read `{ … }` of CONSTRUCT; its blank nodes differ from those of the pattern."""
        outer, self._block_of = self._block_of, {}
        self.paths_allowed = False
        self.expect("{")
        template = self.template_triples(None)
        while self.token.key != "}":
            template += self.template_block()
        self.take()
        self.paths_allowed = True
        self._block_of = outer
        return tuple(template)

    def template_block(self) -> list[TemplateTriple]:
        """Read template elements other than triples; plain SPARQL has none."""
        raise self.unexpected("a triple or }")

    def template_triples(self, graph: Iri | Variable | None) -> list[TemplateTriple]:
        """Read triples with dots between them."""
        outer, self.triples = self.triples, []
        while self.token.key in NODE_STARTS:
            self.same_subject()
            if not self.accept("."):
                break
        read, self.triples = self.triples, outer
        return [_template_triple(triple, graph) for triple in read]

    # Dataset, pattern, modifiers

    def dataset(self) -> None:
        """Read FROM clauses."""
        while self.accept("FROM"):
            if self.accept("NAMED"):
                self.named_source()
            else:
                self.default_source()

    def default_source(self) -> None:
        """Read the IRI after FROM."""
        self._default.append(self.iri("NAMED or the IRI of a graph"))

    def _where(self, level: Level) -> None:
        """Read `WHERE { … }`; the keyword is optional."""
        if not self.accept("WHERE") and self.token.key != "{":
            raise self.unexpected("WHERE or {", ("WHERE", "FROM", "DISTINCT"))
        level.where = self.group()

    def _where_and_modifiers(self, level: Level) -> None:
        """Read the pattern and the solution modifiers."""
        self._where(level)
        self._modifiers(level)

    def _modifiers(self, level: Level) -> None:
        """Read GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET and VALUES."""
        if self.accept("GROUP"):
            self.expect("BY")
            level.keys = self._keys()
        self.level = level
        if self.accept("HAVING"):
            level.having = self._conditions("HAVING", CALL_STARTS | {"("})
        if self.accept("ORDER"):
            self.expect("BY")
            level.order = self._conditions("ORDER BY", CALL_STARTS | {"(", "var", "ASC", "DESC"})
        self.level = None
        sample_conditions(level, lambda: self.fresh("a"))
        self._limits(level)
        if self.token.key == "VALUES":
            level.values = self.values()

    def _limits(self, level: Level) -> None:
        """Read LIMIT and OFFSET in any order, each at most once."""
        while self.token.key in ("LIMIT", "OFFSET"):
            token = self.take()
            known = level.limit if token.key == "LIMIT" else level.offset
            if known is not None:
                raise self.fail(f"expected one {token.key}, got two", token.offset)
            number = self.natural(f"a whole number after {token.key}")
            if token.key == "LIMIT":
                level.limit = number
            else:
                level.offset = number

    def _keys(self) -> tuple[Projected, ...]:
        """Read the keys of GROUP BY."""
        keys: list[Projected] = []
        while True:
            if self.token.key in ("var", "("):
                keys.append(self._item(named=False))
            elif self.token.key in CALL_STARTS:
                offset = self.token.offset
                keys.append(self._unnamed(self.constraint("a key"), offset))
            elif keys:
                return tuple(keys)
            else:
                raise self.unexpected("a key of GROUP BY: a variable, an expression in brackets or a call")

    def _conditions(self, clause: str, starts: frozenset[str]) -> tuple[Condition, ...]:
        """Read the conditions of HAVING or ORDER BY."""
        conditions: list[Condition] = []
        while self.token.key in starts:
            offset = self.token.offset
            descending = self.token.key == "DESC"
            if self.token.key in ("ASC", "DESC"):
                self.take()
                if self.token.key != "(":
                    raise self.unexpected("a condition in brackets")
            if self.token.key == "var":
                expression: Expression = Reference(self.variable())
            else:
                expression = self.constraint("a condition")
            conditions.append(Condition(Order(expression, descending), offset))
        if not conditions:
            raise self.unexpected(f"a condition of {clause}")
        return tuple(conditions)


def _template_triple(triple: TriplePattern | PathTriple, graph: Iri | Variable | None) -> TemplateTriple:
    """Return a triple with generated variables turned back into blank nodes."""
    assert isinstance(triple, TriplePattern)
    return TemplateTriple(_template_term(triple.subject), triple.predicate, _template_term(triple.object), graph)


def _template_term(term: Iri | Literal | Variable) -> Iri | Literal | Variable | BlankNode:
    """Return the blank node that a generated variable represents."""
    if isinstance(term, Variable) and term.name.startswith("."):
        return BlankNode(term.name[1:])
    return term

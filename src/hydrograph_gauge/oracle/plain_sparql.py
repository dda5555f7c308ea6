"""From a continuous query to the plain SPARQL an evaluator is asked at one report.

Three things an off-the-shelf evaluator cannot know are written into the query: what NOW() is (S28), which graphs are
windows (A9), and that R2S acts on the solutions of a CONSTRUCT, before its template does (section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar, assert_never

from hydrograph.algebra.expressions import Aggregate, And, Calculate, Call, Compare, Constant, Expression, Reference
from hydrograph.algebra.nodes import Graph, Group, Join, Pattern, Project, Slice, Values, Window
from hydrograph.algebra.queries import Ask, Construct, ContinuousQuery, Describe, Select
from hydrograph.algebra.walk import (
    everywhere,
    rewrite_expression,
    subpatterns,
    visible_variables,
    with_expressions,
)
from hydrograph.errors import UnsupportedError
from hydrograph.language.printer import print_sparql
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_DATE_TIME, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from hydrograph.temporal import Instant

_ZERO, _ONE = (Constant(Literal(text, XSD_INTEGER)) for text in "01")
_ERROR = Calculate("/", _ONE, _ZERO)


@dataclass(frozen=True, slots=True)
class _Total:
    """A SUM or AVG, and the variables of what must be known to round it once."""

    aggregate: Aggregate
    argument: Expression
    counted: Variable
    single: Variable
    below_double: Variable
    in_doubles: Variable

    @property
    def aggregates(self) -> Iterator[tuple[Variable, Aggregate]]:
        datatype = Call("DATATYPE", (self.argument,))
        is_single = Compare("=", datatype, Constant(Iri(XSD_FLOAT)))
        is_below = And((Call("ISNUMERIC", (self.argument,)), Compare("!=", datatype, Constant(Iri(XSD_DOUBLE)))))
        yield self.counted, Aggregate("COUNT", self.argument)
        yield self.single, Aggregate("SUM", Call("IF", (is_single, _ONE, _ZERO)))
        yield self.below_double, Aggregate("SUM", Call("IF", (is_below, _ONE, _ZERO)))
        yield self.in_doubles, replace(self.aggregate, argument=Call(Iri(XSD_DOUBLE), (self.argument,)))

    def value(self, plain: Expression) -> Expression:
        """Return the total rounded once where it is a float, and the plain one where it is something else."""
        known = Compare("=", Reference(self.below_double), Reference(self.counted))
        is_single = And((Compare(">", Reference(self.single), _ZERO), known))
        rounded = Call(Iri(XSD_FLOAT), (Reference(self.in_doubles),))
        return Call("COALESCE", (Call("IF", (is_single, rounded, _ERROR)), plain))


def rounded_once(pattern: Pattern) -> Pattern:
    """Return the pattern with each SUM and AVG of floats made in doubles; those of distinct values stay as they are."""
    totals = _totals(pattern)
    if not totals:
        return pattern

    def valued(expression: Expression) -> Expression:
        if isinstance(expression, Reference) and expression.variable in totals:
            return totals[expression.variable].value(expression)
        return expression

    def widened(node: Pattern) -> Pattern:
        node = with_expressions(node, lambda expression: rewrite_expression(expression, valued))
        if not isinstance(node, Group):
            return node
        more = [each for variable, _ in node.aggregates if variable in totals for each in totals[variable].aggregates]
        return replace(node, aggregates=(*node.aggregates, *more))

    return everywhere(pattern, widened)


def _totals(pattern: Pattern) -> dict[Variable, _Total]:
    groups = [node for node in subpatterns(pattern) if isinstance(node, Group)]
    names = (Variable(f".a{number}") for number in count(sum(len(node.aggregates) for node in groups)))
    return {
        variable: _Total(aggregate, aggregate.argument, next(names), next(names), next(names), next(names))
        for node in groups
        for variable, aggregate in node.aggregates
        if aggregate.name in ("SUM", "AVG") and not aggregate.distinct and aggregate.argument is not None
    }


Node = TypeVar("Node")

_RANDOM = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def solutions_query(query: ContinuousQuery, static_names: tuple[Iri, ...]) -> ContinuousQuery:
    """Return the query for the solutions of one report, as an evaluator without windows must be asked."""
    calls = {node.function for node in nodes(query.pattern) if isinstance(node, Call)}
    if seeded := sorted(name for name in calls if isinstance(name, str) and name in _RANDOM):
        raise UnsupportedError(f"no oracle can foresee {', '.join(seeded)}")
    windows = tuple(window.name for window in query.windows if window.name is not None)
    pattern = rewrite(query.pattern, lambda node: _confine(node, windows, static_names))
    match query.form:
        case Select(columns) if isinstance(pattern, Window):  # its text would name the columns in another order
            return replace(query, pattern=Project(pattern, columns))
        case Select() | Ask():
            return replace(query, pattern=pattern)
        case Construct():
            columns = visible_variables(pattern)
            return replace(query, form=Select(columns), pattern=_projected(pattern, columns))
        case Describe():
            raise UnsupportedError("the oracle does not answer DESCRIBE; ask for the triples with CONSTRUCT")
        case _:
            assert_never(query.form)


def evaluator_query(query: ContinuousQuery, static_names: tuple[Iri, ...]) -> ContinuousQuery:
    """Return the same with totals of floats as they should be, whatever the precision the evaluator adds up in."""
    plain = solutions_query(query, static_names)
    return replace(plain, pattern=rounded_once(plain.pattern))


def sparql_by_time(
    query: ContinuousQuery, static_names: tuple[Iri, ...], text: str | None = None
) -> Callable[[Instant], str]:
    """Return a function from the time of a report to its SPARQL: always `text` if given, else made from the query."""
    if text is not None:
        return lambda _: text
    plain = evaluator_query(query, static_names)
    if asks_now(plain):
        return lambda t: print_sparql(at_time(plain, t))
    printed = print_sparql(plain)
    return lambda _: printed


def _confine(node: Node, windows: tuple[Iri, ...], static_names: tuple[Iri, ...]) -> Node | Join:
    """Let WINDOW ?w range over the windows, GRAPH ?g over the static graphs (A9): an evaluator sees only graphs."""
    if isinstance(node, Window | Graph) and isinstance(node.name, Variable):
        names = windows if isinstance(node, Window) else static_names
        return Join(Values((node.name,), tuple((name,) for name in names)), node)
    return node


def _projected(pattern: Pattern, columns: tuple[Variable, ...]) -> Pattern:
    if isinstance(pattern, Slice):
        return replace(pattern, inner=_projected(pattern.inner, columns))
    return Project(pattern, columns)


def asks_now(query: ContinuousQuery) -> bool:
    """Tell whether the answer depends on the time of the report."""
    return any(isinstance(node, Call) and node.function == "NOW" for node in nodes(query.pattern))


def at_time(query: ContinuousQuery, t: Instant) -> ContinuousQuery:
    """Return the query with NOW() replaced by the event time of the report (S28).

    A time outside the years 1 to 9999 is refused: Python has no calendar for it.
    """
    try:
        text = (_EPOCH + timedelta(milliseconds=t)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        raise UnsupportedError(f"NOW() at {t} ms lies outside the years 1 to 9999") from None
    now = Constant(Literal(text, XSD_DATE_TIME))
    pattern = rewrite(query.pattern, lambda node: now if isinstance(node, Call) and node.function == "NOW" else node)
    return replace(query, pattern=pattern)


def nodes(tree: object) -> list[object]:
    """Return every record inside a tree of the algebra, itself first."""
    if isinstance(tree, tuple):
        return [node for part in tree for node in nodes(part)]
    if not is_dataclass(tree):
        return []
    return [tree, *(node for field in fields(tree) for node in nodes(getattr(tree, field.name)))]


def rewrite(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Return the tree with every record replaced by what `change` makes of it, bottom-up."""
    if isinstance(tree, tuple):
        return tuple(rewrite(part, change) for part in tree)
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    parts = {field.name: rewrite(getattr(tree, field.name), change) for field in fields(tree)}
    same = all(parts[name] is getattr(tree, name) for name in parts)
    return change(tree if same else replace(tree, **parts))

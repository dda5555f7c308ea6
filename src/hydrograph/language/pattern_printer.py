"""Printer of patterns and query levels.

A group is printed as the elements whose translation gives its pattern (section 18.2.2); a pattern without such an
element becomes a nested group or a subquery.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, assert_never

from hydrograph.algebra.expressions import Expression
from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Order,
    OrderBy,
    PathPattern,
    Pattern,
    PatternTerm,
    Project,
    Reduced,
    Slice,
    Union,
    Values,
    Window,
)
from hydrograph.algebra.walk import is_visible, variables
from hydrograph.errors import UnsupportedError
from hydrograph.language.expression_printer import ExpressionPrinter, TermPrinter
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.rdf.vocab import RDF_TYPE

INDENT = "  "
NO_HEADS: Mapping[Iri, str] = MappingProxyType({})


class PatternPrinter(ExpressionPrinter):
    """Printer of patterns; it tracks blank nodes, since one label may not occur in two basic graph patterns."""

    def __init__(
        self,
        terms: TermPrinter,
        names: dict[Variable, str],
        window_word: str | None,
        block_heads: Mapping[Iri, str] = NO_HEADS,
    ) -> None:
        """Print `window_word` before windows, or without it only their content, as the default graph.

        `block_heads` holds the heads of blocks that are written in another way.
        """
        super().__init__(terms, names)
        self._window_word = window_word
        self._block_heads = block_heads
        self._blocks = 0
        self._block_of: dict[Variable, int] = {}

    # Groups

    def braced(self, head: str, pattern: Pattern) -> list[str]:
        """Return `head { … }` with a group whose translation is `pattern`."""
        group = _Elements([])
        if _is_subquery(pattern):
            group.lines.extend(self.level("SELECT", pattern))
        elif isinstance(pattern, Filter):
            self._begin(group, pattern.inner)
            group.lines.append(f"FILTER {self.constraint(pattern.condition)}")
        else:
            self._begin(group, pattern)
        if not group.lines:
            return [f"{head} {{ }}".lstrip()]
        return [f"{head} {{".lstrip(), *(INDENT + line for line in group.lines), "}"]

    def exists(self, pattern: Pattern) -> str:
        """Return the group of EXISTS on one line."""
        return " ".join(line.lstrip() for line in self.braced("", pattern))

    def _begin(self, group: _Elements, pattern: Pattern) -> None:
        """Print the first elements of a group: those that make up `pattern`."""
        self._blocks += 1
        self._fill(group, pattern)

    def _fill(self, group: _Elements, pattern: Pattern) -> None:
        """Print elements that make up `pattern`, at the start of a group."""
        match pattern:
            case Join(left, right):
                self._fill(group, left)
                self._join(group, right)
            case LeftJoin(left, right, condition):
                self._fill(group, left)
                self._add(group, self._optional(right, condition))
            case Minus(left, right):
                self._fill(group, left)
                self._add(group, self.braced("MINUS", right))
            case Extend(inner, variable, expression) if not isinstance(_below_extends(inner), Group):
                self._fill(group, inner)
                self._add(group, [f"BIND({self.expression(expression)} AS {self.variable(variable)})"])
            case _:
                self._join(group, pattern)

    def _join(self, group: _Elements, pattern: Pattern) -> None:
        """Print one element that joins `pattern` to those before it."""
        match pattern:
            case Bgp(patterns):
                if group.after_triples:
                    self._add(group, self.braced("", pattern))
                    return
                triples = ((triple.subject, self.verb(triple.predicate), triple.object) for triple in patterns)
                group.lines.extend(f"{self.node(s)} {verb} {self.node(o)} ." for s, verb, o in triples)
                group.after_triples = bool(patterns)
            case PathPattern(subject, path, target):
                group.lines.append(f"{self.node(subject)} {self.terms.path(path)} {self.node(target)} .")
                group.after_triples = False
            case Union():
                self._add(group, self._union(pattern))
            case Graph(name, inner):
                self._add(group, self.braced(f"GRAPH {self.name(name)}", inner))
            case Window(name, inner):
                self._add(group, self._window(name, inner))
            case Values():
                self._add(group, self.values(pattern))
            case Join() | LeftJoin() | Filter() | Minus() | Extend():
                self._add(group, self.braced("", pattern))
            case Group() | Project() | Distinct() | Reduced() | OrderBy() | Slice():
                self._add(group, self.braced("", pattern))
            case _:
                assert_never(pattern)

    def _add(self, group: _Elements, lines: list[str]) -> None:
        """Append an element; it ends the basic graph pattern before it."""
        group.lines.extend(lines)
        group.after_triples = False
        self._blocks += 1

    def _optional(self, pattern: Pattern, condition: Expression | None) -> list[str]:
        """Return OPTIONAL; a filter right inside would become its condition, so it goes one group deeper."""
        if condition is not None:
            return self.braced("OPTIONAL", Filter(condition, pattern))
        if not isinstance(pattern, Filter):
            return self.braced("OPTIONAL", pattern)
        return ["OPTIONAL {", *(INDENT + line for line in self.braced("", pattern)), "}"]

    def _union(self, union: Union) -> list[str]:
        """Return groups with UNION between them; the left spine is one chain."""
        groups = [union.right]
        left = union.left
        while isinstance(left, Union):
            groups.append(left.right)
            left = left.left
        lines = self.braced("", left)
        for pattern in reversed(groups):
            first, *others = self.braced("UNION", pattern)
            lines = [*lines[:-1], f"{lines[-1]} {first}", *others]
        return lines

    def _window(self, name: Iri | Variable, inner: Pattern) -> list[str]:
        """Return a window block in the syntax of the dialect."""
        if isinstance(name, Iri) and name in self._block_heads:
            return self.braced(self._block_heads[name], inner)
        if self._window_word is not None:
            return self.braced(f"{self._window_word} {self.name(name)}", inner)
        if isinstance(name, Variable):
            raise UnsupportedError(f"WINDOW ?{name.name} cannot be printed without naming windows")
        return self.braced("", inner)

    def node(self, term: PatternTerm) -> str:
        """Return a term of a triple pattern; generated variables are blank nodes."""
        if not isinstance(term, Variable):
            return self.terms.term(term)
        if is_visible(term) or term in self.names:
            return self.variable(term)
        if self._block_of.setdefault(term, self._blocks) != self._blocks:
            self.exposed[term] = None
        return f"_:{term.name[1:]}"

    def name(self, name: Iri | Variable) -> str:
        """Return the name of a graph or a window."""
        return self.variable(name) if isinstance(name, Variable) else self.terms.iri(name)

    def verb(self, predicate: Iri | Variable) -> str:
        """Return a predicate; rdf:type is `a`."""
        return "a" if predicate == Iri(RDF_TYPE) else self.name(predicate)

    def values(self, values: Values) -> list[str]:
        """Return inline data, one row a line."""
        if len(values.variables) == 1:
            terms = " ".join(self.terms.term(term) for (term,) in values.rows)
            return [f"VALUES {self.variable(values.variables[0])} {{ {terms} }}"]
        names = " ".join(self.variable(variable) for variable in values.variables)
        rows = (f"{INDENT}({' '.join(self.terms.term(term) for term in row)})" for row in values.rows)
        return [f"VALUES ({names}) {{", *rows, "}"]

    # Query levels

    def level(self, form: str, pattern: Pattern, sources: tuple[str, ...] = ()) -> list[str]:
        """Return a query level from its form on; `sources` are printed between the form and WHERE."""
        parts = _take_apart(pattern, select=form.startswith("SELECT"))
        outer = self.aggregates
        keys: list[str] = []
        where = parts.where
        if isinstance(where, Group):
            self.aggregates = outer | dict(where.aggregates)
            where, key_parts = _take_keys(where)
        if parts.projection is not None:
            form = f"{form}{parts.distinct} {self._projection(parts)}"
        lines = [form, *sources, *self.braced("WHERE", where)]
        if isinstance(parts.where, Group):
            keys = [self._key(variable, expression) for variable, expression in key_parts]
        if keys:
            lines.append(f"GROUP BY {' '.join(keys)}")
        if parts.having is not None:
            lines.append(f"HAVING {self.constraint(parts.having)}")
        if parts.order:
            lines.append(f"ORDER BY {' '.join(self._order(order) for order in parts.order)}")
        lines += parts.limits
        if parts.trailing is not None:
            lines += self.values(parts.trailing)
        self.aggregates = outer
        return lines

    def _projection(self, parts: _Level) -> str:
        """Return the SELECT items."""
        assigned = dict(parts.extends)
        items: list[str] = []
        for variable in parts.projection or ():
            if variable in assigned:
                items.append(f"({self.expression(assigned[variable])} AS {self.variable(variable)})")
            elif variable in self.aggregates and isinstance(parts.where, Group):
                items.append(f"({self.aggregate(self.aggregates[variable])} AS {self.variable(variable)})")
            else:
                items.append(self.variable(variable))
        return " ".join(items) or "*"

    def _key(self, variable: Variable, expression: Expression | None) -> str:
        """Return one key of GROUP BY."""
        if expression is None:
            return self.variable(variable)
        text = self.expression(expression)
        return f"({text} AS {self.variable(variable)})" if is_visible(variable) else f"({text})"

    def _order(self, order: Order) -> str:
        """Return one condition of ORDER BY."""
        return f"{'DESC' if order.descending else 'ASC'}({self.expression(order.expression)})"


class _Elements:
    """Lines of a group so far, and whether triples came last: more triples would join the same pattern."""

    def __init__(self, lines: list[str]) -> None:
        """Begin with `lines`."""
        self.lines = lines
        self.after_triples = False


class _Level(NamedTuple):
    """Query level split into its clauses."""

    where: Pattern
    projection: tuple[Variable, ...] | None
    distinct: str
    extends: tuple[tuple[Variable, Expression], ...]
    having: Expression | None
    trailing: Values | None
    order: tuple[Order, ...]
    limits: tuple[str, ...]


def _is_subquery(pattern: Pattern) -> bool:
    """Return whether only a SELECT can express `pattern`."""
    if isinstance(pattern, Extend):
        return isinstance(_below_extends(pattern), Group)
    return isinstance(pattern, Project | Distinct | Reduced | Slice | OrderBy | Group)


def _below_extends(pattern: Pattern) -> Pattern:
    """Return the pattern below assignments, HAVING and the VALUES after a group."""
    while isinstance(pattern, Extend):
        pattern = pattern.inner
    if isinstance(pattern, Join) and isinstance(pattern.right, Values):
        pattern = pattern.left
    return pattern.inner if isinstance(pattern, Filter) else pattern


def _take_apart(pattern: Pattern, *, select: bool) -> _Level:
    """Return the clauses of a level; SELECT without a projection selects all it can."""
    limits: tuple[str, ...] = ()
    distinct = ""
    order: tuple[Order, ...] = ()
    projection: tuple[Variable, ...] | None = None
    if isinstance(pattern, Slice):
        limits = tuple(f"LIMIT {n}" for n in (pattern.limit,) if n is not None)
        limits += (f"OFFSET {pattern.offset}",) if pattern.offset else ()
        pattern = pattern.inner
    if select:
        if isinstance(pattern, Distinct | Reduced):
            distinct = f" {type(pattern).__name__.upper()}"
            pattern = pattern.inner
        if isinstance(pattern, Project):
            projection, pattern = pattern.variables, pattern.inner
        else:
            projection = tuple(sorted(variables(pattern)))
    if isinstance(pattern, OrderBy):
        order, pattern = pattern.conditions, pattern.inner
    where, extends, having, trailing = _take_group(pattern, projection or ())
    return _Level(where, projection, distinct, extends, having, trailing, order, limits)


def _take_group(
    pattern: Pattern, projection: tuple[Variable, ...]
) -> tuple[Pattern, tuple[tuple[Variable, Expression], ...], Expression | None, Values | None]:
    """Return a group without what follows it: assignments of SELECT, HAVING and VALUES; else the pattern as it is."""
    extends: list[tuple[Variable, Expression]] = []
    inner = pattern
    while isinstance(inner, Extend):
        extends.append((inner.variable, inner.expression))
        inner = inner.inner
    extends.reverse()
    assigned = [variable for variable, _ in extends]
    if assigned != [variable for variable in projection if variable in assigned]:
        return pattern, (), None, None
    if isinstance(inner, Filter) and not isinstance(inner.inner, Group) and extends:
        # As BIND these would need a nested group around the filter.
        return inner, tuple(extends), None, None
    trailing: Values | None = None
    having: Expression | None = None
    if isinstance(inner, Join) and isinstance(inner.right, Values):
        trailing = inner.right
        inner = inner.left
    if isinstance(inner, Filter):
        having, inner = inner.condition, inner.inner
    if not isinstance(inner, Group) or not set(projection) - set(assigned) <= variables(inner):
        return pattern, (), None, None
    return inner, tuple(extends), having, trailing


def _take_keys(group: Group) -> tuple[Pattern, list[tuple[Variable, Expression | None]]]:
    """Return the pattern that is grouped, and the keys with the expressions assigned right below the group."""
    assigned: dict[Variable, Expression] = {}
    inner = group.inner
    last = len(group.keys)
    while isinstance(inner, Extend) and inner.variable in group.keys[:last]:
        last = group.keys.index(inner.variable)
        assigned[inner.variable] = inner.expression
        inner = inner.inner
    return inner, [(key, assigned.get(key)) for key in group.keys]

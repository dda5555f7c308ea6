"""Translation of the syntax tree to algebra, after [SPARQL 1.1 section 18.2](https://www.w3.org/TR/sparql11-query/#sparqlQuery).

The rules about scope are checked on the way, because the variables in scope are at hand there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias, assert_never

from hydrograph.algebra.expressions import Aggregate, And, Expression, Reference
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
    TriplePattern,
    Union,
    Window,
)
from hydrograph.algebra.walk import depth, is_visible, operands, rewrite_expression
from hydrograph.errors import SyntaxQueryError
from hydrograph.language.lexer import did_you_mean
from hydrograph.language.syntax import (
    BindElement,
    Condition,
    Element,
    FilterElement,
    GroupElement,
    Level,
    MinusElement,
    NamedElement,
    OptionalElement,
    PathTriple,
    TriplesBlock,
    UnionElement,
    ValuesElement,
)
from hydrograph.rdf.terms import Variable


def sample_conditions(level: Level, fresh: Callable[[], Variable]) -> None:
    """Replace variables that are not keys by SAMPLE of them, in the conditions of a grouping level."""
    if level.keys is None and not level.aggregates:
        return
    selected = level.projection or ()
    known = {key.variable for key in level.keys or ()}
    known |= {item.variable for item in selected if item.expression is not None}
    known |= {variable for variable, _ in level.aggregates}
    early = {variable for item in selected if item.expression for variable in references(item.expression)}
    samples: dict[Variable, Variable] = {}

    def sample(expression: Expression) -> Expression:
        if not isinstance(expression, Reference) or expression.variable in known:
            return expression
        if expression.variable not in samples:
            samples[expression.variable] = _variable_of(Aggregate("SAMPLE", expression), level, fresh)
        return Reference(samples[expression.variable])

    before = len(level.aggregates)
    level.having = tuple(_rewritten(condition, sample) for condition in level.having)
    level.order = tuple(_rewritten(condition, sample) for condition in level.order)
    if len(level.aggregates) > before:
        _renumber(level, early)


def references(expression: Expression) -> list[Variable]:
    """Return the variables of an expression outside EXISTS, in the order of the text."""
    found: list[Variable] = []
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Reference):
            found.append(current.variable)
        waiting += reversed(operands(current))
    return found


def _rewritten(condition: Condition, rule: Callable[[Expression], Expression]) -> Condition:
    """Return a condition with `rule` applied everywhere in it."""
    order = condition.order
    return Condition(Order(rewrite_expression(order.expression, rule), order.descending), condition.offset)


def _variable_of(aggregate: Aggregate, level: Level, fresh: Callable[[], Variable]) -> Variable:
    """Return the variable of an aggregate, a new one if it is new."""
    for variable, known in level.aggregates:
        if known == aggregate:
            return variable
    variable = fresh()
    level.aggregates.append((variable, aggregate))
    return variable


def _renumber(level: Level, early: set[Variable]) -> None:
    """Name the aggregates of the conditions in the order of the text, as if SAMPLE had been written there."""
    late = [variable for variable, _ in level.aggregates if variable not in early]
    conditions = [condition.order.expression for condition in (*level.having, *level.order)]
    seen = dict.fromkeys(variable for condition in conditions for variable in references(condition) if variable in late)
    renamed = dict(zip(seen, late, strict=True))
    by_name = {renamed.get(variable, variable): aggregate for variable, aggregate in level.aggregates}
    level.aggregates = [(variable, by_name[variable]) for variable, _ in level.aggregates]

    def rename(expression: Expression) -> Expression:
        if isinstance(expression, Reference):
            return Reference(renamed.get(expression.variable, expression.variable))
        return expression

    level.having = tuple(_rewritten(condition, rename) for condition in level.having)
    level.order = tuple(_rewritten(condition, rename) for condition in level.order)


MAX_DEPTH = 200

UNIT = Bgp(())
"""The pattern with one solution that binds nothing."""

Scope: TypeAlias = dict[Variable, None]
"""The variables in scope, in the order of the text."""


class Scoped(NamedTuple):
    """Pattern and its variables in scope."""

    pattern: Pattern
    scope: Scope


class Translator:
    """Translation of the levels of one query; `text` is for errors."""

    def __init__(self, text: str) -> None:
        """Keep the text."""
        self._text = text

    def query(self, level: Level, *, project: bool) -> tuple[Pattern, tuple[Variable, ...]]:
        """Return the algebra of the outermost level, and the variables it selects, or would with `*`."""
        pattern, scope = self._level(level, project=project)
        if (found := depth(pattern)) > MAX_DEPTH:
            # No single operator is the one too many: the error points at the start of the pattern.
            offset = max(0, self._text.find("{"))
            raise self._fail(f"patterns may be {MAX_DEPTH} operators deep, got {found}; split the query", offset)
        return pattern, tuple(variable for variable in scope if is_visible(variable))

    # Groups, section 18.2.2

    def group(self, group: GroupElement) -> Scoped:
        """Return the algebra of `{ … }`."""
        pattern, condition, scope = self._body(group)
        return Scoped(pattern if condition is None else Filter(condition, pattern), scope)

    def _body(self, group: GroupElement) -> tuple[Pattern, Expression | None, Scope]:
        """Return a group without its filters, and the filters, which apply to the whole group."""
        if group.subquery is not None:
            subquery = self._level(group.subquery, project=True)
            return subquery.pattern, None, subquery.scope
        pattern: Pattern = UNIT
        scope: Scope = {}
        conditions: list[Expression] = []
        for element in group.elements:
            if isinstance(element, FilterElement):
                conditions.append(element.condition)
            else:
                pattern = self._append(pattern, scope, element)
        return pattern, _conjunction(conditions), scope

    def _append(self, pattern: Pattern, scope: Scope, element: Element) -> Pattern:
        """Return `pattern` with the next element of its group; widen `scope`."""
        match element:
            case TriplesBlock(triples):
                return _join_triples(pattern, scope, triples)
            case OptionalElement(group):
                right, condition, inner = self._body(group)
                scope |= inner
                return LeftJoin(pattern, right, condition)
            case MinusElement(group):
                return Minus(pattern, self.group(group).pattern)
            case UnionElement(groups):
                first, *others = [self.group(group) for group in groups]
                union = first.pattern
                scope |= first.scope
                for other in others:
                    union = Union(union, other.pattern)
                    scope |= other.scope
                return join(pattern, union)
            case NamedElement(name, group, window):
                inside = self.group(group)
                scope |= inside.scope
                if isinstance(name, Variable):
                    scope[name] = None
                return join(pattern, Window(name, inside.pattern) if window else Graph(name, inside.pattern))
            case BindElement(expression, variable, offset):
                self._check_new(variable, scope, offset, "BIND")
                scope[variable] = None
                return Extend(pattern, variable, expression)
            case ValuesElement(values):
                scope |= dict.fromkeys(values.variables)
                return join(pattern, values)
            case FilterElement():
                raise AssertionError(element)
            case _:
                assert_never(element)

    # Levels, sections 18.2.4 and 18.2.5

    def _level(self, level: Level, *, project: bool) -> Scoped:
        """Return the algebra of a query level with all its modifiers."""
        pattern, scope = self.group(level.where)
        grouped = level.keys is not None or bool(level.aggregates)
        keys = scope
        if grouped:
            if level.star_offset is not None and project:
                raise self._fail("expected variables in SELECT, got * in a query that groups", level.star_offset)
            pattern, keys = self._grouped(level, pattern, scope)
            self._check_grouped(level, keys)
        if level.having:
            pattern = Filter(_all([condition.order.expression for condition in level.having]), pattern)
        if level.values is not None:
            pattern = join(pattern, level.values)
            keys = keys | dict.fromkeys(level.values.variables)
            scope = scope | dict.fromkeys(level.values.variables)
        pattern, keys = self._extended(level, pattern, keys, scope)
        if level.order:
            pattern = OrderBy(pattern, tuple(condition.order for condition in level.order))
        if project:
            pattern, keys = _projected(level, pattern, keys)
        if level.limit is not None or level.offset:
            pattern = Slice(pattern, level.offset or 0, level.limit)
        return Scoped(pattern, keys)

    def _grouped(self, level: Level, pattern: Pattern, scope: Scope) -> Scoped:
        """Return the groups and their keys."""
        keys: Scope = {}
        for key in level.keys or ():
            if key.expression is not None:
                self._check_new(key.variable, scope, key.offset, "GROUP BY")
                scope[key.variable] = None
                pattern = Extend(pattern, key.variable, key.expression)
            keys[key.variable] = None
        return Scoped(Group(pattern, tuple(keys), tuple(level.aggregates), implicit=level.keys is None), keys)

    def _check_grouped(self, level: Level, keys: Scope) -> None:
        """Refuse a selected variable that has no single value in a group, and a name that is not visible in HAVING."""
        names = {item.variable for item in level.projection or () if item.expression is not None} - set(keys)
        for condition in level.having:
            self._check_having(condition, names)
        known = set(keys) | {variable for variable, _ in level.aggregates}
        for item in level.projection or ():
            read = [item.variable] if item.expression is None else references(item.expression)
            for variable in read:
                if variable not in known:
                    visible = [f"?{key.name}" for key in keys if is_visible(key)]
                    allowed = (", ".join(visible) or "none") + did_you_mean(f"?{variable.name}", visible)
                    raise self._fail(
                        f"expected a key of GROUP BY or an aggregate, got ?{variable.name}; keys: {allowed}",
                        item.offset,
                    )
            known.add(item.variable)

    def _check_having(self, condition: Condition, names: set[Variable]) -> None:
        """Refuse a SELECT alias in HAVING, where it has no value yet."""
        for variable in references(condition.order.expression):
            if variable in names:
                raise self._fail(
                    f"expected an aggregate in HAVING, got ?{variable.name} of SELECT; repeat its expression",
                    condition.offset,
                )

    def _extended(self, level: Level, pattern: Pattern, keys: Scope, scope: Scope) -> Scoped:
        """Add the expressions of SELECT."""
        taken = scope | keys
        keys = dict(keys)
        for item in level.projection or ():
            if item.expression is not None:
                self._check_new(item.variable, taken, item.offset, "SELECT")
                pattern = Extend(pattern, item.variable, item.expression)
                keys[item.variable] = None
            taken[item.variable] = None
        return Scoped(pattern, keys)

    # Errors

    def _check_new(self, variable: Variable, scope: Iterable[Variable], offset: int, clause: str) -> None:
        """Refuse to assign a variable that has a value already."""
        if variable in scope:
            raise self._fail(
                f"expected a new variable in {clause}, got ?{variable.name}, which is in use already", offset
            )

    def _fail(self, message: str, offset: int) -> SyntaxQueryError:
        """Return an error that points into the text."""
        return SyntaxQueryError(message, self._text, offset)


def join(left: Pattern, right: Pattern) -> Pattern:
    """Return the join; the unit [drops out](https://www.w3.org/TR/sparql11-query/#sparqlSimplification)."""
    if left == UNIT:
        return right
    return left if right == UNIT else Join(left, right)


def _join_triples(pattern: Pattern, scope: Scope, triples: tuple[TriplePattern | PathTriple, ...]) -> Pattern:
    """Join adjacent triples as one basic graph pattern, and each path on its own."""
    block: list[TriplePattern] = []
    for triple in triples:
        if isinstance(triple, TriplePattern):
            block.append(triple)
            terms: tuple[PatternTerm, ...] = (triple.subject, triple.predicate, triple.object)
        else:
            if block:
                pattern, block = join(pattern, Bgp(tuple(block))), []
            pattern = join(pattern, PathPattern(triple.subject, triple.path, triple.object))
            terms = (triple.subject, triple.object)
        scope |= dict.fromkeys(term for term in terms if isinstance(term, Variable))
    return join(pattern, Bgp(tuple(block))) if block else pattern


def _projected(level: Level, pattern: Pattern, scope: Scope) -> Scoped:
    """Add the projection, and DISTINCT or REDUCED."""
    if level.projection is None:
        selected: Scope = {variable: None for variable in scope if is_visible(variable)}
    else:
        selected = {item.variable: None for item in level.projection}
    pattern = Project(pattern, tuple(selected))
    if level.distinct:
        pattern = Distinct(pattern)
    elif level.reduced:
        pattern = Reduced(pattern)
    return Scoped(pattern, selected)


def _conjunction(conditions: list[Expression]) -> Expression | None:
    """Return the conjunction of all conditions, or None if there are none."""
    return _all(conditions) if conditions else None


def _all(conditions: list[Expression]) -> Expression:
    """Return the conjunction of at least one condition."""
    return conditions[0] if len(conditions) == 1 else And(tuple(conditions))

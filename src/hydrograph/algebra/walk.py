"""Walks over the algebra: children, rewriting, and the variables of a pattern or an expression.

>>> sorted(v.name for v in mentioned(And((Reference(Variable("a")), Reference(Variable("b"))))))
['a', 'b']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias, assert_never

from hydrograph.algebra.expressions import (
    Aggregate,
    And,
    Calculate,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Negate,
    Not,
    Or,
    Reference,
)
from hydrograph.algebra.nodes import (
    Alternative,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    OneOrMore,
    OrderBy,
    Path,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Sequence,
    Slice,
    Union,
    Values,
    Window,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.rdf.terms import Variable

Node: TypeAlias = Pattern | Expression | Aggregate | Path

VOLATILE = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
"""Functions of which two calls differ (A6)."""


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the patterns directly inside `pattern`, left before right; those of EXISTS belong to expressions."""
    match pattern:
        case Bgp() | PathPattern() | Values():
            return ()
        case Join(left, right) | LeftJoin(left, right) | Union(left, right) | Minus(left, right):
            return (left, right)
        case Filter(_, inner) | Graph(_, inner) | Window(_, inner):
            return (inner,)
        case Extend() | Group() | Project() | Distinct() | Reduced() | OrderBy() | Slice():
            return (pattern.inner,)
        case _:
            assert_never(pattern)


def with_children(pattern: Pattern, inner: tuple[Pattern, ...]) -> Pattern:
    """Return `pattern` with other patterns inside, in the order of `children`."""
    match pattern:
        case Bgp() | PathPattern() | Values():
            return pattern
        case Join() | LeftJoin() | Union() | Minus():
            return replace(pattern, left=inner[0], right=inner[1])
        case (
            Filter()
            | Graph()
            | Window()
            | Extend()
            | Group()
            | Project()
            | Distinct()
            | Reduced()
            | OrderBy()
            | Slice()
        ):
            return replace(pattern, inner=inner[0])
        case _:
            assert_never(pattern)


def rewrite(pattern: Pattern, rule: Callable[[Pattern], Pattern]) -> Pattern:
    """Apply `rule` to every pattern from the leaves up, outside of expressions."""
    old = children(pattern)
    new = tuple(rewrite(child, rule) for child in old)
    # An unchanged pattern stays the same object, so that rules can be repeated until nothing moves.
    same = all(before is after for before, after in zip(old, new, strict=True))
    return rule(pattern if same else with_children(pattern, new))


def operands(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside `expression`; the pattern of EXISTS is none."""
    match expression:
        case Constant() | Reference() | Exists():
            return ()
        case Compare(_, left, right) | Calculate(_, left, right):
            return (left, right)
        case Negate(operand) | Not(operand):
            return (operand,)
        case And(chain) | Or(chain):
            return chain
        case In(operand, choices):
            return (operand, *choices)
        case Call(_, arguments):
            return arguments
        case _:
            assert_never(expression)


def with_operands(expression: Expression, inner: tuple[Expression, ...]) -> Expression:
    """Return `expression` with other expressions inside, in the order of `operands`."""
    match expression:
        case Constant() | Reference() | Exists():
            return expression
        case Compare() | Calculate():
            return replace(expression, left=inner[0], right=inner[1])
        case Negate() | Not():
            return replace(expression, operand=inner[0])
        case And() | Or():
            return replace(expression, operands=inner)
        case In():
            return replace(expression, operand=inner[0], choices=inner[1:])
        case Call():
            return replace(expression, arguments=inner)
        case _:
            assert_never(expression)


def rewrite_expression(expression: Expression, rule: Callable[[Expression], Expression]) -> Expression:
    """Apply `rule` to every expression from the leaves up; a rule that meets Exists decides about its pattern."""
    old = operands(expression)
    new = tuple(rewrite_expression(operand, rule) for operand in old)
    same = all(before is after for before, after in zip(old, new, strict=True))
    return rule(expression if same else with_operands(expression, new))


def expressions(pattern: Pattern) -> tuple[Expression, ...]:
    """Return the expressions directly in `pattern`, arguments of aggregates included."""
    match pattern:
        case Filter(condition, _):
            return (condition,)
        case LeftJoin(_, _, condition):
            return () if condition is None else (condition,)
        case Extend(_, _, expression):
            return (expression,)
        case Group(_, _, aggregates):
            return tuple(one.argument for _, one in aggregates if one.argument is not None)
        case OrderBy(_, conditions):
            return tuple(order.expression for order in conditions)
        case _:
            return ()


def with_expressions(pattern: Pattern, change: Callable[[Expression], Expression]) -> Pattern:
    """Return `pattern` with what `change` makes of the expressions directly in it."""
    match pattern:
        case Filter(condition, _):
            return replace(pattern, condition=change(condition))
        case LeftJoin(_, _, condition):
            return pattern if condition is None else replace(pattern, condition=change(condition))
        case Extend(_, _, expression):
            return replace(pattern, expression=change(expression))
        case Group(_, _, aggregates):
            changed = (
                (output, one if one.argument is None else replace(one, argument=change(one.argument)))
                for output, one in aggregates
            )
            return replace(pattern, aggregates=tuple(changed))
        case OrderBy(_, conditions):
            ordered = tuple(replace(order, expression=change(order.expression)) for order in conditions)
            return replace(pattern, conditions=ordered)
        case _:
            return pattern


def everywhere(pattern: Pattern, rule: Callable[[Pattern], Pattern]) -> Pattern:
    """Apply `rule` to every pattern from the leaves up, those of EXISTS included."""

    def inside(expression: Expression) -> Expression:
        if isinstance(expression, Exists):
            return replace(expression, pattern=everywhere(expression.pattern, rule))
        return expression

    return rewrite(
        pattern, lambda node: rule(with_expressions(node, lambda expression: rewrite_expression(expression, inside)))
    )


def subpatterns(pattern: Pattern) -> Iterator[Pattern]:
    """Yield `pattern` and every pattern below it, those of EXISTS included."""
    waiting: list[Node] = [pattern]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Pattern):
            yield node
        waiting += reversed(_below(node))


def _below(node: Node) -> tuple[Node, ...]:
    """Return everything directly inside a node of any sort."""
    match node:
        case Exists(pattern):
            return (pattern,)
        case Aggregate(_, argument):
            return () if argument is None else (argument,)
        case PathPattern(_, path):
            return (path,)
        case Sequence(left, right) | Alternative(left, right):
            return (left, right)
        case Inverse(path) | ZeroOrMore(path) | OneOrMore(path) | ZeroOrOne(path):
            return (path,)
        case Link() | NegatedSet():
            return ()
        case Constant() | Reference() | Compare() | Calculate() | Negate() | Not() | And() | Or() | In() | Call():
            return operands(node)
        case _:
            return (*children(node), *expressions(node))


def depth(node: Node) -> int:
    """Return how many nodes lie below one another; a leaf has depth 1."""
    deepest = 0
    waiting: list[tuple[Node, int]] = [(node, 1)]
    while waiting:
        current, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for child in _below(current)]
    return deepest


# Variables


def mentioned(expression: Expression) -> frozenset[Variable]:
    """Return the variables that `expression` may read, those inside EXISTS included."""
    found: set[Variable] = set()
    waiting: list[Node] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Reference):
            found.add(node.variable)
        elif isinstance(node, Pattern):
            found |= variables(node)
        waiting += _below(node)
    return frozenset(found)


def conjuncts(condition: Expression) -> list[Expression]:
    """Return the conditions that all have to hold: FILTER drops a row whether one is false or an error."""
    if isinstance(condition, And):
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def has_exists(expression: Expression) -> bool:
    """Tell whether an expression contains EXISTS, which reads every variable in scope and so must not be moved."""
    return isinstance(expression, Exists) or any(map(has_exists, operands(expression)))


def is_volatile(expression: Expression) -> bool:
    """Tell whether two evaluations of `expression` may differ (A6)."""
    waiting: list[Node] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call) and node.function in VOLATILE:
            return True
        waiting += _below(node)
    return False


def is_visible(variable: Variable) -> bool:
    """Tell whether a query text can name `variable`; it cannot name blank nodes and generated ones."""
    return not variable.name.startswith(".")


def variables(pattern: Pattern) -> frozenset[Variable]:
    """Return the [variables in scope](https://www.w3.org/TR/sparql11-query/#variableScope): all a solution may bind.

    Variables that stand for blank nodes are among them; see `is_visible`.
    """
    match pattern:
        case Bgp(patterns):
            terms = (term for triple in patterns for term in (triple.subject, triple.predicate, triple.object))
            return frozenset(term for term in terms if isinstance(term, Variable))
        case PathPattern(subject, _, target):
            return frozenset(term for term in (subject, target) if isinstance(term, Variable))
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            return variables(left) | variables(right)
        case Minus(left, _):
            return variables(left)
        case Extend(inner, variable, _):
            return variables(inner) | {variable}
        case Graph(name, inner) | Window(name, inner):
            return variables(inner) | ({name} if isinstance(name, Variable) else set())
        case Values(columns, _) | Project(_, columns):
            return frozenset(columns)
        case Group(_, keys, aggregates):
            return frozenset(keys) | {variable for variable, _ in aggregates}
        case Filter() | Distinct() | Reduced() | OrderBy() | Slice():
            return variables(pattern.inner)
        case _:
            assert_never(pattern)


def certain(pattern: Pattern) -> frozenset[Variable]:
    """Return the variables that every solution of `pattern` binds."""
    match pattern:
        case Bgp() | PathPattern():
            return variables(pattern)
        case Join(left, right):
            return certain(left) | certain(right)
        case Union(left, right):
            return certain(left) & certain(right)
        case LeftJoin(left, _) | Minus(left, _):
            return certain(left)
        case Extend(inner, variable, expression):
            below = certain(inner)
            return below | {variable} if never_fails(expression, below) else below
        case Graph(name, inner) | Window(name, inner):
            return certain(inner) | ({name} if isinstance(name, Variable) else set())
        case Values(columns, rows):
            return frozenset(column for n, column in enumerate(columns) if all(row[n] is not None for row in rows))
        case Project(inner, columns):
            return certain(inner) & frozenset(columns)
        case Group(inner, keys, aggregates):
            counts = {variable for variable, one in aggregates if one.name == "COUNT"}
            return (certain(inner) & frozenset(keys)) | counts
        case Filter() | Distinct() | Reduced() | OrderBy() | Slice():
            return certain(pattern.inner)
        case _:
            assert_never(pattern)


def never_fails(expression: Expression, bound: frozenset[Variable]) -> bool:
    """Tell whether `expression` surely has a value where `bound` variables have one."""
    match expression:
        case Constant() | Exists():
            return True
        case Reference(variable):
            return variable in bound
        case Call("BOUND" | "NOW", _):
            return True
        case _:
            return False


def visible_variables(pattern: Pattern) -> tuple[Variable, ...]:
    """Return the variables in scope that a query text can name, in the order of their names."""
    return tuple(sorted(variable for variable in variables(pattern) if is_visible(variable)))


def has_zero_length(path: Path) -> bool:
    """Tell whether a path has, or contains, steps of length zero."""
    match path:
        case ZeroOrMore() | ZeroOrOne():
            return True
        case Inverse(inner) | OneOrMore(inner):
            return has_zero_length(inner)
        case Sequence(left, right) | Alternative(left, right):
            return has_zero_length(left) or has_zero_length(right)
        case Link() | NegatedSet():
            return False


def needs_a_triple(pattern: Pattern) -> bool:
    """Tell whether `pattern` surely has no solution over an empty graph."""
    match pattern:
        case Bgp(patterns):
            return bool(patterns)
        case PathPattern(_, path, _):
            return not has_zero_length(path)
        case Join(left, right):
            return needs_a_triple(left) or needs_a_triple(right)
        case Union(left, right):
            return needs_a_triple(left) and needs_a_triple(right)
        case LeftJoin(left, _) | Minus(left, _):
            return needs_a_triple(left)
        case Graph() | Window() | Values():
            return False  # reads another graph, or none
        case Group():
            return not pattern.implicit and needs_a_triple(pattern.inner)
        case Filter() | Extend() | Project() | Distinct() | Reduced() | OrderBy() | Slice():
            return needs_a_triple(pattern.inner)
        case _:
            assert_never(pattern)

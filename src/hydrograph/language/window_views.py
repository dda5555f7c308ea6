"""Window views of dialects (A9): blocks over named windows, or one graph that all windows feed.

A query over one window means the same in both views: `WINDOW w { P }`, and `P` over a default graph that is w.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hydrograph.algebra.expressions import And, Exists, Expression
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
    OrderBy,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Slice,
    Values,
    Window,
)
from hydrograph.algebra.queries import ContinuousQuery, Describe, NamedWindow
from hydrograph.algebra.walk import (
    certain,
    children,
    conjuncts,
    everywhere,
    expressions,
    has_exists,
    mentioned,
    operands,
    rewrite_expression,
    subpatterns,
    with_expressions,
)
from hydrograph.language.syntax_to_algebra import join
from hydrograph.rdf.terms import Iri, Variable


def window_name(number: int) -> Iri:
    """Return a generated window name for dialects without names; windows are counted from 1."""
    return Iri(f"urn:hydrograph:window:{number}")


def merged(query: ContinuousQuery) -> ContinuousQuery:
    """Return a query over one window with that window as its default graph; any other query as it is."""
    if len(query.windows) != 1 or query.dataset.default or isinstance(query.form, Describe):
        return query
    (window,) = query.windows
    if window.name is None or any(outside_blocks(query.pattern)) or _is_entangled(query.pattern):
        return query
    pattern = everywhere(query.pattern, _without_block)
    return replace(query, pattern=pattern, windows=(replace(window, name=None),))


def named(query: ContinuousQuery) -> ContinuousQuery:
    """Return a query over one window that is the default graph with a block over it; any other query as it is."""
    if len(query.windows) != 1 or query.dataset.default or isinstance(query.form, Describe):
        return query
    (window,) = query.windows
    if window.name is not None or any(isinstance(node, Window) for node in subpatterns(query.pattern)):
        return query
    name = window_name(1)
    return replace(query, pattern=_in_block(name, query.pattern), windows=(replace(window, name=name),))


def ordered(query: ContinuousQuery) -> ContinuousQuery:
    """Return the query with its windows in the order in which the pattern reads them, the unnamed ones first."""
    read = [name for name in _names(query.pattern) if isinstance(name, Iri)]
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(read))}
    unread = len(ranks)
    windows = sorted(query.windows, key=lambda window: -1 if window.name is None else ranks.get(window.name, unread))
    return replace(query, windows=tuple(windows))


def renamed(query: ContinuousQuery) -> ContinuousQuery:
    """Return the query with windows named by number, equal ones only once; names that `WINDOW ?w` gives stay."""
    if any(isinstance(name, Variable) for name in _names(query.pattern)):
        return query
    kept: dict[tuple[Iri, object], NamedWindow] = {}
    windows: list[NamedWindow] = []
    names: dict[Iri, Iri] = {}
    for window in query.windows:
        if window.name is None:
            windows.append(window)
            continue
        key = window.stream, window.definition
        if key not in kept:
            kept[key] = replace(window, name=window_name(len(kept) + 1))
            windows.append(kept[key])
        name = kept[key].name
        assert name is not None
        names[window.name] = name

    def rename(node: Pattern) -> Pattern:
        if isinstance(node, Window) and isinstance(node.name, Iri):
            return replace(node, name=names.get(node.name, node.name))
        return node

    return replace(query, pattern=everywhere(query.pattern, rename), windows=tuple(windows))


def normal(query: ContinuousQuery) -> ContinuousQuery:
    """Return the canonical form: two queries with the same meaning over the same windows have the same one."""
    # Equal windows become one first: a query over one window has no blocks.
    return renamed(merged(renamed(ordered(lift_filters(query)))))


def lift_filters(query: ContinuousQuery) -> ContinuousQuery:
    """Return the query with filters outside of window blocks, in the group around them, where that means the same.

    A filter keeps its meaning if its variables are bound by the block in every solution, and it reads no graph.
    """
    return replace(query, pattern=everywhere(query.pattern, _lift))


def _lift(node: Pattern) -> Pattern:
    """Move the filters of the patterns directly inside `node` above it."""
    match node:
        case Window(name, Filter(condition, inner)) if _can_move(condition, inner):
            return _filtered([condition], Window(name, inner))
        case Join(left, right):
            (before, left), (after, right) = _split(left), _split(right)
            return _filtered([*before, *after], join(left, right)) if before or after else node
        case LeftJoin(left, right, condition):
            before, left = _split(left)
            return _filtered(before, LeftJoin(left, right, condition)) if before else node
        case Minus(left, right):
            before, left = _split(left)
            return _filtered(before, Minus(left, right)) if before else node
        case Filter(condition, inner):
            before, inner = _split(inner)
            return _filtered([*before, condition], inner) if before else node
        case _:
            return node


def _split(pattern: Pattern) -> tuple[list[Expression], Pattern]:
    """Return the conditions of a part of a group that may follow the group, and the part without them."""
    match pattern:
        case Filter(condition, inner) if _can_move(condition, inner):
            return [condition], inner
        case Extend(inner, variable, expression):
            conditions, rest = _split(inner)
            return conditions, Extend(rest, variable, expression) if conditions else pattern
        case _:
            return [], pattern


def _can_move(condition: Expression, inner: Pattern) -> bool:
    """Return whether a condition holds for the same solutions in a larger group; HAVING never moves."""
    if isinstance(inner, Project | Distinct | Reduced | Slice | OrderBy | Group):
        return False
    return mentioned(condition) <= certain(inner) and not has_exists(condition)


def _filtered(conditions: list[Expression], pattern: Pattern) -> Pattern:
    """Return a pattern under all conditions, as one filter."""
    if isinstance(pattern, Filter):
        conditions, pattern = [pattern.condition, *conditions], pattern.inner
    parts = [part for condition in conditions for part in conjuncts(condition)]
    return Filter(parts[0] if len(parts) == 1 else And(tuple(parts)), pattern)


def outside_blocks(pattern: Pattern) -> Iterator[Bgp | PathPattern]:
    """Yield the patterns that read the default graph."""
    waiting: list[Pattern | Expression] = [pattern]
    while waiting:
        match waiting.pop():
            case Window() | Graph():
                pass
            case Bgp(triples) as leaf:
                if triples:
                    yield leaf
            case PathPattern() as leaf:
                yield leaf
            case Exists(inner):
                waiting.append(inner)
            case node if isinstance(node, Pattern):
                waiting += (*children(node), *expressions(node))
            case expression:
                waiting += operands(expression)


def _names(pattern: Pattern) -> list[Iri | Variable]:
    """Return the names of all blocks over windows, in the order of the algebra."""
    return [node.name for node in subpatterns(pattern) if isinstance(node, Window)]


def _is_entangled(pattern: Pattern) -> bool:
    """Return whether blocks cannot be removed: a variable names them, or GRAPH encloses them."""
    return any(
        (isinstance(node, Window) and isinstance(node.name, Variable))
        or (isinstance(node, Graph) and any(isinstance(below, Window) for below in subpatterns(node)))
        for node in subpatterns(pattern)
    )


def _without_block(node: Pattern) -> Pattern:
    """Return the pattern of a block in place of the block; an empty one drops out of its join."""
    if isinstance(node, Join):
        return join(node.left, node.right)
    return node.inner if isinstance(node, Window) else node


def _in_block(name: Iri, pattern: Pattern) -> Pattern:
    """Return a query level with its WHERE inside a block, and every EXISTS above it as well."""

    def inside(expression: Expression) -> Expression:
        if isinstance(expression, Exists):
            return replace(expression, pattern=Window(name, expression.pattern))
        return expression

    if not _is_above_where(pattern):
        return Window(name, pattern)
    above = with_expressions(pattern, lambda expression: rewrite_expression(expression, inside))
    match above:
        case Join(left, right):
            return Join(_in_block(name, left), right)
        case Project() | Distinct() | Reduced() | Slice() | OrderBy() | Group() | Extend() | Filter():
            return replace(above, inner=_in_block(name, above.inner))
        case _:
            raise AssertionError(above)


def _is_above_where(pattern: Pattern) -> bool:
    """Return whether a pattern is a solution modifier, or a part of one above a group."""
    match pattern:
        case Project() | Distinct() | Reduced() | Slice() | OrderBy() | Group() | Extend():
            return True
        case Filter(_, inner):
            return isinstance(inner, Group)
        case Join(left, Values()):
            return isinstance(left, Group) or (isinstance(left, Filter) and isinstance(left.inner, Group))
        case _:
            return False

"""From a continuous query to the plain SPARQL an evaluator is asked at one report.

Three things an off-the-shelf evaluator cannot know are written into the query: what NOW() is (S28), which graphs are
windows (A9), and that R2S acts on the solutions of a CONSTRUCT, before its template does (section 5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, assert_never

from hydrograph.algebra.expressions import Call, Constant
from hydrograph.algebra.nodes import Graph, Join, Pattern, Project, Slice, Values, Window
from hydrograph.algebra.queries import Ask, Construct, ContinuousQuery, Describe, Select
from hydrograph.algebra.walk import is_visible, variables
from hydrograph.errors import UnsupportedError
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_DATE_TIME
from hydrograph.temporal import Instant
from hydrograph_gauge.oracle.floats import rounded_once

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
            columns = in_scope(pattern)
            return replace(query, form=Select(columns), pattern=_projected(pattern, columns))
        case Describe():
            raise UnsupportedError("the oracle does not answer DESCRIBE; ask for the triples with CONSTRUCT")
        case _:
            assert_never(query.form)


def oracle_query(query: ContinuousQuery, static_names: tuple[Iri, ...]) -> ContinuousQuery:
    """Return the same with totals of floats as they should be, whatever the precision the evaluator adds up in."""
    plain = solutions_query(query, static_names)
    return replace(plain, pattern=rounded_once(plain.pattern))


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


def in_scope(pattern: Pattern) -> tuple[Variable, ...]:
    """Return the variables a query text can name, in the order of their names."""
    return tuple(sorted(variable for variable in variables(pattern) if is_visible(variable)))

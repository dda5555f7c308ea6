"""Move WINDOW down to the basic graph patterns, so that joins across windows and static data can be ordered freely.

(window w (join A B))  =>  (join (window w A) (window w B))
"""

from __future__ import annotations

from hydrograph.algebra.expressions import Exists, Expression
from hydrograph.algebra.nodes import Bgp, Graph, PathPattern, Pattern, Values, Window
from hydrograph.algebra.walk import children, rewrite, rewrite_expression, with_children, with_expressions
from hydrograph.rdf.terms import Iri, Variable


def push_windows(pattern: Pattern) -> Pattern:
    """Return the pattern with every named WINDOW directly around a basic graph pattern or a path."""
    return rewrite(pattern, _push)


def _push(pattern: Pattern) -> Pattern:
    # WINDOW ?w binds a variable as well, even over an empty pattern, and stays where it is.
    if not isinstance(pattern, Window) or isinstance(pattern.name, Variable):
        return pattern
    name, inner = pattern.name, pattern.inner
    match inner:
        case Bgp() | PathPattern():
            return pattern
        case Window() | Graph() | Values():
            return inner  # these do not read the window around them
        case _:
            moved = with_children(inner, tuple(_push(Window(name, child)) for child in children(inner)))
            return with_expressions(moved, lambda expression: _inside(name, expression))


def _inside(name: Iri, expression: Expression) -> Expression:
    """Return an expression whose EXISTS look into the window: their patterns stand in the same block."""

    def moved(node: Expression) -> Expression:
        return Exists(_push(Window(name, node.pattern)), node.negated) if isinstance(node, Exists) else node

    return rewrite_expression(expression, moved)

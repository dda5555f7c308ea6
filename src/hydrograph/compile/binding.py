"""Names bound inside of expressions: what is large to write is written once.

SQL has no such construct, so both targets use a lambda over a list.
"""

# ruff: noqa: RUF012 -- `arg_types` is how sqlglot's nodes declare their arguments

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from sqlglot import exp

from hydrograph.compile.expressions import nodes
from hydrograph.compile.sql import (
    DecimalQuotient,
    DecimalText,
    DoubleText,
    KernelCall,
    SingleText,
    Sql,
    TermId,
)


class LetIn(exp.Expression):
    """`expression`, in which `LetName` nodes with the same key stand for `this`."""

    arg_types = {"this": True, "expression": True, "key": True}


class LetName(exp.Expression):
    """A name bound by the `LetIn` around it."""

    arg_types = {"key": True}


class Each(exp.Expression):
    """An array: `expression` for each of `expressions`, for which `LetName` nodes with the same key stand."""

    arg_types = {"expressions": True, "expression": True, "key": True}


class Item(exp.Expression):
    """An element of an array, by its index from 0."""

    arg_types = {"this": True, "index": True}


_KEYS = count()
_SMALL = 8
_LARGE = nodes.DecimalProduct | DecimalQuotient | DecimalText | nodes.DoubleQuotient | nodes.RoundDouble
_WRITTEN_LARGE = 30


def let(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """Return `body(value)` for a body that mentions its argument several times, without repeating a large value.

    A kernel can't stand in a lambda of Spark: around one, the value is repeated.
    """
    return body(value) if size(value) <= _SMALL else bind(value, body)


def size(tree: Sql) -> int:
    """Return about how many nodes a target sees; some of ours are written as many."""
    return sum(_WRITTEN_LARGE if isinstance(node, _LARGE) else 1 for node in tree.walk())


def bind(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """Return `body(value)` as `let` does, for a value that takes long to compute although it is short to write."""
    key = next(_KEYS)
    inner = body(LetName(key=key))
    if any(_is_kernel(node) for node in inner.walk()):
        return body(value)
    return LetIn(this=value, expression=inner, key=key)


def pair(left: Sql, right: Sql, read: Callable[[Sql], Sql], body: Callable[[Sql, Sql], Sql]) -> Sql:
    """Return `body(read(left), read(right))` with `read` written only once; it must not call a kernel."""
    key = next(_KEYS)
    both = Each(expressions=[left, right], expression=read(LetName(key=key)), key=key)
    return bind(both, lambda items: body(*(Item(this=items.copy(), index=index) for index in (0, 1))))


def _is_kernel(node: exp.Expr) -> bool:
    if isinstance(node, nodes.Matches):
        return node.args.get("safe") is False
    return isinstance(
        node, KernelCall | DoubleText | SingleText | nodes.DoubleString | nodes.Digest | nodes.ChangeCase | TermId
    )

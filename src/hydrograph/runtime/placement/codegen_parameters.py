"""Numbers that differ from run to run, kept out of the code that Spark makes of a query.

Spark writes a number into the Java it generates, so the next run of the same query with other numbers is compiled anew
and starts in Java's interpreter. An array it hands over beside the code; and it can not fold away an element of one
whose index depends on a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.sql import Sql

_INTEGERS = frozenset({"t", "t_next", "lo", "hi", "r"})
"""Columns of a program that hold times and ranks, or nothing."""

_APART = (exp.Query, exp.AggFunc, exp.Window, exp.Anonymous)
"""What has rows of its own, or may have: a function that is not known may be an aggregate."""


def opaque(query: exp.Query, constants: Collection[str]) -> exp.Query:
    """Return an equal query with its parameters hidden wherever a row with a time or a rank is at hand.

    `constants` are not hidden: they are the same in every run, and Spark passes texts beside the code.
    """
    hidden = query.copy()
    for place in list(hidden.find_all(exp.Placeholder)):
        column = _near(place) if place.name not in constants else None
        if column is not None:
            place.replace(_element(place.copy(), column.copy()))
    return hidden


def _element(value: Sql, column: Sql) -> Sql:
    none = sql.coalesce(sql.cast(exp.BitwiseAnd(this=column, expression=sql.num(0)), "INT"), sql.num(0))
    array = exp.Anonymous(this="ARRAY", expressions=[sql.cast(value, "BIGINT")])
    return exp.Anonymous(this="GET", expressions=[array, none])


def _near(place: exp.Expr) -> exp.Column | None:
    """Return a column of integers in the smallest expression around a parameter that has one."""
    around = place.parent
    while around is not None and not isinstance(around, exp.Query):
        found = next(_columns(around), None)
        if found is not None:
            return found
        around = around.parent
    return None


def _columns(tree: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns of integers in an expression, without those that queries and aggregates inside it read."""
    for node in tree.walk(prune=lambda each: each is not tree and isinstance(each, _APART)):
        if isinstance(node, exp.Column) and node.name in _INTEGERS:
            yield node

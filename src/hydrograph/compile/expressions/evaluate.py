"""Expressions whose values are kept: BIND, SELECT expressions, keys of groups, arguments of aggregates, sort keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hydrograph.algebra.expressions import Expression, Reference
from hydrograph.compile import sql
from hydrograph.compile.expressions.computed import StringValue, TruthValue, WholeValue
from hydrograph.compile.expressions.conditions import value_of
from hydrograph.compile.expressions.context import Place
from hydrograph.compile.expressions.values import INEXACT, NUMBERS, STRINGS, ConstantValue, Parameters, Value
from hydrograph.compile.relation import (
    Form,
    General,
    Number,
    Part,
    Relation,
    Text,
    Truth,
    Whole,
    form_types,
    null_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind


@dataclass(frozen=True, slots=True)
class Computed:
    """The value of an expression in every row, as columns to be selected.

    `columns` is keyed by the suffix that follows the new variable's stem, in the order of `form_columns(stem, form)`:
    `[alias(value, stem + suffix) for suffix, value in computed.columns.items()]`.
    """

    form: Form
    columns: Mapping[str, Sql]


def evaluate(
    expression: Expression, relation: Relation, parameters: Parameters, *, site: str = "", row: Sql | None = None
) -> Computed:
    """Return the value of an expression over the rows of `relation`; all columns are NULL after an error.

    The relation must carry what `needs(expression)` asks for. Where `reads_clock(expression)` is true, every row must
    be valid at a single rank, and the parameters `report_first` and `report_step` (in ms) give the instant of rank 0
    and the distance of two reports. `site` tells equal expressions at different places of a query apart, and `row`
    equal rows at one instant; both matter only to RAND, UUID, STRUUID and BNODE, which the ids of a row seed.
    """
    if isinstance(expression, Reference) and expression.variable in relation.forms:
        form, stem = relation.forms[expression.variable], relation.names[expression.variable]
        return Computed(form, {suffix: sql.col(stem + suffix) for suffix in form_types(form)})
    return computed(value_of(expression, Place(relation, parameters, site, row)))


def computed(value: Value) -> Computed:
    """Return the columns that keep a value."""
    match value:
        case WholeValue(whole):
            return _columns(Whole(), whole)
        case TruthValue(truth):
            return _columns(Truth(), truth)
        case StringValue(text, None):
            return _columns(Text(), text)
        case StringValue(text, tag) if tag is not None:
            # Without a string there is no tag: equal terms have equal columns.
            return _columns(Text(tagged=True), text, sql.when((value.bound(), tag)))
    if value.kinds <= {Kind.BOOLEAN}:
        return _columns(Truth(), value.truth())
    if value.kinds <= NUMBERS:
        inexact, exact = value.inexact(), value.exact()
        return _columns(
            Number(exact=not value.kinds & INEXACT),
            value.part(Part.KIND),
            null_part(Part.NUMBER) if inexact is None else inexact,
            null_part(Part.DECIMAL) if exact is None else exact,
        )
    if value.kinds <= STRINGS and not isinstance(value, ConstantValue):
        tag = value.language()
        text = value.lexical()
        return _columns(Text(), text) if tag is None else _columns(Text(tagged=True), text, tag)
    return _columns(General(), *(value.part(part) for part in Part if part is not Part.ID))


def _columns(form: Form, *values: Sql) -> Computed:
    types = form_types(form)
    return Computed(form, {s: sql.cast(v, t) for (s, t), v in zip(types.items(), values, strict=True)})

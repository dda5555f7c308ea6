"""Aggregate functions as accumulators (S25): a value from each row, totals over rows, the answer from the totals.

A new aggregate is a case in `accumulator`; `group` decides over which rows and ranks the totals are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import exp

from hydrograph.algebra.expressions import Aggregate
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.compare import lexical as lexical_form
from hydrograph.compile.ordering import term_order
from hydrograph.compile.relation import (
    EncodedLayout,
    IntegerLayout,
    NumberLayout,
    Part,
    StringLayout,
    TermLayout,
    column_name,
    null_part,
)
from hydrograph.compile.sql import Sql, bind, flag
from hydrograph.rdf.encoding import Kind

PartReader: TypeAlias = Callable[[Part], Sql]
"""Gives a part of the aggregated term in an input row; NULL where the row has none."""
_INEXACT = (Kind.FLOAT, Kind.DOUBLE)
_LARGE = 10**10
"""From here on a decimal is added in two parts."""


@dataclass(frozen=True, slots=True)
class Argument:
    """Term that an aggregate reads in each row."""

    part: PartReader
    missing: Sql
    """Test that the row has no such term, which is an error for all but COUNT and SAMPLE."""
    certain: bool = False
    """True if every row has the term."""


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One aggregate in three steps: a value from each row, totals over rows, the answer from totals."""

    inputs: tuple[tuple[str, Sql], ...]
    totals: tuple[tuple[str, Sql], ...]
    outputs: tuple[Sql, ...]
    layout: TermLayout
    spread: Sql | None = None
    """The rows that have to be looked at rank by rank, for a total that can't be undone; None if there are none."""
    first: str | None = None
    """The flag of a first occurrence, where the aggregate is over distinct terms."""

    @property
    def additive(self) -> bool:
        """True if all totals are exact sums, which a sweep can subtract again."""
        return self.spread is None


def count_accumulator(stem: str, flag: Sql) -> Accumulator:
    """Return the number of rows in which `flag` is 1."""
    name = f"{stem}_c"
    return Accumulator(
        inputs=((name, flag),),
        totals=((name, exp.Sum(this=sql.col(name))),),
        outputs=(sql.alias(sql.cast(sql.col(name), "BIGINT"), f"{stem}_int"),),
        layout=IntegerLayout(),
    )


def accumulator(aggregate: Aggregate, stem: str, argument: Argument, *, exact: bool) -> Accumulator:
    """Return the accumulator of an aggregate over a term; `exact` if the data holds no floats and doubles."""
    match aggregate.name:
        case "COUNT":
            return count_accumulator(stem, flag(sql.not_null(argument.part(Part.ID))))
        case "SUM":
            return sum_accumulator(stem, argument, mean=False, exact=exact)
        case "AVG":
            return sum_accumulator(stem, argument, mean=True, exact=exact)
        case "MIN" | "MAX":
            return _extreme(stem, argument, exp.Min if aggregate.name == "MIN" else exp.Max)
        case "SAMPLE":
            # SPARQL leaves open which one; the first in the order of terms is the same in every plan.
            return _extreme(stem, replace(argument, certain=True), exp.Min)
        case "GROUP_CONCAT":
            raise AssertionError("GROUP_CONCAT reads lexical forms as well")


def sum_accumulator(stem: str, argument: Argument, *, mean: bool, exact: bool) -> Accumulator:
    """Return SUM or AVG: integers and decimals exactly, floats and doubles folded from the smallest.

    A term that is no number or missing is an error, and an error in one row makes the whole answer unbound. Exact
    terms from 10^10 on are added in two parts, so that no total overflows; only the answer may be too large.
    """
    part = argument.part
    kind = part(Part.KIND)
    bound = sql.not_null(part(Part.ID))
    # Every number is exact, or else is in the column for those that are not.
    known = sql.not_null(part(Part.DECIMAL))
    if not exact:
        inexact = sql.all_of([sql.one_of(kind.copy(), _INEXACT), sql.not_null(part(Part.NUMBER))])
        known = sql.paren(sql.any_of([known, sql.paren(inexact)]))
    wrong = sql.all_of([bound, sql.negate(known)])
    if not argument.certain:
        wrong = sql.any_of([wrong, sql.paren(argument.missing.copy())])
    c, e, d, s, g, f, b, x = (f"{stem}_{letter}" for letter in "cedsgfbx")
    limit = sql.cast(sql.num(_LARGE), sql.DECIMAL)
    # Not by ABS: Spark's has 34 digits.
    large = sql.any_of([sql.more(part(Part.DECIMAL), limit), sql.less(part(Part.DECIMAL), sql.minus(limit.copy()))])
    inputs = [
        (c, flag(bound.copy())),
        (e, flag(wrong)),
        (d, flag(sql.equal(kind.copy(), sql.num(Kind.DECIMAL)))),
        (
            s,
            sql.when(
                (large, nodes.DecimalTail(this=part(Part.DECIMAL))),
                otherwise=sql.coalesce(part(Part.DECIMAL), sql.cast(sql.num(0), sql.DECIMAL)),
            ),
        ),
        (
            g,
            sql.when(
                (large.copy(), nodes.DecimalHead(this=part(Part.DECIMAL))), otherwise=sql.cast(sql.num(0), "BIGINT")
            ),
        ),
    ]
    totals: list[tuple[str, Sql]] = [(name, exp.Sum(this=sql.col(name))) for name in (c, e, d, g)]
    totals.append((s, nodes.SafeSum(this=sql.col(s))))
    if not exact:
        inputs += [(name, flag(sql.equal(kind.copy(), sql.num(k)))) for name, k in ((f, Kind.FLOAT), (b, Kind.DOUBLE))]
        inputs.append((x, sql.when((sql.one_of(kind.copy(), _INEXACT), part(Part.NUMBER)))))
        totals += [(name, exp.Sum(this=sql.col(name))) for name in (f, b)]
        totals.append((x, nodes.CollectList(this=sql.col(x))))
    outputs = _mean_outputs(stem, exact=exact) if mean else _sum_outputs(stem, exact=exact)
    # Only floats and doubles are looked at rank by rank: their sums can't be undone.
    spread = None if exact else sql.not_null(sql.col(x))
    return Accumulator(tuple(inputs), tuple(totals), outputs, NumberLayout(exact), spread)


def _result_kind(stem: str, whole: Kind, *, exact: bool) -> Sql:
    """Return the type of a sum: the widest of its terms, NULL after an error or an overflow."""
    kinds: list[tuple[Sql, Sql]] = [
        (_some(stem, "e"), sql.NULL.copy()),
        (sql.is_null(_total(stem)), sql.NULL.copy()),
    ]
    if not exact:
        kinds.append((_some(stem, "b"), sql.num(Kind.DOUBLE)))
        kinds.append((_some(stem, "f"), sql.num(Kind.FLOAT)))
    kinds.append((sql.equal(sql.col(f"{stem}_c"), sql.num(0)), sql.num(Kind.INTEGER)))
    kinds.append((sql.more(sql.col(f"{stem}_d"), sql.num(0)), sql.num(Kind.DECIMAL)))
    return sql.cast(sql.when(*kinds, otherwise=sql.num(whole)), "TINYINT")


def _some(stem: str, letter: str) -> Sql:
    """Tell whether there are errors (`e`), floats (`f`) or doubles (`b`)."""
    return sql.more(sql.col(f"{stem}_{letter}"), sql.num(0))


def _few(stem: str) -> Sql:
    """Tell whether no term, or as much below zero as above, was large."""
    return sql.equal(sql.col(f"{stem}_g"), sql.num(0))


def _total(stem: str) -> Sql:
    """Return the sum of all exact terms; NULL where it does not fit."""
    whole = nodes.DecimalTotal(this=sql.col(f"{stem}_s"), expression=sql.col(f"{stem}_g"))
    return sql.when((_few(stem), sql.cast(sql.col(f"{stem}_s"), sql.DECIMAL)), otherwise=whole)


def _double_total(stem: str) -> Sql:
    heads = sql.multiply(sql.cast(sql.col(f"{stem}_g"), "DOUBLE"), sql.cast(sql.num(_LARGE), "DOUBLE"))
    exact = sql.add(sql.cast(sql.col(f"{stem}_s"), "DOUBLE"), heads)
    return sql.add(exact, nodes.FoldDoubles(this=sql.col(f"{stem}_x")))


def _inexact(stem: str, value: Sql) -> Sql:
    """Return the value where a float or double took part, NULL after an error; else the decimal is the answer.

    Without a double it is a float, rounded once from the double it was added up in.
    """
    single = bind(value, lambda total: nodes.SinglePrecision(this=total))
    wrong = sql.any_of([_some(stem, "e"), sql.is_null(_total(stem))])
    return sql.when((wrong, sql.NULL.copy()), (_some(stem, "b"), value.copy()), (_some(stem, "f"), single))


def _decimal(stem: str, value: Sql, *, exact: bool) -> Sql:
    """Return the value where every term was exact, NULL after an error: equal answers have equal columns."""
    letters = "e" if exact else "ebf"
    return sql.when((sql.negate(sql.any_of([_some(stem, letter) for letter in letters])), value))


def _sum_outputs(stem: str, *, exact: bool) -> tuple[Sql, ...]:
    number = null_part(Part.NUMBER) if exact else _inexact(stem, _double_total(stem))
    return (
        sql.alias(_result_kind(stem, Kind.INTEGER, exact=exact), f"{stem}_kind"),
        sql.alias(number, f"{stem}_num"),
        sql.alias(_decimal(stem, _total(stem), exact=exact), f"{stem}_dec"),
    )


def _mean_outputs(stem: str, *, exact: bool) -> tuple[Sql, ...]:
    counted = sql.greatest(sql.cast(sql.col(f"{stem}_c"), "BIGINT"), sql.num(1))

    def quotient(total: Sql) -> Sql:
        return sql.cast(nodes.DecimalQuotient(this=total, expression=counted.copy()), sql.DECIMAL)

    few = quotient(sql.col(f"{stem}_s"))
    whole = nodes.DecimalTotal(this=sql.col(f"{stem}_s"), expression=sql.col(f"{stem}_g"))
    mean = sql.when((_few(stem), few), otherwise=bind(whole, quotient))
    if exact:
        number = null_part(Part.NUMBER)
    else:
        inexact = exp.Div(this=sql.paren(_double_total(stem)), expression=sql.cast(counted.copy(), "DOUBLE"))
        number = _inexact(stem, inexact)
    return (
        sql.alias(_result_kind(stem, Kind.DECIMAL, exact=exact), f"{stem}_kind"),
        sql.alias(number, f"{stem}_num"),
        sql.alias(_decimal(stem, mean, exact=exact), f"{stem}_dec"),
    )


def _extreme(stem: str, argument: Argument, function: type[exp.Min] | type[exp.Max]) -> Accumulator:
    """Return MIN or MAX: the first or last term in the order of terms, with all its parts."""
    name = f"{stem}_m"
    part = argument.part
    fields = [*term_order(part), *((f"part_{wanted.value}", part(wanted)) for wanted in Part)]
    term = sql.when((sql.not_null(part(Part.ID)), _struct(fields)))
    layout = EncodedLayout(frozenset(Part))
    inputs: list[tuple[str, Sql]] = [(name, term)]
    totals: list[tuple[str, Sql]] = [(name, function(this=sql.col(name)))]
    failed = _errors(stem, argument, inputs, totals)
    outputs = []
    for wanted in Part:
        value = exp.Dot(this=sql.col(name), expression=exp.to_identifier(f"part_{wanted.value}"))
        kept = value if failed is None else sql.when((sql.negate(failed.copy()), value))
        outputs.append(sql.alias(kept, column_name(stem, layout, wanted)))
    return Accumulator(tuple(inputs), tuple(totals), tuple(outputs), layout, sql.not_null(sql.col(name)))


def _struct(fields: list[tuple[str, Sql]]) -> Sql:
    return exp.Struct(
        expressions=[exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in fields]
    )


def _errors(stem: str, argument: Argument, inputs: list[tuple[str, Sql]], totals: list[tuple[str, Sql]]) -> Sql | None:
    """Add the number of rows without a term to the totals and return whether there are any; None if there can't be."""
    if argument.certain:
        return None
    name = f"{stem}_e"
    inputs.append((name, flag(argument.missing.copy())))
    totals.append((name, exp.Sum(this=sql.col(name))))
    return sql.more(sql.col(name), sql.num(0))


def concat_accumulator(stem: str, argument: Argument, lexical: Sql, separator: Sql) -> Accumulator:
    """Return GROUP_CONCAT: the lexical forms in the order of their terms; `lexical` is the text of a simple string."""
    name = f"{stem}_l"
    part = argument.part
    fields = [*term_order(part), ("joined", lexical_form(lexical))]
    # A blank node has no lexical form: an error, like a term that is missing.
    wrong = sql.all_of([sql.not_null(part(Part.ID)), sql.is_null(lexical.copy())])
    missing = sql.any_of([sql.paren(wrong), sql.paren(argument.missing.copy())])
    inputs: list[tuple[str, Sql]] = [(name, sql.when((sql.not_null(part(Part.ID)), _struct(fields))))]
    totals: list[tuple[str, Sql]] = [(name, nodes.CollectList(this=sql.col(name)))]
    failed = _errors(stem, Argument(part, missing), inputs, totals)
    assert failed is not None
    joined = nodes.JoinTexts(this=sql.col(name), expression=separator)
    outputs = (sql.alias(sql.when((sql.negate(failed), joined)), f"{stem}_lex"),)
    return Accumulator(tuple(inputs), tuple(totals), outputs, StringLayout(), sql.not_null(sql.col(name)))

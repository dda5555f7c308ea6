"""SQL trees as text for DuckDB."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.printers.common import (
    both,
    call,
    generator,
    kernel_call,
    let,
    let_name,
    points,
    round_decimal,
    safe_cast,
    sum_of,
)


def _floor_divide(self: Any, node: exp.Expression) -> str:
    value, by = both(self, node)
    return f"(({value}) - ((({value}) % {by}) + {by}) % {by}) // {by}"


def _quotient(self: Any, node: exp.Expression) -> str:
    value, by = both(self, node)
    one = "1000000000000000000::HUGEINT"
    whole = f"TRUNC({value})::HUGEINT"
    fraction = f"((({value}) - TRUNC({value}))::DECIMAL(18, 18) * 1000000000000000000::DECIMAL(19, 0))::HUGEINT"
    scaled = f"(({whole} * {one} + {fraction}) // ({by})::HUGEINT)"
    back = f"({scaled} % {one})::DECIMAL(18, 0) * 0.000000000000000001::DECIMAL(18, 18)"
    return f"(({scaled} // {one})::DECIMAL(20, 0)::DECIMAL(38, 18) + ({back})::DECIMAL(38, 18))::DECIMAL(38, 18)"


_HEAD = 10_000_000_000


def _head(self: Any, node: exp.Expression) -> str:
    return f"(TRUNC({self.sql(node, 'this')})::HUGEINT // {_HEAD})::BIGINT"


def _tail(self: Any, node: exp.Expression) -> str:
    return f"({self.sql(node, 'this')} - ({_head(self, node)}::HUGEINT * {_HEAD})::DECIMAL(38, 18))"


def _total(self: Any, node: exp.Expression) -> str:
    # By way of text: a number that does not fit then gives NULL.
    tail, head = both(self, node)

    heads = f"({head})::HUGEINT * {_HEAD}"

    def written(whole: str, fraction: str) -> str:
        return f"({whole})::TEXT || SUBSTRING(({fraction})::DECIMAL(19, 18)::TEXT, 2)"

    below, above = f"FLOOR({tail})::HUGEINT + {heads}", f"CEIL({tail})::HUGEINT + {heads}"
    positive = written(below, f"{tail} - FLOOR({tail})")
    negative = written(f"ABS({above})", f"CEIL({tail}) - {tail}")
    return f"TRY_CAST(CASE WHEN {below} >= 0 THEN {positive} ELSE '-' || {negative} END AS DECIMAL(38, 18))"


def _decimal_text(self: Any, node: exp.Expression) -> str:
    return f"RTRIM(RTRIM(CAST({self.sql(node, 'this')} AS TEXT), '0'), '.')"


def _double_string(self: Any, node: exp.Expression) -> str:
    return f"hydrograph_double_string({self.sql(node, 'this')}, {self.sql(node, 'single')})"


def _fold(self: Any, node: exp.Expression) -> str:
    return f"LIST_REDUCE(LIST_SORT({self.sql(node, 'this')}), LAMBDA a, x : a + x, 0::DOUBLE)"


def _collect(self: Any, node: exp.Expression) -> str:
    value = self.sql(node, "this")
    return f"COALESCE(LIST({value}) FILTER (WHERE NOT {value} IS NULL), [])"


def _join_texts(self: Any, node: exp.Expression) -> str:
    texts, separator = both(self, node)
    return f"ARRAY_TO_STRING(LIST_TRANSFORM(LIST_SORT({texts}), LAMBDA x : x.joined), {separator})"


def _ranks(self: Any, node: exp.Expression) -> str:
    start, end = both(self, node)
    return f"UNNEST(RANGE({start}, {end}))"


def _sum(self: Any, node: exp.Expression) -> str:
    left, right = both(self, node)
    sign = "-" if isinstance(node, nodes.DecimalDifference) else "+"
    return f"(TRY_CAST({left} AS DECIMAL(37, 18)) {sign} TRY_CAST({right} AS DECIMAL(37, 18)))"


def _product(self: Any, node: exp.Expression) -> str:
    left, right = both(self, node)

    def split(value: str) -> tuple[str, str]:
        return f"TRY_CAST(TRUNC({value}) AS DECIMAL(19, 0))", f"(({value}) - TRUNC({value}))::DECIMAL(18, 18)"

    (a, x), (b, y) = split(left), split(right)
    tail = f"TRUNC(({x}) * ({y}), 18)::DECIMAL(37, 18)"
    wholes = f"TRY_CAST(TRY(({a})::DECIMAL(38, 0) * ({b})::DECIMAL(38, 0)) AS DECIMAL(37, 18))"
    total = sum_of(wholes, f"TRY_CAST({a} * {y} AS DECIMAL(37, 18))", f"TRY_CAST({x} * {b} AS DECIMAL(37, 18))", tail)
    return f"({total})"


def _double_quotient(self: Any, node: exp.Expression) -> str:
    left, right = both(self, node)
    return f"(({left}) / ({right}))"


def _round_double(self: Any, node: exp.Expression) -> str:
    return f"{node.args['function']}({self.sql(node, 'this')})"


def _single(self: Any, node: exp.Expression) -> str:
    value = self.sql(node, "this")
    return (
        f"COALESCE(TRY_CAST({value} AS FLOAT)::DOUBLE, CASE WHEN {value} > 0 THEN CAST('Infinity' AS DOUBLE) "
        f"WHEN {value} < 0 THEN CAST('-Infinity' AS DOUBLE) END)"
    )


def _matches(self: Any, node: exp.Expression) -> str:
    value, pattern = both(self, node)
    return f"REGEXP_MATCHES({value}, {pattern}, '{node.args.get('flags') or 'c'}')"


def _digest(self: Any, node: exp.Expression) -> str:
    value, function = self.sql(node, "this"), node.args["function"]
    return f"{f'hydrograph_{function.lower()}' if function in ('SHA384', 'SHA512') else function}({value})"


def _parse_double(self: Any, node: exp.Expression) -> str:
    # What is too large is infinite.
    value = self.sql(node, "this")
    infinite = f"CASE WHEN LEFT({value}, 1) = '-' THEN CAST('-Infinity' AS DOUBLE) ELSE CAST('Infinity' AS DOUBLE) END"
    to = "FLOAT" if node.args["single"] else "DOUBLE"
    return f"COALESCE(CAST(TRY_CAST({value} AS {to}) AS DOUBLE), {infinite})"


GENERATOR = generator(
    DuckDB.Generator,
    {
        nodes.FloorDivide: _floor_divide,
        nodes.DecimalQuotient: _quotient,
        nodes.DecimalHead: _head,
        nodes.DecimalTail: _tail,
        nodes.DecimalTotal: _total,
        nodes.DecimalText: _decimal_text,
        # By way of text: a direct cast rounds twice.
        nodes.DecimalDouble: lambda self, node: f"CAST(CAST({self.sql(node, 'this')} AS TEXT) AS DOUBLE)",
        nodes.DoubleText: call("hydrograph_double_text"),
        nodes.SingleText: call("hydrograph_single_text"),
        nodes.DoubleString: _double_string,
        nodes.TermId: call("hydrograph_term_id"),
        nodes.FoldDoubles: _fold,
        nodes.CollectList: _collect,
        nodes.JoinTexts: _join_texts,
        nodes.IsNan: call("ISNAN"),
        nodes.RankRange: _ranks,
        nodes.SegmentPoints: points("UNNEST", "GENERATE_SERIES", "LIST_DISTINCT", ("[", "]")),
        nodes.SafeSum: call("SUM"),
        nodes.DecimalSum: _sum,
        nodes.DecimalDifference: _sum,
        nodes.DecimalProduct: _product,
        nodes.DoubleQuotient: _double_quotient,
        nodes.RoundDecimal: round_decimal,
        nodes.MinusDecimal: lambda self, node: f"(-({self.sql(node, 'this')}))",
        nodes.AbsDecimal: lambda self, node: f"ABS({self.sql(node, 'this')})",
        nodes.RoundDouble: _round_double,
        nodes.SinglePrecision: _single,
        nodes.TermSuffix: lambda self, node: f"SPLIT_PART({self.sql(node, 'this')}, '\"', -1)",
        nodes.Matches: _matches,
        nodes.ChangeCase: lambda self, node: f"hydrograph_{node.args['to']}({self.sql(node, 'this')})",
        nodes.TextDigest: _digest,
        nodes.HexNumber: lambda self, node: f"CAST('0x' || {self.sql(node, 'this')} AS BIGINT)",
        nodes.StripCharacters: lambda self, node: f"TRIM({self.sql(node, 'this')}, {self.sql(node, 'characters')})",
        nodes.ParseDouble: _parse_double,
        nodes.KernelCall: kernel_call,
        nodes.LetIn: lambda self, node: let(self, node, "LIST_TRANSFORM([{value}], LAMBDA {name} : {body})[1]"),
        nodes.MapItems: lambda self, node: let(self, node, "LIST_TRANSFORM([{value}], LAMBDA {name} : {body})"),
        nodes.ArrayItem: lambda self, node: f"{self.sql(node, 'this')}[{node.args['index'] + 1}]",
        nodes.WholeQuotient: lambda self, node: " // ".join(both(self, node)),
        nodes.LetName: let_name,
        # Hints speak of Spark's partitions and joins; there is nothing to say of them here.
        exp.Hint: lambda self, node: "",  # noqa: ARG005
        nodes.SafeCast: safe_cast,
    },
)

"""SQL trees as text for Spark or for DuckDB: the few places where the two differ are all here."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark

from hydrograph.compile import sql


class Target(Enum):
    """Who reads the text."""

    SPARK = "spark"
    DUCKDB = "duckdb"


_Printer = Callable[[Any, Any], str]


def _both(self: Any, node: exp.Expression) -> tuple[str, str]:
    return self.sql(node, "this"), self.sql(node, "expression")


_SHORT = 40


def _group(text: str) -> str:
    """Return an expression as one operand, for Spark.

    Its parser reads to the matching parenthesis before it knows whether rows, a query or an expression stands there,
    and keeps all it has read in memory for good. Of the arguments of a function there is nothing to find out.
    """
    return f"({text})" if len(text) <= _SHORT else f"COALESCE({text})"


def _spark_paren(self: Any, node: exp.Expression) -> str:
    return _group(self.sql(node, "this"))


_CALL = re.compile(r"[\w`]+\(")
_ATOM = re.compile(r"[\w.:`]+|'[^']*'")


def _is_call(text: str) -> bool:
    """Tell whether a text is one call of a function: the parenthesis after its name closes at the end."""
    if _CALL.match(text) is None:
        return False
    depth, quoted = 0, False
    for at, character in enumerate(text):
        if character == "'":
            quoted = not quoted
        elif not quoted and character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return at == len(text) - 1
    return False


def _to(text: str, type_: str) -> str:
    """Return a cast for Spark, as an operator: the parser would read on from `CAST(` as far as to its `AS`."""
    closed = _ATOM.fullmatch(text) is not None or _is_call(text)
    return f"{text if closed else _group(text)} :: {type_}"


def _spark_cast(self: Any, node: exp.Expression) -> str:
    value, type_ = self.sql(node, "this"), self.sql(node, "to")
    return f"{value} :: {type_}" if isinstance(node.this, exp.Cast) else _to(value, type_)


def _spark_case(self: Any, node: exp.Expression) -> str:
    """Print CASE as a call of a function: the parser would read on from `CASE WHEN` as far as to its `END`."""
    branches = [(self.sql(branch, "this"), self.sql(branch, "true")) for branch in node.args["ifs"]]
    if node.args.get("this") is not None:
        switch = self.sql(node, "this")
        branches = [(f"{switch} = {_group(value)}", result) for value, result in branches]
    default = node.args.get("default")
    return _choose(*branches, otherwise="" if default is None else self.sql(default))


def _choose(*branches: tuple[str, str], otherwise: str = "NULL") -> str:
    if len(branches) == 1:
        ((condition, value),) = branches
        return f"IF({condition}, {value}, {otherwise or 'NULL'})"
    arguments = [text for branch in branches for text in branch]
    return f"`when`({', '.join([*arguments, otherwise or 'NULL'])})"


def _spark_struct(self: Any, node: exp.Expression) -> str:
    fields = ", ".join(f"'{field.name}', {self.sql(field, 'expression')}" for field in node.expressions)
    return f"NAMED_STRUCT({fields})"


def _spark_anonymous(self: Any, node: exp.Expression) -> str:
    name = "`substring`" if node.name.lower() == "substring" else node.name.upper()
    return f"{name}({_arguments(self, node)})"


def _spark_concat(self: Any, node: exp.Expression) -> str:
    # Beside each other, not within: a chain of texts is one call.
    parts: list[str] = []
    left: Any = node
    while isinstance(left, exp.DPipe):
        parts.append(self.sql(left, "expression"))
        left = left.this
    return f"CONCAT({', '.join([self.sql(left), *reversed(parts)])})"


def _spark_floor_divide(self: Any, node: exp.Expression) -> str:
    value, by = _both(self, node)
    operand = _group(value)
    return f"{_group(f'{operand} - PMOD({value}, {by})')} DIV {by}"


def _duckdb_floor_divide(self: Any, node: exp.Expression) -> str:
    value, by = _both(self, node)
    return f"(({value}) - ((({value}) % {by}) + {by}) % {by}) // {by}"


_LAST_PLACE = "'0.000000000000000001' :: DECIMAL(18, 18)"


def _spark_quotient(self: Any, node: exp.Expression) -> str:
    # Spark's own quotient has 18 fraction digits, rounded half up: where that went away from zero, go one back.
    # The check multiplies exactly below 10^9; above, 18 digits are beyond what the product can hold.
    value, by = _both(self, node)
    quotient = f"TRY_CAST(TRY_DIVIDE({value}, {_to(by, 'DECIMAL(20, 0)')}) AS DECIMAL(38, 18))"
    product = f"TRY_CAST(ABS({quotient}) AS DECIMAL(27, 18)) * {_to(by, 'DECIMAL(10, 0)')}"
    step = f"SIGN({value}) :: DECIMAL(1, 0) * {_LAST_PLACE}"
    back = _to(f"TRY_CAST({quotient} AS DECIMAL(37, 18)) - {step}", "DECIMAL(38, 18)")
    return (
        # DECIMAL(38, 18) minus anything would lose a digit to Spark's rule for the result's precision.
        f"CASE WHEN {product} > ABS({value}) THEN {back} ELSE {quotient} END"
    )


def _duckdb_quotient(self: Any, node: exp.Expression) -> str:
    value, by = _both(self, node)
    one = "1000000000000000000::HUGEINT"
    whole = f"TRUNC({value})::HUGEINT"
    fraction = f"((({value}) - TRUNC({value}))::DECIMAL(18, 18) * 1000000000000000000::DECIMAL(19, 0))::HUGEINT"
    scaled = f"(({whole} * {one} + {fraction}) // ({by})::HUGEINT)"
    back = f"({scaled} % {one})::DECIMAL(18, 0) * 0.000000000000000001::DECIMAL(18, 18)"
    return f"(({scaled} // {one})::DECIMAL(20, 0)::DECIMAL(38, 18) + ({back})::DECIMAL(38, 18))::DECIMAL(38, 18)"


def _spark_decimal_text(self: Any, node: exp.Expression) -> str:
    # Where ANSI is off a cast writes small numbers as 1E-7: then whole and fraction are written as whole numbers.
    value = self.sql(node, "this")
    whole = f"FLOOR(ABS({value})) :: DECIMAL(20, 0)"
    fraction = f"TRY_CAST(ABS({value}) AS DECIMAL(37, 18)) - TRY_CAST({whole} AS DECIMAL(19, 0))"
    rest = f"{_to(fraction, 'DECIMAL(18, 18)')} * 1000000000000000000 :: DECIMAL(19, 0)"
    digits = f"LPAD({_to(rest, 'DECIMAL(18, 0)')} :: STRING, 18, '0')"
    sign, written = _choose((f"{value} < 0", "'-'"), otherwise="''"), _to(value, "STRING")
    plain = f"CONCAT({sign}, {whole} :: STRING, '.', {digits})"
    chosen = _choose((f"CONTAINS({written}, 'E')", plain), otherwise=written)
    return f"RTRIM('.', RTRIM('0', {chosen}))"


def _duckdb_decimal_text(self: Any, node: exp.Expression) -> str:
    return f"RTRIM(RTRIM(CAST({self.sql(node, 'this')} AS TEXT), '0'), '.')"


def _duckdb_double_string(self: Any, node: exp.Expression) -> str:
    return f"hydrograph_double_string({self.sql(node, 'this')}, {self.sql(node, 'single')})"


def _arguments(self: Any, node: exp.Expression) -> str:
    return ", ".join(self.sql(argument) for argument in node.expressions)


def _call(name: str) -> _Printer:
    def write(self: Any, node: exp.Expression) -> str:
        return f"{name}({self.sql(node, 'this')})"

    return write


def _spark_term_id(self: Any, node: exp.Expression) -> str:
    # Spark's hash of NULL is a number; an unbound term has no id.
    text = self.sql(node, "this")
    return f"IF({text} IS NULL, NULL, XXHASH64({text}))"


def _spark_double_kernel(kernel: str) -> _Printer:
    """Print a kernel that writes doubles; the sign of a zero never reaches it.

    Spark holds the constants 0.0 and -0.0 for equal, and calls a kernel once for both.
    """

    def write(self: Any, node: exp.Expression) -> str:
        value = self.sql(node, "this")
        more = f", {self.sql(node, 'single')}" if "single" in node.args else ""
        sign = _choose((f"{_to(value, 'STRING')} = '-0.0'", "'-'"), otherwise="''")
        return f"CONCAT({sign}, {kernel}({value} + 0 :: DOUBLE{more}))"

    return write


def _spark_fold(self: Any, node: exp.Expression) -> str:
    return f"AGGREGATE(ARRAY_SORT({self.sql(node, 'this')}), 0 :: DOUBLE, (a, x) -> a + x)"


def _duckdb_fold(self: Any, node: exp.Expression) -> str:
    return f"LIST_REDUCE(LIST_SORT({self.sql(node, 'this')}), LAMBDA a, x : a + x, 0::DOUBLE)"


def _duckdb_collect(self: Any, node: exp.Expression) -> str:
    value = self.sql(node, "this")
    return f"COALESCE(LIST({value}) FILTER (WHERE NOT {value} IS NULL), [])"


def _spark_join_texts(self: Any, node: exp.Expression) -> str:
    texts, separator = _both(self, node)
    return f"ARRAY_JOIN(TRANSFORM(ARRAY_SORT({texts}), x -> x.joined), {separator})"


def _duckdb_join_texts(self: Any, node: exp.Expression) -> str:
    texts, separator = _both(self, node)
    return f"ARRAY_TO_STRING(LIST_TRANSFORM(LIST_SORT({texts}), LAMBDA x : x.joined), {separator})"


def _points(explode: str, series: str, distinct: str, array: tuple[str, str]) -> _Printer:
    def write(self: Any, node: exp.Expression) -> str:
        start, end, every = (self.sql(node, name) for name in ("this", "to", "every"))
        some = f"{distinct}({array[0]}{_arguments(self, node)}{array[1]})"
        return f"{explode}(CASE WHEN {every} THEN {series}({start}, {end}) ELSE {some} END)"

    return write


def _spark_ranks(self: Any, node: exp.Expression) -> str:
    start, end = _both(self, node)
    return f"EXPLODE(SEQUENCE({start}, {_group(end)} - 1 :: BIGINT))"


def _duckdb_ranks(self: Any, node: exp.Expression) -> str:
    start, end = _both(self, node)
    return f"UNNEST(RANGE({start}, {end}))"


def _safe_cast(self: Any, node: exp.Expression) -> str:
    return f"TRY_CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})"


def _kernel_call(self: Any, node: exp.Expression) -> str:
    return f"{node.this}({_arguments(self, node)})"


def _let(self: Any, node: exp.Expression, template: str) -> str:
    """Print a name bound in an expression; names go by depth, so that the text does not depend on what came before."""
    value = _arguments(self, node) if isinstance(node, sql.Each) else self.sql(node, "this")
    names: dict[int, str] = self.__dict__.setdefault("hydrograph_names", {})
    names[node.args["key"]] = name = f"x{len(names)}"
    body = self.sql(node, "expression")
    del names[node.args["key"]]
    return template.format(value=value, name=name, body=body)


def _let_name(self: Any, node: exp.Expression) -> str:
    return str(self.hydrograph_names[node.args["key"]])


def _spark_sum(self: Any, node: exp.Expression) -> str:
    # Of DECIMAL(38, 18) Spark would make a sum of 17 fraction digits.
    left, right = _both(self, node)
    return _group(f"TRY_CAST({left} AS DECIMAL(37, 18)) + TRY_CAST({right} AS DECIMAL(37, 18))")


def _spark_product(self: Any, node: exp.Expression) -> str:
    left, right = _both(self, node)

    # Every product here has at most 38 digits: of more, Spark would round the last ones away.
    def split(value: str) -> tuple[str, str]:
        whole = f"TRY_CAST(SIGN({value}) * FLOOR(ABS({value})) AS DECIMAL(19, 0))"
        return whole, _to(f"TRY_CAST({value} AS DECIMAL(37, 18)) - {whole}", "DECIMAL(18, 18)")

    (a, x), (b, y) = split(left), split(right)
    tail = _group(f"{x} * {y}")
    cut = _to(f"{tail} - {tail} % {_LAST_PLACE}", "DECIMAL(37, 18)")
    wholes = f"TRY_CAST(TRY_MULTIPLY({a}, {b}) AS DECIMAL(37, 18))"
    return _group(
        _sum_of(wholes, f"TRY_CAST({a} * {y} AS DECIMAL(37, 18))", f"TRY_CAST({x} * {b} AS DECIMAL(37, 18))", cut)
    )


def _sum_of(first: str, second: str, third: str, fourth: str) -> str:
    """Return a sum of decimals that is NULL with more than 19 digits before the point."""
    pairs = f"{first} + {second}", f"{third} + {fourth}"
    return " + ".join(f"TRY_CAST({pair} AS DECIMAL(37, 18))" for pair in pairs)


def _duckdb_sum(self: Any, node: exp.Expression) -> str:
    left, right = _both(self, node)
    return f"(TRY_CAST({left} AS DECIMAL(37, 18)) + TRY_CAST({right} AS DECIMAL(37, 18)))"


def _duckdb_product(self: Any, node: exp.Expression) -> str:
    left, right = _both(self, node)

    def split(value: str) -> tuple[str, str]:
        return f"TRY_CAST(TRUNC({value}) AS DECIMAL(19, 0))", f"(({value}) - TRUNC({value}))::DECIMAL(18, 18)"

    (a, x), (b, y) = split(left), split(right)
    tail = f"TRUNC(({x}) * ({y}), 18)::DECIMAL(37, 18)"
    wholes = f"TRY_CAST(TRY(({a})::DECIMAL(38, 0) * ({b})::DECIMAL(38, 0)) AS DECIMAL(37, 18))"
    total = _sum_of(wholes, f"TRY_CAST({a} * {y} AS DECIMAL(37, 18))", f"TRY_CAST({x} * {b} AS DECIMAL(37, 18))", tail)
    return f"({total})"


def _spark_double_quotient(self: Any, node: exp.Expression) -> str:
    # Spark's / gives NULL, or under ANSI an error, for a divisor of zero.
    left, right = _both(self, node)
    negative = f"STARTSWITH({_to(right, 'DOUBLE')} :: STRING, '-')"
    infinite = _choose((negative, "'-Infinity'"), otherwise="'Infinity'")
    by_zero = _choose(
        (f"{left} = 0 OR ISNAN({left})", "'NaN' :: DOUBLE"), otherwise=f"SIGN({left}) * {infinite} :: DOUBLE"
    )
    return _choose((f"{right} = 0", by_zero), otherwise=f"TRY_DIVIDE({left}, {right})")


def _duckdb_double_quotient(self: Any, node: exp.Expression) -> str:
    left, right = _both(self, node)
    return f"(({left}) / ({right}))"


def _round_decimal(self: Any, node: exp.Expression) -> str:
    return f"TRY_CAST({node.args['function']}({self.sql(node, 'this')}) AS DECIMAL(38, 18))"


def _spark_round_double(self: Any, node: exp.Expression) -> str:
    # Spark's functions give BIGINT: from 2^52 on every double is whole, and below zero stays negative.
    value = self.sql(node, "this")
    rounded = f"{node.args['function']}({value}) :: DOUBLE"
    return _choose(
        (f"ISNAN({value}) OR ABS({value}) >= 4503599627370496 OR {value} = 0", value),
        (f"{value} < 0 AND {rounded} = 0", "'-0.0' :: DOUBLE"),
        otherwise=rounded,
    )


def _duckdb_round_double(self: Any, node: exp.Expression) -> str:
    return f"{node.args['function']}({self.sql(node, 'this')})"


def _duckdb_single(self: Any, node: exp.Expression) -> str:
    value = self.sql(node, "this")
    return (
        f"COALESCE(TRY_CAST({value} AS FLOAT)::DOUBLE, CASE WHEN {value} > 0 THEN CAST('Infinity' AS DOUBLE) "
        f"WHEN {value} < 0 THEN CAST('-Infinity' AS DOUBLE) END)"
    )


def _spark_matches(self: Any, node: exp.Expression) -> str:
    value, pattern = _both(self, node)
    flags = "(?iu)" if node.args.get("flags") else ""
    if node.args.get("safe") is False:
        return f"hydrograph_match({value}, {pattern}, '{node.args.get('flags')}')"
    return _group(f"{value} RLIKE CONCAT('{flags}', {pattern})" if flags else f"{value} RLIKE {pattern}")


def _duckdb_matches(self: Any, node: exp.Expression) -> str:
    value, pattern = _both(self, node)
    return f"REGEXP_MATCHES({value}, {pattern}, '{node.args.get('flags') or 'c'}')"


def _spark_digest(self: Any, node: exp.Expression) -> str:
    value, function = self.sql(node, "this"), node.args["function"]
    return f"{function}({value})" if function in ("MD5", "SHA1") else f"SHA2({value}, {function[3:]})"


def _duckdb_digest(self: Any, node: exp.Expression) -> str:
    value, function = self.sql(node, "this"), node.args["function"]
    return f"{f'hydrograph_{function.lower()}' if function in ('SHA384', 'SHA512') else function}({value})"


def _duckdb_parse_double(self: Any, node: exp.Expression) -> str:
    # What is too large is infinite.
    value = self.sql(node, "this")
    infinite = f"CASE WHEN LEFT({value}, 1) = '-' THEN CAST('-Infinity' AS DOUBLE) ELSE CAST('Infinity' AS DOUBLE) END"
    to = "FLOAT" if node.args["single"] else "DOUBLE"
    return f"COALESCE(CAST(TRY_CAST({value} AS {to}) AS DOUBLE), {infinite})"


def _spark_parse_double(self: Any, node: exp.Expression) -> str:
    to = "FLOAT" if node.args["single"] else "DOUBLE"
    return f"TRY_CAST({self.sql(node, 'this')} AS {to}) :: DOUBLE"


def _generator(base: Any, printers: dict[Any, _Printer]) -> Any:
    return type("Generator", (base,), {"TRANSFORMS": {**base.TRANSFORMS, **printers}})


_SPARK = _generator(
    Spark.Generator,
    {
        exp.Paren: _spark_paren,
        exp.DPipe: _spark_concat,
        exp.Cast: _spark_cast,
        exp.Case: _spark_case,
        exp.Struct: _spark_struct,
        exp.Anonymous: _spark_anonymous,
        sql.FloorDivide: _spark_floor_divide,
        sql.DecimalQuotient: _spark_quotient,
        sql.DecimalText: _spark_decimal_text,
        sql.DecimalDouble: lambda self, node: _to(self.sql(node, "this"), "DOUBLE"),
        sql.DoubleText: _spark_double_kernel("hydrograph_double_text"),
        sql.SingleText: _spark_double_kernel("hydrograph_single_text"),
        sql.DoubleString: _spark_double_kernel("hydrograph_double_string"),
        sql.TermId: _spark_term_id,
        sql.RowHash: lambda self, node: f"XXHASH64({_arguments(self, node)})",
        sql.FoldDoubles: _spark_fold,
        sql.CollectList: _call("COLLECT_LIST"),
        sql.JoinTexts: _spark_join_texts,
        sql.IsNan: _call("ISNAN"),
        sql.RankRange: _spark_ranks,
        sql.Points: _points("EXPLODE", "SEQUENCE", "ARRAY_DISTINCT", ("ARRAY(", ")")),
        sql.SafeSum: _call("TRY_SUM"),
        sql.DecimalSum: _spark_sum,
        sql.DecimalProduct: _spark_product,
        sql.DoubleQuotient: _spark_double_quotient,
        sql.RoundDecimal: _round_decimal,
        sql.RoundDouble: _spark_round_double,
        sql.Single: lambda self, node: f"{_to(self.sql(node, 'this'), 'FLOAT')} :: DOUBLE",
        sql.TermSuffix: lambda self, node: f"SUBSTRING_INDEX({self.sql(node, 'this')}, '\"', -1)",
        sql.Matches: _spark_matches,
        sql.ChangeCase: lambda self, node: f"{node.args['to'].upper()}({self.sql(node, 'this')})",
        sql.Digest: _spark_digest,
        sql.HexNumber: lambda self, node: f"CONV({self.sql(node, 'this')}, 16, 10) :: BIGINT",
        sql.Strip: lambda self, node: f"BTRIM({self.sql(node, 'this')}, {self.sql(node, 'characters')})",
        sql.ParseDouble: _spark_parse_double,
        sql.KernelCall: _kernel_call,
        sql.LetIn: lambda self, node: _let(self, node, "TRANSFORM(ARRAY({value}), {name} -> {body})[0]"),
        sql.Each: lambda self, node: _let(self, node, "TRANSFORM(ARRAY({value}), {name} -> {body})"),
        sql.Item: lambda self, node: f"{self.sql(node, 'this')}[{node.args['index']}]",
        sql.WholeQuotient: lambda self, node: " DIV ".join(_both(self, node)),
        sql.LetName: _let_name,
        sql.SafeCast: _safe_cast,
    },
)

_DUCKDB = _generator(
    DuckDB.Generator,
    {
        sql.FloorDivide: _duckdb_floor_divide,
        sql.DecimalQuotient: _duckdb_quotient,
        sql.DecimalText: _duckdb_decimal_text,
        # By way of text: a direct cast rounds twice.
        sql.DecimalDouble: lambda self, node: f"CAST(CAST({self.sql(node, 'this')} AS TEXT) AS DOUBLE)",
        sql.DoubleText: _call("hydrograph_double_text"),
        sql.SingleText: _call("hydrograph_single_text"),
        sql.DoubleString: _duckdb_double_string,
        sql.TermId: _call("hydrograph_term_id"),
        sql.FoldDoubles: _duckdb_fold,
        sql.CollectList: _duckdb_collect,
        sql.JoinTexts: _duckdb_join_texts,
        sql.IsNan: _call("ISNAN"),
        sql.RankRange: _duckdb_ranks,
        sql.Points: _points("UNNEST", "GENERATE_SERIES", "LIST_DISTINCT", ("[", "]")),
        sql.SafeSum: _call("SUM"),
        sql.DecimalSum: _duckdb_sum,
        sql.DecimalProduct: _duckdb_product,
        sql.DoubleQuotient: _duckdb_double_quotient,
        sql.RoundDecimal: _round_decimal,
        sql.RoundDouble: _duckdb_round_double,
        sql.Single: _duckdb_single,
        sql.TermSuffix: lambda self, node: f"SPLIT_PART({self.sql(node, 'this')}, '\"', -1)",
        sql.Matches: _duckdb_matches,
        sql.ChangeCase: lambda self, node: f"hydrograph_{node.args['to']}({self.sql(node, 'this')})",
        sql.Digest: _duckdb_digest,
        sql.HexNumber: lambda self, node: f"CAST('0x' || {self.sql(node, 'this')} AS BIGINT)",
        sql.Strip: lambda self, node: f"TRIM({self.sql(node, 'this')}, {self.sql(node, 'characters')})",
        sql.ParseDouble: _duckdb_parse_double,
        sql.KernelCall: _kernel_call,
        sql.LetIn: lambda self, node: _let(self, node, "LIST_TRANSFORM([{value}], LAMBDA {name} : {body})[1]"),
        sql.Each: lambda self, node: _let(self, node, "LIST_TRANSFORM([{value}], LAMBDA {name} : {body})"),
        sql.Item: lambda self, node: f"{self.sql(node, 'this')}[{node.args['index'] + 1}]",
        sql.WholeQuotient: lambda self, node: " // ".join(_both(self, node)),
        sql.LetName: _let_name,
        # Hints speak of Spark's partitions and joins; there is nothing to say of them here.
        exp.Hint: lambda self, node: "",  # noqa: ARG005
        sql.SafeCast: _safe_cast,
    },
)


def print_sql(tree: exp.Expr, target: Target, *, pretty: bool = False) -> str:
    """Return the text of `tree`; whatever a target can't say is an error, never left out."""
    match target:
        case Target.SPARK:
            generator = _SPARK(dialect="spark", pretty=pretty, unsupported_level=ErrorLevel.RAISE)
        case Target.DUCKDB:
            generator = _DUCKDB(dialect="duckdb", pretty=pretty, unsupported_level=ErrorLevel.RAISE)
    return str(generator.generate(tree, copy=False))

"""SQL trees as text for Spark.

Its parser has alternatives that it can tell apart only by reading on, as far as to a closing parenthesis, an AS or an
END, and it keeps in memory for good what it has read on the way. So what is often nested is written without them.
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.printers.common import (
    Printer,
    arguments,
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

_SHORT = 40


def _group(text: str) -> str:
    """Return an expression as one operand: from a parenthesis the parser reads on as far as to its end."""
    return f"({text})" if len(text) <= _SHORT else f"COALESCE({text})"


def _paren(self: Any, node: exp.Expression) -> str:
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
    """Return a cast, as an operator: the parser would read on from `CAST(` as far as to its `AS`."""
    closed = _ATOM.fullmatch(text) is not None or _is_call(text)
    return f"{text if closed else _group(text)} :: {type_}"


def _cast(self: Any, node: exp.Expression) -> str:
    value, type_ = self.sql(node, "this"), self.sql(node, "to")
    return f"{value} :: {type_}" if isinstance(node.this, exp.Cast) else _to(value, type_)


def _case(self: Any, node: exp.Expression) -> str:
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
    alternatives = [text for branch in branches for text in branch]
    return f"`when`({', '.join([*alternatives, otherwise or 'NULL'])})"


def _struct(self: Any, node: exp.Expression) -> str:
    fields = ", ".join(f"'{field.name}', {self.sql(field, 'expression')}" for field in node.expressions)
    return f"NAMED_STRUCT({fields})"


def _anonymous(self: Any, node: exp.Expression) -> str:
    name = "`substring`" if node.name.lower() == "substring" else node.name.upper()
    return f"{name}({arguments(self, node)})"


def _concat(self: Any, node: exp.Expression) -> str:
    # Beside each other, not within: a chain of texts is one call.
    parts: list[str] = []
    left: Any = node
    while isinstance(left, exp.DPipe):
        parts.append(self.sql(left, "expression"))
        left = left.this
    return f"CONCAT({', '.join([self.sql(left), *reversed(parts)])})"


def _floor_divide(self: Any, node: exp.Expression) -> str:
    value, by = both(self, node)
    operand = _group(value)
    return f"{_group(f'{operand} - PMOD({value}, {by})')} DIV {by}"


_LAST_PLACE = "'0.000000000000000001' :: DECIMAL(18, 18)"


def _quotient(self: Any, node: exp.Expression) -> str:
    # Spark's own quotient has 18 fraction digits, rounded half up: where that went away from zero, go one back.
    value, by = both(self, node)
    quotient = f"TRY_CAST(TRY_DIVIDE({value}, {_to(by, 'DECIMAL(20, 0)')}) AS DECIMAL(38, 18))"
    unit = f"{_to(by, 'DECIMAL(19, 0)')} * {_LAST_PLACE}"
    rest = _to(f"{value} % ({unit})", "DECIMAL(20, 18)")
    step = f"SIGN({value}) :: DECIMAL(1, 0) * {_LAST_PLACE}"
    # DECIMAL(38, 18) minus anything would lose a digit to Spark's rule for the result's precision: from 10^19 on the
    # quotient stays rounded.
    back = f"COALESCE({_to(f'TRY_CAST({quotient} AS DECIMAL(37, 18)) - {step}', 'DECIMAL(38, 18)')}, {quotient})"
    return _choose((f"ABS({rest}) * 2 :: DECIMAL(1, 0) >= {unit}", back), otherwise=quotient)


_HEAD = "10000000000 :: DECIMAL(11, 0)"


def _head(self: Any, node: exp.Expression) -> str:
    return f"({self.sql(node, 'this')} DIV {_HEAD})"


def _tail(self: Any, node: exp.Expression) -> str:
    return _to(f"{self.sql(node, 'this')} % {_HEAD}", "DECIMAL(38, 18)")


def _total(self: Any, node: exp.Expression) -> str:
    # By way of text: Spark's sum of 20 digits before the point and 18 behind it would have 17 behind it.
    tail, head = both(self, node)
    heads = f"{_to(head, 'DECIMAL(20, 0)')} * {_HEAD}"

    def fraction(value: str) -> str:
        part = _to(f"PMOD({value}, 1 :: DECIMAL(1, 0))", "DECIMAL(18, 18)")
        return f"LPAD({_to(f'{part} * 1000000000000000000 :: DECIMAL(19, 0)', 'DECIMAL(18, 0)')} :: STRING, 18, '0')"

    below, above = f"FLOOR({tail}) + {heads}", f"CEIL({tail}) + {heads}"
    positive = f"CONCAT({_to(below, 'STRING')}, '.', {fraction(tail)})"
    negative = f"CONCAT('-', {_to(f'ABS({above})', 'STRING')}, '.', {fraction(f'-{tail}')})"
    return f"TRY_CAST({_choose((f'{below} >= 0', positive), otherwise=negative)} AS DECIMAL(38, 18))"


def _decimal_text(self: Any, node: exp.Expression) -> str:
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


def _term_id(self: Any, node: exp.Expression) -> str:
    # Spark's hash of NULL is a number; an unbound term has no id.
    text = self.sql(node, "this")
    return f"IF({text} IS NULL, NULL, XXHASH64({text}))"


def _double_kernel(kernel: str) -> Printer:
    """Print a kernel that writes doubles; the sign of a zero never reaches it.

    Spark holds the constants 0.0 and -0.0 for equal, and calls a kernel once for both.
    """

    def write(self: Any, node: exp.Expression) -> str:
        value = self.sql(node, "this")
        more = f", {self.sql(node, 'single')}" if "single" in node.args else ""
        sign = _choose((f"{_to(value, 'STRING')} = '-0.0'", "'-'"), otherwise="''")
        return f"CONCAT({sign}, {kernel}({value} + 0 :: DOUBLE{more}))"

    return write


def _fold(self: Any, node: exp.Expression) -> str:
    return f"AGGREGATE(ARRAY_SORT({self.sql(node, 'this')}), 0 :: DOUBLE, (a, x) -> a + x)"


def _join_texts(self: Any, node: exp.Expression) -> str:
    texts, separator = both(self, node)
    return f"ARRAY_JOIN(TRANSFORM(ARRAY_SORT({texts}), x -> x.joined), {separator})"


def _ranks(self: Any, node: exp.Expression) -> str:
    start, end = both(self, node)
    return f"EXPLODE(SEQUENCE({start}, {_group(end)} - 1 :: BIGINT))"


def _sum(self: Any, node: exp.Expression) -> str:
    # Of DECIMAL(38, 18) Spark would make a sum of 17 fraction digits.
    left, right = both(self, node)
    sign = "-" if isinstance(node, nodes.DecimalDifference) else "+"
    return _group(f"TRY_CAST({left} AS DECIMAL(37, 18)) {sign} TRY_CAST({right} AS DECIMAL(37, 18))")


def _unsigned(value: str) -> str:
    """Return a number below zero without its sign, by way of text: Spark's ABS and minus round to 34 digits."""
    return f"TRY_CAST(SUBSTRING({_to(value, 'STRING')}, 2) AS DECIMAL(38, 18))"


def _absolute(self: Any, node: exp.Expression) -> str:
    value = self.sql(node, "this")
    return _choose((f"{value} < 0", _unsigned(value)), otherwise=value)


def _minus(self: Any, node: exp.Expression) -> str:
    value = self.sql(node, "this")
    signed = f"TRY_CAST(CONCAT('-', {_to(value, 'STRING')}) AS DECIMAL(38, 18))"
    return _choose((f"{value} < 0", _unsigned(value)), otherwise=signed)


def _product(self: Any, node: exp.Expression) -> str:
    left, right = both(self, node)

    # Every product here has at most 38 digits: of more, Spark would round the last ones away.
    def split(value: str) -> tuple[str, str]:
        whole = f"TRY_CAST(SIGN({value}) * FLOOR(ABS({value})) AS DECIMAL(19, 0))"
        return whole, _to(f"TRY_CAST({value} AS DECIMAL(37, 18)) - {whole}", "DECIMAL(18, 18)")

    (a, x), (b, y) = split(left), split(right)
    tail = _group(f"{x} * {y}")
    cut = _to(f"{tail} - {tail} % {_LAST_PLACE}", "DECIMAL(37, 18)")
    wholes = f"TRY_CAST(TRY_MULTIPLY({a}, {b}) AS DECIMAL(37, 18))"
    return _group(
        sum_of(wholes, f"TRY_CAST({a} * {y} AS DECIMAL(37, 18))", f"TRY_CAST({x} * {b} AS DECIMAL(37, 18))", cut)
    )


def _double_quotient(self: Any, node: exp.Expression) -> str:
    # Spark's / gives NULL, or under ANSI an error, for a divisor of zero.
    left, right = both(self, node)
    negative = f"STARTSWITH({_to(right, 'DOUBLE')} :: STRING, '-')"
    infinite = _choose((negative, "'-Infinity'"), otherwise="'Infinity'")
    by_zero = _choose(
        (f"{left} = 0 OR ISNAN({left})", "'NaN' :: DOUBLE"), otherwise=f"SIGN({left}) * {infinite} :: DOUBLE"
    )
    return _choose((f"{right} = 0", by_zero), otherwise=f"TRY_DIVIDE({left}, {right})")


def _round_double(self: Any, node: exp.Expression) -> str:
    # Spark's functions give BIGINT: from 2^52 on every double is whole, and below zero stays negative.
    value = self.sql(node, "this")
    rounded = f"{node.args['function']}({value}) :: DOUBLE"
    return _choose(
        (f"ISNAN({value}) OR ABS({value}) >= 4503599627370496 OR {value} = 0", value),
        (f"{value} < 0 AND {rounded} = 0", "'-0.0' :: DOUBLE"),
        otherwise=rounded,
    )


def _matches(self: Any, node: exp.Expression) -> str:
    value, pattern = both(self, node)
    flags = "(?iu)" if node.args.get("flags") else ""
    if node.args.get("safe") is False:
        return f"hydrograph_match({value}, {pattern}, '{node.args.get('flags')}')"
    return _group(f"{value} RLIKE CONCAT('{flags}', {pattern})" if flags else f"{value} RLIKE {pattern}")


def _digest(self: Any, node: exp.Expression) -> str:
    value, function = self.sql(node, "this"), node.args["function"]
    return f"{function}({value})" if function in ("MD5", "SHA1") else f"SHA2({value}, {function[3:]})"


def _parse_double(self: Any, node: exp.Expression) -> str:
    to = "FLOAT" if node.args["single"] else "DOUBLE"
    return f"TRY_CAST({self.sql(node, 'this')} AS {to}) :: DOUBLE"


GENERATOR = generator(
    Spark.Generator,
    {
        exp.Paren: _paren,
        exp.DPipe: _concat,
        exp.Cast: _cast,
        exp.Case: _case,
        exp.Struct: _struct,
        exp.Anonymous: _anonymous,
        nodes.FloorDivide: _floor_divide,
        nodes.DecimalQuotient: _quotient,
        nodes.DecimalHead: _head,
        nodes.DecimalTail: _tail,
        nodes.DecimalTotal: _total,
        nodes.DecimalText: _decimal_text,
        nodes.DecimalDouble: lambda self, node: _to(self.sql(node, "this"), "DOUBLE"),
        nodes.DoubleText: _double_kernel("hydrograph_double_text"),
        nodes.SingleText: _double_kernel("hydrograph_single_text"),
        nodes.DoubleString: _double_kernel("hydrograph_double_string"),
        nodes.TermId: _term_id,
        nodes.RowHash: lambda self, node: f"XXHASH64({arguments(self, node)})",
        nodes.FoldDoubles: _fold,
        nodes.CollectList: call("COLLECT_LIST"),
        nodes.JoinTexts: _join_texts,
        nodes.IsNan: call("ISNAN"),
        nodes.RankRange: _ranks,
        nodes.SegmentPoints: points("EXPLODE", "SEQUENCE", "ARRAY_DISTINCT", ("ARRAY(", ")")),
        nodes.SafeSum: call("TRY_SUM"),
        nodes.DecimalSum: _sum,
        nodes.DecimalDifference: _sum,
        nodes.DecimalProduct: _product,
        nodes.DoubleQuotient: _double_quotient,
        nodes.RoundDecimal: round_decimal,
        nodes.MinusDecimal: _minus,
        nodes.AbsDecimal: _absolute,
        nodes.RoundDouble: _round_double,
        nodes.SinglePrecision: lambda self, node: f"{_to(self.sql(node, 'this'), 'FLOAT')} :: DOUBLE",
        nodes.TermSuffix: lambda self, node: f"SUBSTRING_INDEX({self.sql(node, 'this')}, '\"', -1)",
        nodes.Matches: _matches,
        nodes.ChangeCase: lambda self, node: f"{node.args['to'].upper()}({self.sql(node, 'this')})",
        nodes.TextDigest: _digest,
        nodes.HexNumber: lambda self, node: f"CONV({self.sql(node, 'this')}, 16, 10) :: BIGINT",
        nodes.StripCharacters: lambda self, node: f"BTRIM({self.sql(node, 'this')}, {self.sql(node, 'characters')})",
        nodes.ParseDouble: _parse_double,
        nodes.KernelCall: kernel_call,
        nodes.LetIn: lambda self, node: let(self, node, "TRANSFORM(ARRAY({value}), {name} -> {body})[0]"),
        nodes.MapItems: lambda self, node: let(self, node, "TRANSFORM(ARRAY({value}), {name} -> {body})"),
        nodes.ArrayItem: lambda self, node: f"{self.sql(node, 'this')}[{node.args['index']}]",
        nodes.WholeQuotient: lambda self, node: " DIV ".join(both(self, node)),
        nodes.LetName: let_name,
        nodes.SafeCast: safe_cast,
    },
)

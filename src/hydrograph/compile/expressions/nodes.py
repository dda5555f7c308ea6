"""Nodes of expressions that Spark and DuckDB spell differently."""

# ruff: noqa: RUF012 -- `arg_types` is how sqlglot's nodes declare their arguments

from __future__ import annotations

from sqlglot import exp


class DoubleString(exp.Expression):
    """The xsd:string of a double, or of a number of single precision where `single` holds; a kernel."""

    arg_types = {"this": True, "single": True}


class DecimalSum(exp.Expression):
    """`this + expression` of two DECIMAL(38,18); NULL where an operand has more than 19 digits before the point."""

    arg_types = {"this": True, "expression": True}


class DecimalDifference(exp.Expression):
    """`this - expression`, as `DecimalSum`."""

    arg_types = {"this": True, "expression": True}


class DecimalProduct(exp.Expression):
    """`this * expression` of two DECIMAL(38,18), cut off after 18 places; NULL beyond 19 digits before the point."""

    arg_types = {"this": True, "expression": True}


class DoubleQuotient(exp.Expression):
    """`this / expression` of two doubles as IEEE 754 has it: infinities and NaN, never an error."""

    arg_types = {"this": True, "expression": True}


class RoundDecimal(exp.Expression):
    """A DECIMAL(38,18) rounded by `function`: FLOOR or CEIL."""

    arg_types = {"this": True, "function": True}


class AbsDecimal(exp.Expression):
    """A DECIMAL(38,18) without its sign."""

    arg_types = {"this": True}


class MinusDecimal(exp.Expression):
    """A DECIMAL(38,18) with the other sign."""

    arg_types = {"this": True}


class RoundDouble(exp.Expression):
    """A double rounded by `function`: FLOOR or CEIL; infinities, NaN and the sign of zero stay."""

    arg_types = {"this": True, "function": True}


class Single(exp.Expression):
    """A double rounded to single precision; infinite where that overflows."""

    arg_types = {"this": True}


class TermSuffix(exp.Expression):
    """What follows the last quote of a literal's canonical text: nothing, `@tag` or `^^<datatype>`."""

    arg_types = {"this": True}


class Matches(exp.Expression):
    """Whether a translated regular expression is found in a text; `flags` is `i` or empty.

    One that is not `safe` is a kernel for Spark, because Java could backtrack without end.
    """

    arg_types = {"this": True, "expression": True, "flags": False, "safe": False}


class ChangeCase(exp.Expression):
    """A text in upper or lower case by Unicode's full mapping; a kernel for DuckDB, which maps single characters."""

    arg_types = {"this": True, "to": True}


class Digest(exp.Expression):
    """The hexadecimal digest of a text; SHA384 and SHA512 are kernels for DuckDB."""

    arg_types = {"this": True, "function": True}


class Strip(exp.Expression):
    """A text without the `characters` at both ends."""

    arg_types = {"this": True, "characters": True}


class ParseDouble(exp.Expression):
    """The double, or with `single` the single-precision number, of a text that is a well-formed number."""

    arg_types = {"this": True, "single": True}


class HexNumber(exp.Expression):
    """The BIGINT of up to 15 hexadecimal digits."""

    arg_types = {"this": True}


class IsNan(exp.Expression):
    """Whether a double is not a number; NULL for NULL."""

    arg_types = {"this": True}

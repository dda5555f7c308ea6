"""SQL nodes that Spark and DuckDB spell differently: each has a printer in `printers.spark` and `printers.duckdb`."""

from __future__ import annotations

from sqlglot import exp

# ruff: noqa: RUF012 -- `arg_types` is how sqlglot's nodes declare their arguments


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


class SinglePrecision(exp.Expression):
    """A double rounded to single precision; infinite where that overflows."""

    arg_types = {"this": True}


class TermSuffix(exp.Expression):
    """Suffix of a literal's canonical text behind its last quote: nothing, `@tag` or `^^<datatype>`."""

    arg_types = {"this": True}


class Matches(exp.Expression):
    """Test that a translated regular expression matches a part of a text; `flags` is `i` or empty.

    One that is not `safe` is a kernel for Spark, because Java could backtrack without end.
    """

    arg_types = {"this": True, "expression": True, "flags": False, "safe": False}


class ChangeCase(exp.Expression):
    """A text in upper or lower case by Unicode's full mapping; a kernel for DuckDB, which maps single characters."""

    arg_types = {"this": True, "to": True}


class TextDigest(exp.Expression):
    """The hexadecimal digest of a text; SHA384 and SHA512 are kernels for DuckDB."""

    arg_types = {"this": True, "function": True}


class StripCharacters(exp.Expression):
    """A text without the `characters` at both ends."""

    arg_types = {"this": True, "characters": True}


class ParseDouble(exp.Expression):
    """The double, or with `single` the single-precision number, of a text that is a well-formed number."""

    arg_types = {"this": True, "single": True}


class HexNumber(exp.Expression):
    """The BIGINT of up to 15 hexadecimal digits."""

    arg_types = {"this": True}


class IsNan(exp.Expression):
    """Test that a double is NaN; NULL for NULL."""

    arg_types = {"this": True}


class LetIn(exp.Expression):
    """`expression`, in which `LetName` nodes with the same key stand for `this`."""

    arg_types = {"this": True, "expression": True, "key": True}


class LetName(exp.Expression):
    """A name bound by the `LetIn` around it."""

    arg_types = {"key": True}


class MapItems(exp.Expression):
    """An array: `expression` for each of `expressions`, for which `LetName` nodes with the same key stand."""

    arg_types = {"expressions": True, "expression": True, "key": True}


class ArrayItem(exp.Expression):
    """An element of an array, by its index from 0."""

    arg_types = {"this": True, "index": True}


class FloorDivide(exp.Expression):
    """Integer division rounded down, exact for every BIGINT (S8); `x / b` in floating point is wrong past 2^53."""

    arg_types = {"this": True, "expression": True}


class DecimalQuotient(exp.Expression):
    """DECIMAL(38,18) by a BIGINT above zero, to 18 fraction digits, the rest cut off."""

    arg_types = {"this": True, "expression": True}


class TermId(exp.Expression):
    """The 64-bit id of a canonical text: xxhash64 with seed 42."""

    arg_types = {"this": True}


class RowHash(exp.Expression):
    """A 64-bit hash of several texts, NULL included, in their order."""

    arg_types = {"expressions": True}


class DecimalText(exp.Expression):
    """A DECIMAL(38,18) in plain digits without needless zeros, whatever the session's settings."""

    arg_types = {"this": True}


class DecimalDouble(exp.Expression):
    """The double nearest to a DECIMAL(38,18)."""

    arg_types = {"this": True}


class DoubleText(exp.Expression):
    """The canonical text of a double; a kernel, because Java's text of a double depends on its version."""

    arg_types = {"this": True}


class SingleText(exp.Expression):
    """The canonical text of a number of single precision, as few digits as tell it apart; a kernel."""

    arg_types = {"this": True}


class KernelCall(exp.Expression):
    """A call of one of the runtime's kernels, by its name."""

    arg_types = {"this": True, "expressions": True}


class WholeQuotient(exp.Expression):
    """The quotient of two BIGINT that are not negative, rounded down."""

    arg_types = {"this": True, "expression": True}


class FoldDoubles(exp.Expression):
    """The sum of an array of doubles, smallest first, so that it does not depend on the order of arrival."""

    arg_types = {"this": True}


class CollectList(exp.Expression):
    """All values of the group that are not NULL, as an array; empty where there is none."""

    arg_types = {"this": True}


class JoinTexts(exp.Expression):
    """The field `joined` of an array of structs, sorted by all fields, joined by a separator."""

    arg_types = {"this": True, "expression": True}


class SegmentPoints(exp.Expression):
    """The `expressions`, each once, one row each; all whole numbers from `this` to `to` where `every` holds."""

    arg_types = {"this": True, "to": True, "every": True, "expressions": True}


class RankRange(exp.Expression):
    """The ranks `this <= k < expression`, one row each (a generator in a select list)."""

    arg_types = {"this": True, "expression": True}


class SafeSum(exp.Expression):
    """A sum of decimals that is NULL where it overflows."""

    arg_types = {"this": True}


class DecimalHead(exp.Expression):
    """Quotient of a DECIMAL(38,18) and 10^10, rounded toward zero, as BIGINT."""

    arg_types = {"this": True}


class DecimalTail(exp.Expression):
    """Remainder of a DECIMAL(38,18) and 10^10, see `DecimalHead`."""

    arg_types = {"this": True}


class DecimalTotal(exp.Expression):
    """The DECIMAL(38,18) of which `this` is a sum of tails and `expression` one of heads; NULL from 10^20 on."""

    arg_types = {"this": True, "expression": True}


class SafeCast(exp.Expression):
    """A cast that gives NULL where the value does not fit."""

    arg_types = {"this": True, "to": True}

"""Encoding of canonical texts as Spark column expressions: the counterpart of `hydrograph.rdf.encoding`.

Regular expressions travel as constants of the plan and never through Spark's SQL parser, casts stand behind them, and
nothing here depends on the settings of the session. Every column can be pruned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hydrograph.rdf.vocab import XSD, XSD_DATE_TIME, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from hydrograph.rdf.xsd import EXACT, NUMERIC, RULES, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_COMMON = (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_DATE_TIME)
"""The datatypes that are looked for first, one by one; all others share one regular expression for each kind.

Spark makes one Java method of all columns together, and Java does not compile a method of more than 8,000 bytes.
"""
_SHORT = 18


def _rare() -> dict[Kind, str]:
    """Return, by kind, a regular expression for the texts of its literals."""
    found: dict[Kind, list[str]] = {}
    for name, rule in RULES.items():
        if name not in _COMMON:
            found.setdefault(rule.kind, []).append(rf"(?:{rule.pattern})\"\^\^<{re.escape(name)}>")
    return {kind: f'"(?:{"|".join(patterns)})' for kind, patterns in found.items()}


def encode_columns(triples: DataFrame, *kept: str) -> DataFrame:
    """Return columns `kept` and the encoded columns of `triples`, which has the canonical texts `s`, `p` and `o`."""
    from pyspark.sql import functions as F  # noqa: N812

    keep = [F.col(name) for name in (*kept, "s", "p", "o")]
    typed = triples.select(*keep, datatype(F.col("o")).alias("datatype"))
    read = typed.select(*keep, "datatype", lexical(F.col("o"), F.col("datatype")).alias("lexical"))
    kinds = read.select(*keep, "lexical", kind(F.col("o"), F.col("datatype"), F.col("lexical")).alias("o_kind"))
    return kinds.select(
        *keep,
        F.xxhash64("s").alias("s_id"),
        F.xxhash64("p").alias("p_id"),
        F.xxhash64("o").alias("o_id"),
        "o_kind",
        number(F.col("o_kind"), F.col("lexical")).alias("o_num"),
        exact(F.col("o_kind"), F.col("lexical")).alias("o_dec"),
    )


def full_match(pattern: str) -> Column:
    """Return `pattern` as a constant that matches a whole text; Java's `$` would let a line end follow."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.lit(rf"\A(?:{pattern})\z")


def substring_bytes(text: Column, start: Column, length: Column) -> Column:
    """Return so many bytes of `text` from the one numbered `start`: to count characters, Spark looks at every byte."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.substring(text.cast("binary"), start, length).cast("string")


def datatype(o: Column) -> Column:
    """Return the datatype IRI of a typed literal, with its closing bracket; null for other terms."""
    from pyspark.sql import functions as F  # noqa: N812

    typed = F.endswith(o, F.lit(">")) & F.startswith(o, F.lit('"'))
    # No IRI has a quotation mark, so the last one closes the lexical form.
    return F.when(typed, F.substring_index(o, '"^^<', -1))


def lexical(o: Column, of: Column) -> Column:
    """Return the lexical form of a literal with datatype `of`; escapes are left, as no known datatype allows any."""
    from pyspark.sql import functions as F  # noqa: N812

    return substring_bytes(o, F.lit(2), F.octet_length(o) - F.octet_length(of) - F.lit(len('""^^<')))


def kind(o: Column, of: Column, text: Column) -> Column:
    """Return the `Kind` of the term `o`, a literal `text` with datatype `of` or something without one."""
    from pyspark.sql import functions as F  # noqa: N812

    def number(value: Kind) -> Column:
        return F.lit(int(value)).cast("tinyint")

    chain = F.when(F.startswith(o, F.lit("<")), number(Kind.IRI)).when(F.startswith(o, F.lit("_")), number(Kind.BLANK))
    chain = chain.when(F.endswith(o, F.lit('"')), number(Kind.STRING)).when(of.isNull(), number(Kind.LANG))
    for name in _COMMON:
        fits = F.when(F.rlike(text, full_match(RULES[name].pattern)), number(RULES[name].kind))
        chain = chain.when(of == F.lit(f"{name}>"), fits.otherwise(number(Kind.OTHER)))
    chain = chain.when(~F.startswith(of, F.lit(XSD)), number(Kind.OTHER))
    for kind_, pattern in _rare().items():
        chain = chain.when(F.rlike(o, full_match(pattern)), number(kind_))
    return chain.otherwise(number(Kind.OTHER))


def number(of: Column, text: Column) -> Column:
    """Return the value of a number as a double; a float is rounded to single precision."""
    from pyspark.sql import functions as F  # noqa: N812

    special = F.substring_index(text, "INF", 1)
    single = F.when(of == F.lit(int(Kind.FLOAT)), text.try_cast("float").cast("double"))
    finite = single.otherwise(text.try_cast("double"))
    infinite = F.when(special == F.lit("-"), F.lit(float("-inf"))).otherwise(F.lit(float("inf")))
    read = F.when(F.endswith(text, F.lit("INF")), infinite).when(text == F.lit("NaN"), F.lit(float("nan")))
    return F.when(of.isin(*map(int, NUMERIC)), read.otherwise(finite))


def exact(of: Column, text: Column) -> Column:
    """Return the value of an integer or decimal that fits DECIMAL(38,18) without rounding."""
    from pyspark.sql import functions as F  # noqa: N812

    # Most numbers are short, and need not be looked at: 18 characters have no more than 18 digits on either side.
    short = F.octet_length(text) <= F.lit(_SHORT)
    fits = of.isin(int(Kind.INTEGER), int(Kind.DECIMAL)) & (short | F.rlike(text, full_match(EXACT)))
    return F.when(fits, text.try_cast("decimal(38,18)"))

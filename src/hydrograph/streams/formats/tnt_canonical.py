"""Lines of timed N-Triples brought to one form by Spark's own functions.

A line in its most frequent form (canonical terms, single spaces, ` .` at the end) is recognised by one regular
expression made for Java's matcher: classes of single characters, because ranges and unions in a class cost eight times
as much. Any other line is checked by the full grammar, rewritten to that form, and checked again.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hydrograph.rdf.nquads import BLANK_NODE_LABEL, END, IRIREF, LANGTAG, SPACE, STRING, SUBJECT
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.streams.columns import whole
from hydrograph.streams.formats.tnt import IRI_LIMIT, LITERAL_LIMIT, NOTHING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, SparkSession

MARK = "hydrograph: broken line in "
"""How the message of a failed job starts if a line was broken; then come the file, a line feed and the line."""


def _listed(least: int, most: int, without: str) -> str:
    """Return the code points from `least` to `most` as a list of single characters of a class."""
    return "".join(f"\\x{code:02x}" for code in range(least, most + 1) if chr(code) not in without)


def _canonical(in_iri: str, in_string: str, digits: int) -> str:
    """Return the lines in canonical form with these classes of characters and times of at most so many digits."""
    # The greedy classes of single characters again: the same scheme costs a fifth of the whole line otherwise.
    iri = rf"<[{string.ascii_letters}][{string.ascii_letters}{string.digits}+.\-]*:{in_iri}*>"
    quoted = rf'"{in_string}*+(?:\\["\\nr]{in_string}*+)*+"'
    tail = rf"(?:\^\^(?!<{re.escape(XSD_STRING)}>){iri}|@[a-z]++(?:-[a-z0-9]++)*+)?"
    triple = rf"(?:{iri}|{BLANK_NODE_LABEL}) {iri} (?:{iri}|{quoted}{tail}|{BLANK_NODE_LABEL}) \."
    return rf"-?[0-9]{{1,{digits}}}(?::[0-9]{{1,18}})?\t{triple}"


_NOT_IN_IRI = '<>"{}|^`\\'
_NOT_IN_STRING = '"\\\n\r'
_UNICODE = f"[^{_listed(0, 0x20, '')}{re.escape(_NOT_IN_IRI)}]", r'[^"\\\n\r]'
_ASCII = f"[{_listed(0x21, 0x7E, _NOT_IN_IRI)}]", f"[{_listed(0, 0x7F, _NOT_IN_STRING)}]"
_DIGITS = f"[{string.digits}]+"
_WEB = f"<http://{_ASCII[0]}*>"
# Greedy classes alone, no counting, no branches but one: half the time of the whole form. A line of it that counts too
# many digits, or names xsd:string, is left to the others.
_SIMPLE = rf'{_DIGITS}\t{_WEB} {_WEB} (?:{_WEB}|"{_ASCII[1]}*"(?:\^\^(?!<{re.escape(XSD_STRING)}>){_WEB})?) \.'
_FREQUENT = _canonical(*_ASCII, digits=18)
_FREQUENT_UNICODE = _canonical(*_UNICODE, digits=18)
_CANONICAL = _canonical(*_UNICODE, digits=19)
_GENERAL = (
    rf"(-?[0-9]{{1,19}}(?::[0-9]{{1,18}})?+\t){SPACE}({SUBJECT}){SPACE}({IRIREF}){SPACE}"
    rf"(?:({IRIREF}|{BLANK_NODE_LABEL})|({STRING})(?:{SPACE}(?:\^\^{SPACE}({IRIREF})|({LANGTAG})))?+){END}"
)
_PARTS = "$1$2 $3 $4$5 $6$7"  # time and subject, predicate, object, and last its datatype, its language or nothing
REST = 2**31 - 1
"""So many characters that a substring has all that follow."""


_made: WeakKeyDictionary[SparkContext, dict[str, Column]] = WeakKeyDictionary()


def canonical_line(spark: SparkSession, action: str) -> Column:
    """Return the canonical form of the line `value`; null if it says nothing, or is broken and `action` is `skip`.

    The same column whenever it is asked for: Spark gives the variables of its lambdas a new name each time one is
    made, the name stands in the Java that it generates, and so each run would compile and warm up code of its own.
    """
    made = _made.setdefault(spark.sparkContext, {})
    if action not in made:
        made[action] = _canonical_line(action)
    return made[action]


def _canonical_line(action: str) -> Column:
    """Return that column for the first time.

    The name of the file is asked for only in the error, and serves another purpose too: as it differs from row to row
    in a way Spark does not know, no filter is moved below this column, where it would be computed twice.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = F.col("value")
    short = F.octet_length(value) <= F.lit(IRI_LIMIT)
    # Bytes that are no UTF-8 look like another character than ASCII to a regular expression.
    simple = short & F.rlike(value, whole(_SIMPLE)) & (F.instr(value, "\t") <= F.lit(19))
    frequent = short & F.rlike(value, whole(_FREQUENT))
    unicode = short & F.rlike(value, whole(_FREQUENT_UNICODE)) & F.is_valid_utf8(value)
    general = F.rlike(value, whole(_GENERAL)) & F.is_valid_utf8(value)
    # An array of one element: a lambda is Spark's only way to name a value and use it more than once in one column.
    checked = F.transform(F.array(_rewritten(value)), lambda line: F.when(_within_limits(line), line))[0]
    # Called by reflection, which Spark cannot make part of a larger Java method: this column becomes several small
    # methods instead. In one with all the others it would pass the 8,000 bytes up to which Java compiles a method.
    file = F.java_method(F.lit("java.lang.String"), F.lit("valueOf"), F.input_file_name())
    message = F.concat(F.lit(MARK), file, F.lit("\n"), value)
    failed = F.raise_error(message).cast("string") if action == "fail" else F.when(file.isNull(), value)
    slow = F.coalesce(F.when(general, checked), F.when(~F.rlike(value, whole(f"(?s){NOTHING}")), failed))
    return F.when(simple, value).when(frequent, value).when(unicode, value).otherwise(slow).alias("line")


def _rewritten(value: Column) -> Column:
    """Return a line of the full grammar with single spaces, canonical terms and without its comment."""
    from pyspark.sql import functions as F  # noqa: N812

    parts = _unescaped(F.regexp_replace(value, whole(_GENERAL), F.lit(_PARTS)))

    def joined(line: Column) -> Column:
        tail = F.substring_index(line, " ", -1)
        head = F.substring(line, F.lit(1), F.length(line) - F.length(tail) - F.lit(1))
        tail = F.when(F.startswith(tail, F.lit("@")), F.lower(tail)).when(
            (tail != F.lit("")) & (tail != F.lit(f"<{XSD_STRING}>")), F.concat(F.lit("^^"), tail)
        )
        return F.concat(head, F.coalesce(tail, F.lit("")), F.lit(" ."))

    return F.transform(F.array(parts), joined)[0]


def _unescaped(text: Column) -> Column:
    """Return `text` with only those escapes left that canonical N-Triples has."""
    from pyspark.sql import functions as F  # noqa: N812

    def looked_up(key: Column, values: dict[str, str]) -> Column:
        return F.try_element_at(F.create_map(*(F.lit(part) for pair in values.items() for part in pair)), key)

    def read(piece: Column, position: Column) -> Column:
        first = F.substring(piece, 1, 1)
        digits = F.when(first == F.lit("U"), F.lit(8)).otherwise(F.lit(4))
        code = F.lpad(F.substring(piece, F.lit(2), digits), 8, "0")
        character = F.decode(F.unhex(code), "UTF-32")
        kept = F.coalesce(looked_up(character, {'"': '\\"', "\\": "\n", "\n": "\\n", "\r": "\\r"}), character)
        plain = looked_up(first, {"t": "\t", "b": "\b", "f": "\f", "'": "'"})
        return (
            F.when(position == F.lit(0), piece)
            .when(F.lower(first) == F.lit("u"), F.concat(kept, F.substring(piece, digits + F.lit(2), F.lit(REST))))
            .when(plain.isNotNull(), F.concat(plain, F.substring(piece, 2, REST)))
            .otherwise(F.concat(F.lit("\\"), piece))
        )

    # An escaped backslash becomes a line feed, which no line has, so that each backslash left starts another escape.
    marked = F.replace(text, F.lit("\\\\"), F.lit("\n"))
    pieces = F.transform(F.split(marked, r"\\"), read)
    return F.when(
        F.contains(text, F.lit("\\")), F.replace(F.array_join(pieces, ""), F.lit("\n"), F.lit("\\\\"))
    ).otherwise(text)


def _within_limits(line: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    subject = F.substring_index(F.substring_index(line, " ", 1), "\t", -1)
    both = F.substring_index(line, " ", 2)
    object_ = F.octet_length(line) - F.octet_length(both) - F.lit(3)
    limit = F.when(F.startswith(F.substring(line, F.length(both) + 2, F.lit(1)), F.lit('"')), F.lit(LITERAL_LIMIT))
    return (
        F.rlike(line, whole(_CANONICAL))
        & F.substring_index(F.substring_index(line, "\t", 1), ":", 1).try_cast("bigint").isNotNull()
        & (F.octet_length(subject) <= F.lit(IRI_LIMIT))
        & (F.octet_length(F.substring_index(both, " ", -1)) <= F.lit(IRI_LIMIT))
        & (object_ <= limit.otherwise(F.lit(IRI_LIMIT)))
    )

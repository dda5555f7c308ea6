"""Timed N-Triples on Spark: the rows of `hydrograph.streams.formats.tnt`, by Spark's own functions.

The path of a text, from its files to rows in the encoded schema:

1. Sample (`sample_ends`): the first and last 64 KiB of some files predict times, row count and contents, without a job.
2. One pass (`observed_events`): each line is brought to canonical form (`canonical_line`), split into terms and encoded
   (`hydrograph.streams.spark_encoding`). The pass observes the true time bounds. It fails with NotAsExpectedError if a
   line holds what the sample did not predict: a blank node, which is named after its line number, a float or a double.
3. Survey (`survey`), where the sample gives no prediction or the pass failed: one cheap pass over times finds bounds,
   blank nodes and line numbers.
4. Second pass (`events`): parses the lines with what the survey found.

`hydrograph.runtime.replay.text_one_pass` decides between 2 and 3. A broken line fails the Spark job with its file and
text in the message; `data_error` turns that into a DataError with the line number.

A line in its most frequent form (canonical terms, single spaces, ` .` at the end) is recognised by one regular
expression made for Java's matcher: classes of single characters, because ranges and unions in a class cost eight times
as much. Any other line is checked by the full grammar, rewritten to that form, and checked again.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from hydrograph.rdf.nquads import BLANK_NODE_LABEL, END, IRIREF, LANGTAG, SPACE, STRING, SUBJECT
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.streams.bad_lines import BadLines
from hydrograph.streams.files import atomic_output, open_text
from hydrograph.streams.formats.tnt import BEFORE_BLANK, NOTHING, broken, has_blank, reason
from hydrograph.streams.schema import FILE_BITS, IRI_LIMIT, LITERAL_LIMIT
from hydrograph.streams.spark_encoding import encode_columns, full_match, substring_bytes

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, DataFrame, SparkSession

UNEXPECTED = "hydrograph: a text is not as expected"
"""The message of a failed job if a line was sound, but held what the reader was told not to expect."""
_SOUGHT = 8  # texts that are looked for in a line before it is taken apart
_ROW_BITS = 33  # of Spark's monotonically increasing ids; the bits above are the number of the partition


class NotAsExpectedError(Exception):
    """A text holds blank nodes, floats or doubles, which it was taken to be without."""


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A piece of a file that Spark reads as a whole: the id of its first row, and what to add to get `seq`."""

    first: int
    offset: int


@dataclass(frozen=True, slots=True)
class TextSurvey:
    """Time bounds, contents and line numbers of a text, found in one pass."""

    first: int | None
    last: int | None
    rows: int
    bad: int
    blanks: bool
    grouped: bool
    splits: tuple[FileSplit, ...]


def lines(spark: SparkSession, files: tuple[str, ...]) -> DataFrame:
    """Return the lines of `files` as Spark's text source gives them."""
    return spark.read.text([re.sub(r"([\\*?\[\]{}])", r"\\\1", file) for file in files])


def survey(spark: SparkSession, files: tuple[str, ...], bad_lines: BadLines) -> TextSurvey:
    """Find the bounds of time and what the reader must be prepared for, in one pass.

    Cheap under `fail`, where broken lines stop the reading later anyway; exact otherwise. Broken lines are written to
    the file of `bad_lines`, if it has one.
    """
    from pyspark.sql import functions as F  # noqa: N812

    text = F.col("value")
    sound = F.lit(True) if bad_lines.action == "fail" else F.col("line").isNotNull()  # noqa: FBT003
    exact = [] if bad_lines.action == "fail" else [canonical_line(spark, "skip")]
    place = [F.input_file_name().alias("file"), F.input_file_block_start().alias("start")]
    read = lines(spark, files).select(*place, F.monotonically_increasing_id().alias("id"), text, *exact)
    time = F.substring_index(text, "\t", 1)
    about = read.select(
        "file",
        "start",
        "id",
        F.when(sound, F.substring_index(time, ":", 1).try_cast("bigint")).alias("t"),
        (~sound & ~F.rlike(text, full_match(f"(?s){NOTHING}"))).alias("bad"),
        (F.contains(text, F.lit("_:")) & F.rlike(text, F.lit(BEFORE_BLANK))).alias("blank"),
        F.contains(time, F.lit(":")).alias("group"),
    )
    found = (
        about.groupBy("file", "start")
        .agg(
            F.min("id").alias("id"),
            F.count("*").alias("lines"),
            F.min("t").alias("first"),
            F.max("t").alias("last"),
            F.count("t").alias("rows"),
            F.count_if("bad").alias("bad"),
            F.bool_or(F.col("blank") & F.col("t").isNotNull()).alias("blanks"),
            F.bool_or(F.col("group") & F.col("t").isNotNull()).alias("grouped"),
        )
        .collect()
    )
    if bad_lines.file is not None:
        _quarantine(read.where(F.col("line").isNull() & ~F.rlike(text, full_match(f"(?s){NOTHING}"))), bad_lines.file)
    index = {file: position for position, file in enumerate(files)}
    splits, before = [], dict.fromkeys(files, 0)
    for row in sorted(found, key=lambda row: (index[_path(row["file"])], row["start"])):
        file = _path(row["file"])
        first_line = (index[file] << FILE_BITS) + before[file] + 1
        splits.append(FileSplit(row["id"], first_line - row["id"]))
        before[file] += row["lines"]
    return TextSurvey(
        min((row["first"] for row in found if row["first"] is not None), default=None),
        max((row["last"] for row in found if row["last"] is not None), default=None),
        sum(row["rows"] for row in found),
        sum(row["bad"] for row in found),
        any(row["blanks"] for row in found),
        any(row["grouped"] for row in found),
        tuple(splits),
    )


def events(
    spark: SparkSession,
    files: tuple[str, ...],
    salt: str,
    bad_lines: BadLines,
    found: TextSurvey | None,
    predicates: tuple[str, ...] | None = None,
) -> DataFrame:
    """Return the rows of `files` in the encoded schema, without `t_next`; `seq` is null unless `found` is given.

    A stream with blank nodes needs `found`, because they are named after the element they stand in. Rows with other
    predicates than `predicates` may be missing: to look for a text in a line is cheaper than to take the line apart.
    """
    from pyspark.sql import functions as F  # noqa: N812

    action = "fail" if bad_lines.action == "fail" else "skip"
    number = [F.monotonically_increasing_id().alias("id")] if found else []
    read = lines(spark, files).select(*number, canonical_line(spark, action))
    read = read.where(F.col("line").isNotNull())
    # An element is numbered after its first line, whatever its predicate, so all lines are needed then.
    if not (found is not None and found.grouped):
        read = _with_any(read, predicates)
    triples = _triples(read, *(("id",) if found else ()))
    if found is None:
        triples = triples.withColumn("seq", F.lit(None).cast("bigint"))
    else:
        triples = _numbered(triples, found)
        if found.blanks:
            triples = triples.withColumns({name: _skolem(F.col(name), salt) for name in ("s", "o")})
    triples = triples.withColumn("t_next", F.lit(None).cast("bigint"))
    return encode_columns(triples, "t", "seq", "t_next")


def observed_events(
    spark: SparkSession, files: tuple[str, ...], seen: str, t0: int, predicates: tuple[str, ...] | None
) -> DataFrame:
    """Return the rows of `files` without a survey, `seq` and `t_next` null; broken lines fail the job.

    So do, with `UNEXPECTED` in the message, a blank node, which cannot be named without a survey, and a float or a
    double. Observed as `seen` are the first and the last time from `t0` on, and how many rows there are.
    """
    from pyspark.sql import functions as F  # noqa: N812

    def refused(column: Column, when: Column) -> Column:
        return F.when(when, F.raise_error(F.lit(UNEXPECTED)).cast("string")).otherwise(column)

    read = lines(spark, files).select(canonical_line(spark, "fail")).where(F.col("line").isNotNull())
    time = _instant(F.substring_index("line", "\t", 1))
    counted = F.when(time >= F.lit(t0), time)
    read = read.observe(
        seen, F.min(counted).alias("first"), F.max(counted).alias("last"), F.count("line").alias("rows")
    )
    triples = _triples(_with_any(read, predicates))
    inexact = F.endswith("o", F.lit("#double>")) | F.endswith("o", F.lit("#float>"))
    triples = triples.withColumns(
        {
            "s": refused(F.col("s"), F.startswith("s", F.lit("_"))),
            "o": refused(F.col("o"), F.startswith("o", F.lit("_")) | inexact),
        }
    )
    nothing = F.lit(None).cast("bigint")
    return encode_columns(triples.withColumns({"seq": nothing, "t_next": nothing}), "t", "seq", "t_next")


def _with_any(read: DataFrame, predicates: tuple[str, ...] | None) -> DataFrame:
    """Return the lines that contain one of a few predicates, or all lines."""
    from pyspark.sql import functions as F  # noqa: N812

    texts = line_filter(predicates)
    if texts is None:
        return read
    tests = [F.contains(F.col("line"), F.lit(f" {text} ")) for text in texts]
    return read.where(reduce(or_, tests, F.lit(False)))  # noqa: FBT003


def line_filter(predicates: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the predicates without which a line is left out; None where all lines stay.

    A line may have one in a literal, and stay as well.
    """
    return predicates if predicates is not None and len(predicates) <= _SOUGHT else None


def triples(spark: SparkSession, scopes: dict[str, str]) -> DataFrame:
    """Return the encoded triples of N-Triples files.

    `scopes` holds, for each file, the prefix of its blank node labels.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = F.col("value")
    # A statement is a line of a stream at time 0, so there is nothing else to check or rewrite.
    timed = F.when(F.rlike(value, full_match(f"(?s){NOTHING}")), value).otherwise(F.concat(F.lit("0\t"), value))
    pairs = [F.lit(part) for file, scope in scopes.items() for part in (Path(file).as_uri(), scope)]
    scope = F.create_map(*pairs)[F.input_file_name()].alias("scope")
    read = lines(spark, tuple(scopes)).select(timed.alias("value")).select(canonical_line(spark, "fail"), scope)
    found = _triples(read.where(F.col("line").isNotNull()), "scope")
    scoped = {
        name: F.when(F.startswith(name, F.lit("_")), F.concat("scope", F.substring(name, 3, REST))).otherwise(
            F.col(name)
        )
        for name in ("s", "o")
    }
    return encode_columns(found.withColumns(scoped).select("s", "p", "o"))


def _triples(read: DataFrame, *kept: str) -> DataFrame:
    """Return `t`, the element's number `n`, and the texts `s`, `p`, `o` of canonical lines."""
    from pyspark.sql import functions as F  # noqa: N812

    keep = [F.col(name) for name in kept]
    # Splitting at one plain character is faster here than Spark's other functions, which search byte by byte.
    parts = read.select(*keep, F.split(F.col("line"), " ", 3).alias("parts"))
    rest = F.col("parts")[2]
    terms = parts.select(
        *keep,
        F.col("parts")[0].alias("first"),
        F.col("parts")[1].alias("p"),
        substring_bytes(rest, F.lit(1), F.octet_length(rest) - F.lit(len(" ."))).alias("o"),
    )
    timed = terms.select(*keep, F.substring_index("first", "\t", 1).alias("time"), "first", "p", "o")
    time = F.col("time")
    number = F.when(F.contains(time, F.lit(":")), F.substring_index(time, ":", -1).try_cast("bigint"))
    return timed.select(
        *keep,
        _instant(time).alias("t"),
        number.alias("n"),
        substring_bytes(F.col("first"), F.octet_length(time) + F.lit(2), F.lit(REST)).alias("s"),
        "p",
        "o",
    )


def _instant(time: Column) -> Column:
    """Return the time of an element without its number, which few have."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(time.try_cast("bigint"), F.substring_index(time, ":", 1).try_cast("bigint"))


def _numbered(triples: DataFrame, found: TextSurvey) -> DataFrame:
    """Replace the id of a row by `seq`.

    Spark knows no line numbers. Ids are consecutive in a split and restart at each partition, whose number is in the
    upper bits; the survey saw the same splits in the same partitions and knows how many lines come before each.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    row = F.col("id")
    inside: dict[int, list[FileSplit]] = {}
    for split in sorted(found.splits, key=lambda split: split.first):
        inside.setdefault(split.first >> _ROW_BITS, []).append(split)
    # A constant of the plan, and no join: it keeps the Java method that Spark makes small enough to be compiled.
    partitions = [inside.get(number, []) for number in range(max(inside, default=0) + 1)]
    partition = F.shiftright(row, _ROW_BITS).cast("int") + F.lit(1)
    if all(len(splits) <= 1 for splits in partitions):
        known = F.array(*(F.lit(splits[0].offset if splits else 0).cast("bigint") for splits in partitions))
        offset = F.element_at(known, partition)
    else:
        pairs = F.array(*(F.array(*map(_pair, splits or [FileSplit(0, 0)])) for splits in partitions))
        before = F.filter(F.element_at(pairs, partition), lambda split: split["first"] <= row)
        offset = F.element_at(before, -1)["offset"]
    seq = row + offset
    if found.grouped:
        first = F.min(seq).over(Window.partitionBy("t", "n"))
        seq = F.when(F.col("n").isNull(), seq).otherwise(first)
    return triples.select("t", seq.alias("seq"), "s", "p", "o")


def _pair(split: FileSplit) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.struct(
        F.lit(split.first).cast("bigint").alias("first"), F.lit(split.offset).cast("bigint").alias("offset")
    )


def _skolem(term: Column, salt: str) -> Column:
    """Return `hydrograph.rdf.encoding.skolem` of a blank node, and any other term as it is."""
    from pyspark.sql import functions as F  # noqa: N812

    label = F.substring(term, 3, REST)
    name = F.concat(F.lit("_:e"), F.col("seq").cast("string"), F.lit(f"x{salt}x"), label)
    return F.when(F.startswith(term, F.lit("_")), name).otherwise(term)


def _quarantine(bad: DataFrame, file: Path) -> None:
    with atomic_output(str(file)) as target:
        for row in bad.selectExpr("CAST(value AS BINARY) AS value").toLocalIterator():
            target.write(bytes(row["value"]) + b"\n")


def data_error(failure: BaseException) -> Exception | None:
    """Return the error for the line that made a job fail: broken, or not as expected; None for another reason."""
    message = str(failure)
    if UNEXPECTED in message:
        return NotAsExpectedError()
    at = message.find(MARK)
    if at < 0:
        return None
    file, _, rest = message[at + len(MARK) :].partition("\n")
    path = _path(file)
    shown = _comparable(rest)
    with open_text(path) as found:
        for number, line in enumerate(found, 1):
            text = line.removesuffix("\n")
            if text and shown.startswith(_comparable(text)) and (why := reason(text)):
                return broken(path, number, why, text)
    return broken(path, None, "broken line", rest.partition("\n")[0])


def _comparable(text: str) -> str:
    """Return the start of a line without what is no UTF-8, which Java and Python replace in different ways."""
    return "".join(c for c in text[:200] if not "\ud800" <= c <= "\udfff" and c != "\ufffd")


def _path(uri: str) -> str:
    """Return the local path of what Spark calls a file."""
    return unquote(uri.removeprefix("file://")) if uri.startswith("file:///") else uri


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
    """Return the canonical form of the line `value`; null if it is blank, a comment, or broken under `skip`.

    The same column whenever it is asked for: Spark gives the variables of its lambdas a new name each time one is
    made, the name is part of the Java that it generates, and so each run would compile and warm up code of its own.
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
    simple = short & F.rlike(value, full_match(_SIMPLE)) & (F.instr(value, "\t") <= F.lit(19))
    frequent = short & F.rlike(value, full_match(_FREQUENT))
    unicode = short & F.rlike(value, full_match(_FREQUENT_UNICODE)) & F.is_valid_utf8(value)
    general = F.rlike(value, full_match(_GENERAL)) & F.is_valid_utf8(value)
    # An array of one element: a lambda is Spark's only way to name a value and use it more than once in one column.
    checked = F.transform(F.array(_rewritten(value)), lambda line: F.when(_within_limits(line), line))[0]
    # Called by reflection, which Spark cannot make part of a larger Java method: this column becomes several small
    # methods instead. In one with all the others it would pass the 8,000 bytes up to which Java compiles a method.
    file = F.java_method(F.lit("java.lang.String"), F.lit("valueOf"), F.input_file_name())
    message = F.concat(F.lit(MARK), file, F.lit("\n"), value)
    failed = F.raise_error(message).cast("string") if action == "fail" else F.when(file.isNull(), value)
    slow = F.coalesce(F.when(general, checked), F.when(~F.rlike(value, full_match(f"(?s){NOTHING}")), failed))
    return F.when(simple, value).when(frequent, value).when(unicode, value).otherwise(slow).alias("line")


def _rewritten(value: Column) -> Column:
    """Return a line of the full grammar with single spaces, canonical terms and without its comment."""
    from pyspark.sql import functions as F  # noqa: N812

    parts = _unescaped(F.regexp_replace(value, full_match(_GENERAL), F.lit(_PARTS)))

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
        F.rlike(line, full_match(_CANONICAL))
        & F.substring_index(F.substring_index(line, "\t", 1), ":", 1).try_cast("bigint").isNotNull()
        & (F.octet_length(subject) <= F.lit(IRI_LIMIT))
        & (F.octet_length(F.substring_index(both, " ", -1)) <= F.lit(IRI_LIMIT))
        & (object_ <= limit.otherwise(F.lit(IRI_LIMIT)))
    )


_END = 65_536  # bytes at either end of a file
_FILES = 32
_LINE = 100  # bytes that a line is taken to have
_PACKED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class TextSample:
    """What the files seem to hold: times, number of rows, and neither blank nodes nor floats nor doubles."""

    first: int
    last: int
    rows: int


def sample_ends(files: tuple[str, ...]) -> TextSample | None:
    """Return what the ends of some of the files say; None if they hold what takes a closer look."""
    if any(file.endswith(_PACKED) for file in files):
        return None
    times: list[int] = []
    for file in files[:: max(1, len(files) // _FILES)]:
        for line in _ends(Path(file)):
            time, _, statement = line.partition("\t")
            if has_blank(statement) or "#double>" in statement or "#float>" in statement:
                return None
            try:
                times.append(int(time.partition(":")[0]))
            except ValueError:
                continue  # a comment, or a line cut off; a broken one is found by the reader
    if not times:
        return None
    return TextSample(min(times), max(times), sum(Path(file).stat().st_size for file in files) // _LINE)


def _ends(path: Path) -> list[str]:
    """Return the whole lines at both ends of a file."""
    with path.open("rb") as opened:
        lines = opened.read(_END).decode(errors="replace").split("\n")
        left = path.stat().st_size - opened.tell()
        if left > 0:
            opened.seek(max(_END, left))
            lines = [*lines[:-1], *opened.read().decode(errors="replace").split("\n")[1:]]
    return [line for line in lines if line]

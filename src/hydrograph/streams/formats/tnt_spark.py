"""Timed N-Triples by Spark's own functions: the same rows as `hydrograph.streams.formats.tnt`, at Spark's speed.

`tnt_canonical` brings every line to one form; from there on there is one path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hydrograph.streams.columns import cut, encoded, whole
from hydrograph.streams.formats.tnt import (
    BEFORE_BLANK,
    FILE_BITS,
    NOTHING,
    BadLines,
    broken,
    open_text,
    reason,
    written,
)
from hydrograph.streams.formats.tnt_canonical import MARK, REST, canonical_line

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

UNEXPECTED = "hydrograph: a text is not as expected"
"""The message of a failed job if a line was sound, but held what the reader was told not to expect."""
_SOUGHT = 8  # texts that are looked for in a line before it is taken apart
_ROW_BITS = 33  # of Spark's monotonically increasing ids; the bits above are the number of the partition


class NotAsExpectedError(Exception):
    """A text holds blank nodes, floats or doubles, which it was taken to be without."""


@dataclass(frozen=True, slots=True)
class Split:
    """A piece of a file that Spark reads as a whole: the id of its first row, and what to add to get `seq`."""

    first: int
    offset: int


@dataclass(frozen=True, slots=True)
class Found:
    """What one pass over the lines tells."""

    first: int | None
    last: int | None
    rows: int
    bad: int
    blanks: bool
    grouped: bool
    splits: tuple[Split, ...]


def lines(spark: SparkSession, files: tuple[str, ...]) -> DataFrame:
    """Return the lines of `files` as Spark's text source gives them."""
    return spark.read.text([re.sub(r"([\\*?\[\]{}])", r"\\\1", file) for file in files])


def survey(spark: SparkSession, files: tuple[str, ...], bad_lines: BadLines) -> Found:
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
        (~sound & ~F.rlike(text, whole(f"(?s){NOTHING}"))).alias("bad"),
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
        _quarantine(read.where(F.col("line").isNull() & ~F.rlike(text, whole(f"(?s){NOTHING}"))), bad_lines.file)
    index = {file: position for position, file in enumerate(files)}
    splits, before = [], dict.fromkeys(files, 0)
    for row in sorted(found, key=lambda row: (index[_path(row["file"])], row["start"])):
        file = _path(row["file"])
        first_line = (index[file] << FILE_BITS) + before[file] + 1
        splits.append(Split(row["id"], first_line - row["id"]))
        before[file] += row["lines"]
    return Found(
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
    found: Found | None,
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
    # An element is numbered after its first line, whatever that says, so all lines are needed then.
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
    return encoded(triples, "t", "seq", "t_next")


def expected_events(
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
    return encoded(triples.withColumns({"seq": nothing, "t_next": nothing}), "t", "seq", "t_next")


def _with_any(read: DataFrame, predicates: tuple[str, ...] | None) -> DataFrame:
    """Return the lines in which one of a few predicates stands, or all lines."""
    from pyspark.sql import functions as F  # noqa: N812

    texts = sought(predicates)
    if texts is None:
        return read
    tests = [F.contains(F.col("line"), F.lit(f" {text} ")) for text in texts]
    return read.where(reduce(or_, tests, F.lit(False)))  # noqa: FBT003


def sought(predicates: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the predicates without which a line is left out; None where all lines stay.

    A line may have one in a literal, and stay as well.
    """
    return predicates if predicates is not None and len(predicates) <= _SOUGHT else None


def triples(spark: SparkSession, scopes: dict[str, str]) -> DataFrame:
    """Return the encoded triples of N-Triples files.

    `scopes` says, for each file, what the texts of its blank nodes start with.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = F.col("value")
    # A statement is a line of a stream at time 0, so there is nothing else to check or rewrite.
    timed = F.when(F.rlike(value, whole(f"(?s){NOTHING}")), value).otherwise(F.concat(F.lit("0\t"), value))
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
    return encoded(found.withColumns(scoped).select("s", "p", "o"))


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
        cut(rest, F.lit(1), F.octet_length(rest) - F.lit(len(" ."))).alias("o"),
    )
    timed = terms.select(*keep, F.substring_index("first", "\t", 1).alias("time"), "first", "p", "o")
    time = F.col("time")
    number = F.when(F.contains(time, F.lit(":")), F.substring_index(time, ":", -1).try_cast("bigint"))
    return timed.select(
        *keep,
        _instant(time).alias("t"),
        number.alias("n"),
        cut(F.col("first"), F.octet_length(time) + F.lit(2), F.lit(REST)).alias("s"),
        "p",
        "o",
    )


def _instant(time: Column) -> Column:
    """Return the time of an element without its number, which few have."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(time.try_cast("bigint"), F.substring_index(time, ":", 1).try_cast("bigint"))


def _numbered(triples: DataFrame, found: Found) -> DataFrame:
    """Replace the id of a row by `seq`.

    Spark knows no line numbers. Ids count on inside a split, and start anew at each partition, whose number is in the
    upper bits; the survey saw the same splits in the same partitions and knows how many lines come before each.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    row = F.col("id")
    inside: dict[int, list[Split]] = {}
    for split in sorted(found.splits, key=lambda split: split.first):
        inside.setdefault(split.first >> _ROW_BITS, []).append(split)
    # A constant of the plan, and no join: it keeps the Java method that Spark makes small enough to be compiled.
    partitions = [inside.get(number, []) for number in range(max(inside, default=0) + 1)]
    partition = F.shiftright(row, _ROW_BITS).cast("int") + F.lit(1)
    if all(len(splits) <= 1 for splits in partitions):
        known = F.array(*(F.lit(splits[0].offset if splits else 0).cast("bigint") for splits in partitions))
        offset = F.element_at(known, partition)
    else:
        pairs = F.array(*(F.array(*map(_pair, splits or [Split(0, 0)])) for splits in partitions))
        before = F.filter(F.element_at(pairs, partition), lambda split: split["first"] <= row)
        offset = F.element_at(before, -1)["offset"]
    seq = row + offset
    if found.grouped:
        first = F.min(seq).over(Window.partitionBy("t", "n"))
        seq = F.when(F.col("n").isNull(), seq).otherwise(first)
    return triples.select("t", seq.alias("seq"), "s", "p", "o")


def _pair(split: Split) -> Column:
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
    with written(str(file)) as target:
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

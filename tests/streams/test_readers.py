"""The reader in Python and the reader on Spark give the same rows, and refuse the same lines."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import zstandard

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import EVENT_COLUMNS
from hydrograph.streams.formats.tnt import BadLines
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.sources import bounds, data_errors, events_as_arrow, events_on_spark, open_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SKIP = BadLines("skip")
XSD = "http://www.w3.org/2001/XMLSchema#"

TYPED = [
    *(
        (f"{sign}{text}", name)
        for name in (
            "integer",
            "decimal",
            "double",
            "float",
            "long",
            "byte",
            "unsignedLong",
            "nonNegativeInteger",
            "positiveInteger",
            "nonPositiveInteger",
            "negativeInteger",
            "unsignedByte",
            "int",
            "short",
        )
        for sign in ("", "+", "-")
        for text in (
            "0",
            "00",
            "1",
            "007",
            "127",
            "128",
            "129",
            "255",
            "256",
            "32768",
            "2147483648",
            "1.5",
            "5.",
            ".5",
            ".",
            "1e5",
            "1E-3",
            "1e400",
            "1e-400",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551616",
            "9" * 20,
            "9" * 21,
            "1" * 39,
            "9" * 400,
            "1." + "0" * 30,
            "0." + "1" * 18,
            "0." + "1" * 19,
            "0" * 50 + "1",
            "INF",
            "NaN",
            "inf",
            "nan",
            "Infinity",
            "1_000",
            " 1",
            "1 ",
            "0x10",
            "1f",
            "1d",
            "",
            "e5",
            "1e",
            "\uff11",
            "0.1",
            "3.4028235677973366e38",
            "16777217.0000001",
            "1.17549435e-38",
            "7e-46",
            "0." + "3" * 60,
        )
    ),
    *((text, "boolean") for text in ("true", "false", "1", "0", "TRUE", "")),
    *(
        (text, name)
        for name in ("dateTime", "dateTimeStamp", "date")
        for text in (
            "2024-02-29T12:00:00Z",
            "2023-02-29T12:00:00Z",
            "1900-02-29T00:00:00",
            "2000-02-29T00:00:00",
            "2024-04-31T00:00:00",
            "2024-01-01T24:00:00",
            "2024-01-01T24:00:01",
            "2024-01-01T23:59:60",
            "-0044-03-15T00:00:00+14:00",
            "12024-01-01T00:00:00",
            "02024-01-01T00:00:00",
            "2024-1-1T00:00:00",
            "2024-01-01T00:00:00.",
            "2024-01-01T00:00:00.123-13:59",
            "2024-01-01",
            "2024-01-01Z",
            "2024-13-01",
            "0000-01-01",
            "2024-01-01+14:01",
        )
    ),
    *((text, "time") for text in ("12:00:00", "24:00:00", "25:00:00", "12:00", "12:00:00.5Z")),
    *(
        (text, name)
        for name in ("duration", "dayTimeDuration", "yearMonthDuration")
        for text in (
            "P1Y",
            "P1Y2M3DT4H5M6.7S",
            "-P1D",
            "P",
            "PT",
            "P1DT",
            "PT5S",
            "P1M",
            "PT1M",
            "P1S",
            "+P1D",
            "PT.5S",
        )
    ),
    ("x", "anyURI"),
    ("x", "string"),
    ("x", "token"),
    ("x", "unheardOf"),
]

OBJECTS = [
    "<urn:o>",
    "<http://ex.org/a?b=c&d#e>",
    "<urn:é>",
    "<urn:\\u00e9>",
    "<urn:\\U0001F600>",
    "<mailto:x@y>",
    "<javascript:alert(1)>",
    "<\\u0075rn:x>",
    "<x-a.b+c:>",
    "<urn:$(x)>",
    "<urn:--;'>",
    "<urn:😀>",
    "<urn:\ufffd>",
    "<urn:a\\u003Ab>",
    '""',
    '"plain"',
    '"with space"',
    '" . # no comment "',
    '"a\\tb\\bc\\nd\\re\\ff\\"g\\\'h\\\\i"',
    '"\\\\\\\\u0041"',
    '"\\\\\\u0041"',
    '"\\\\"',
    '"\\\\\\\\"',
    '"\\\\n"',
    '"\\\\\\n"',
    '"\\u0022\\u005C\\u000A\\u000D\\u0009\\u0000"',
    '"\\u00e9\\U0001F600\\U0010FFFF"',
    '"é漢😀"',
    '"\\uFFFD\ufffd"',
    '"tab\there"',
    '"nul\x00 bell\x07 esc\x1b del\x7f nel\x85 ls\u2028 ps\u2029 vt\x0b ff\x0c"',
    '"\\n<urn:fake> <urn:fake> <urn:fake> ."',
    '"_:b"',
    '" _:b"',
    '"a"@en',
    '"a"@EN-gb',
    '"a"@de-CH-1996',
    '"A"@fr',
    '"@en"',
    '"@EN"@EN',
    '"x^^<urn:y>"',
    '"\\"^^<urn:y>"^^<urn:z>',
    '"a" @en',
    '"5"^^ <http://www.w3.org/2001/XMLSchema#integer>',
    '"5" ^^\t<http://www.w3.org/2001/XMLSchema#integer>',
    '"s"^^<http://www.w3.org/2001/XMLSchema#string>',
    '"s"^^<http://www.w3.org/2001/XMLSchema#str\\u0069ng>',
    '"5"^^<http://www.w3.org/2001/XMLSchema#int\\u0065ger>',
    '"\\u0035"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>',
    '"\'; DROP TABLE x; --"',
    '"${x} `backtick` %s {0} $1 \\\\1"',
    '"' + "x" * 3000 + '"',
    '"' + "é" * 5000 + '"',
    '"' + "\\n" * 3000 + '"',
    "<urn:" + "x" * 8000 + ">",
    '"' + "y" * 100_000 + '"',
    '"\u0300combining"',
    '"\u202ebidi"',
    '"1"^^<urn:a#integer>',
    *(f'"{text}"^^<{XSD}{name}>' for text, name in TYPED),
]

STATEMENTS = [
    "0\t<urn:s> <urn:p> <urn:o> .",
    "-5\t<urn:s> <urn:p> <urn:o> .",
    "007\t<urn:s> <urn:p> <urn:o> .",
    "9223372036854775807\t<urn:s> <urn:p> <urn:o> .",
    "-9223372036854775808\t<urn:s> <urn:p> <urn:o> .",
    "1\t<urn:s><urn:p><urn:o>.",
    "1\t \t<urn:s>\t<urn:p>  <urn:o>\t.\t# said # twice",
    "1\t<urn:s> <urn:p> <urn:o> .#",
    "1\t<urn:s> <urn:p> <urn:o> . ",
    "1\t_:a <urn:p> _:b .",
    "1\t_:a <urn:p> _:a .",
    "1\t_:a.b-c <urn:p> _:a.b..c.",
    "1\t<urn:s> <urn:p>_:é1·.",
    "1\t_:0:_x <urn:p> <urn:o> .",
    "1\t_:😀x <urn:p> <urn:o> .".replace("😀", "\U00010400"),
    "2:1\t_:a <urn:p> <urn:x> .",
    "2:2\t_:a <urn:p> <urn:x> .",
    "3\t<urn:between> <urn:p> <urn:o> .",
    "2:1\t_:a <urn:q> _:c .",
    "2:01\t_:a <urn:q> <urn:y> .",
    "2:2\t<urn:z> <urn:q> _:a .",
    "",
    "   ",
    "\t",
    "# comment",
    '  # comment \\u0041 "',
    '1\t<urn:$(x)> <urn:p;--> "\'" .',
    *(f"{100 + number}\t<urn:s{number}> <urn:p> {object_} ." for number, object_ in enumerate(OBJECTS)),
]

BROKEN = [
    b"<urn:s> <urn:p> <urn:o> .",
    b"x\t<urn:s> <urn:p> <urn:o> .",
    b"1 <urn:s> <urn:p> <urn:o> .",
    b" 1\t<urn:s> <urn:p> <urn:o> .",
    b"+1\t<urn:s> <urn:p> <urn:o> .",
    b"1.5\t<urn:s> <urn:p> <urn:o> .",
    b"1:\t<urn:s> <urn:p> <urn:o> .",
    b"1:-1\t<urn:s> <urn:p> <urn:o> .",
    "\u0661\t<urn:s> <urn:p> <urn:o> .".encode(),
    b"9223372036854775808\t<urn:s> <urn:p> <urn:o> .",
    b"99999999999999999999\t<urn:s> <urn:p> <urn:o> .",
    b"1\t<urn:s> <urn:p> <urn:o>",
    b"1\t<urn:s> <urn:p> .",
    b"1\t<urn:s> <urn:p> <urn:o> <urn:g> .",
    b"1\t<urn:s> <urn:p> <urn:o> . <urn:x>",
    b"1\t<urn:s> <urn:p> <urn:o> . x",
    b'1\t"s" <urn:p> <urn:o> .',
    b"1\t<urn:s> _:p <urn:o> .",
    b'1\t<urn:s> "p" <urn:o> .',
    b"1\t<s> <urn:p> <urn:o> .",
    b"1\t<urn:s> <urn:p> <o> .",
    b"1\t<urn:s> <urn:p> <\\u006f> .",
    b"1\t<urn:s> <urn:p> <urn:a b> .",
    b"1\t<urn:s> <urn:p> <urn:a\\u0020b> .",
    b"1\t<urn:s> <urn:p> <urn:a\\u003Eb> .",
    b"1\t<urn:s> <urn:p> <urn:a\\U0000003Eb> .",
    b"1\t<urn:a\\u003E\\u0020\\u003Curn:b\\u003E\\u0020\\u003Curn:c\\u003E.#> <urn:p> <urn:o> .",
    b"1\t<urn:s> <urn:p> <urn:a\\nb> .",
    b"1\t<urn:s> <urn:p> <urn:{a}> .",
    b"1\t<urn:s> <urn:p> <urn:a\x00b> .",
    b'1\t<urn:s> <urn:p> "a .',
    b'1\t<urn:s> <urn:p> "a\\" .',
    b'1\t<urn:s> <urn:p> "a\\q" .',
    b'1\t<urn:s> <urn:p> "a\\u00g0" .',
    b'1\t<urn:s> <urn:p> "a\\ud800" .',
    b'1\t<urn:s> <urn:p> "a\\uD83D\\uDE00" .',
    b'1\t<urn:s> <urn:p> "a\\U0000D800" .',
    b'1\t<urn:s> <urn:p> "a\\U00110000" .',
    b'1\t<urn:s> <urn:p> "a"@1 .',
    b'1\t<urn:s> <urn:p> "a"@en- .',
    b'1\t<urn:s> <urn:p> "a"@en_us .',
    b'1\t<urn:s> <urn:p> "a"^<urn:x> .',
    b'1\t<urn:s> <urn:p> "a"^^<x> .',
    b'1\t<urn:s> <urn:p> "a"^^ .',
    b"1\t<urn:s> <urn:p> 'a' .",
    b"1\t<urn:s> <urn:p> 5 .",
    b"1\t<urn:s> <urn:p> _: .",
    b"1\t_:-a <urn:p> <urn:o> .",
    b'1\t<urn:s> <urn:p> "\xff" .',
    b'1\t<urn:s> <urn:p> "\xed\xa0\x80" .',
    b'1\t<urn:s> <urn:p> "\xc0\x80" .',
    b'1\t<urn:s> <urn:p> "\xf4\x90\x80\x80" .',
    b'1\t<urn:s> <urn:p> "\xe2\x82" .',
    b"1\t<urn:s\xfe> <urn:p> <urn:o> .",
    b"1\t<urn:s> <urn:p> <urn:" + b"x" * 8192 + b"> .",
    b"1\t<urn:s" + b"x" * 8192 + b"> <urn:p> <urn:o> .",
    b'1\t<urn:s> <urn:p> "' + b"x" * 1024 * 1024 + b'" .',
    b"1\t<urn:s> <urn:p> <urn:o> . \xff",
]

_PIECES = [
    "\\",
    "\\\\",
    '\\"',
    "\\n",
    "\\u0041",
    "\\u005C",
    "\\u005c\\u0022",
    "\\U0001F600",
    "\\uD800",
    "\\t",
    "'",
    "\\'",
    "<",
    ">",
    "^^",
    "@",
    "é",
    "😀",
    "\x00",
    "\t",
    " ",
    ".",
    "#",
    "_:",
    "a",
    "n",
    "u0041",
    "\ufffd",
    "\u2028",
    "\x85",
]


def random_line(draw: random.Random) -> str:
    """Return a line that is often right, and wrong in one place otherwise."""
    text = "".join(draw.choices(_PIECES, k=draw.randrange(8)))
    iri = (
        "<urn:"
        + "".join(draw.choices([p for p in _PIECES if p not in "<> \t"] if draw.random() < 0.2 else "abé", k=3))
        + ">"
    )
    tail = draw.choice(["", "@en", "@EN-us", f"^^<{XSD}integer>", f"^^<{XSD}string>", "^^" + iri])
    o = draw.choice([iri, f"_:b{draw.randrange(3)}", f'"{text}"{tail}'])
    time = draw.choice([str(draw.randrange(-5, 50)), f"{draw.randrange(5)}:{draw.randrange(3)}"])
    gap = draw.choice([" ", " ", " ", "", "\t", "  "])
    line = f"{time}\t{draw.choice([iri, '_:b1'])}{gap}<urn:p>{gap}{o}{gap}."
    if draw.random() < 0.2:
        at = draw.randrange(len(line) + 1)
        line = line[:at] + draw.choice([*_PIECES, ""]) + line[at + draw.randrange(2) :]
    return line


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows in canonical order; NaN is written as text so that it equals itself."""
    columns = [["NaN" if value != value else value for value in table[name].to_pylist()] for name in EVENT_COLUMNS]
    return sorted(zip(*columns, strict=True), key=repr)


def both(location: Path, spark: SparkSession, bad_lines: BadLines | None = None) -> tuple[pa.Table, pa.Table]:
    """Return what the two readers make of the stream at `location`."""
    stream = open_stream(str(location), name="urn:stream", bad_lines=bad_lines)
    here, there = bounds(stream), bounds(stream, spark)
    assert (here.first, here.last, here.rows, here.bad) == (there.first, there.last, there.rows, there.bad)
    assert (here.blanks, here.grouped) == (there.blanks, there.grouped)
    on_spark = events_on_spark(stream, spark, need_seq=True, known=there).toArrow()
    return events_as_arrow(stream).read_all(), on_spark.select(list(EVENT_COLUMNS)).cast(EVENTS)


@pytest.mark.spark
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_corpus(tmp_path: Path, spark: SparkSession, end: str) -> None:
    file = tmp_path / "a b%20#{x}.tnt"
    file.write_bytes(end.join(STATEMENTS).encode("utf-8-sig"))
    python, plan = both(file, spark)
    assert rows(python) == rows(plan)
    assert len(python) > len(STATEMENTS) - 10


@pytest.mark.spark
def test_random_lines(tmp_path: Path, spark: SparkSession) -> None:
    draw = random.Random(7)
    for number in range(3):
        text = "\n".join(random_line(draw) for _ in range(4000))
        (tmp_path / f"{number}.tnt").write_bytes(text.encode("utf-8"))
    python, plan = both(tmp_path, spark, SKIP)
    assert rows(python) == rows(plan)
    assert len(python) > 5000


@pytest.mark.spark
def test_broken_lines(tmp_path: Path, spark: SparkSession) -> None:
    good = b"1\t<urn:s> <urn:p> <urn:o> .\n"
    file, kept = tmp_path / "bad.tnt", tmp_path / "kept"
    file.write_bytes(good + b"\n".join(BROKEN) + b"\n" + good)
    python, plan = both(file, spark, SKIP)
    assert rows(python) == rows(plan)
    assert len(python) == 2
    stream = open_stream(str(file), bad_lines=BadLines.read(str(kept)))
    assert bounds(stream).bad == len(BROKEN)
    here = kept.read_bytes().splitlines()
    assert bounds(stream, spark).bad == len(BROKEN)
    assert here == kept.read_bytes().splitlines() == BROKEN


@pytest.mark.spark
def test_spark_says_file_line_and_reason(tmp_path: Path, spark: SparkSession) -> None:
    file = tmp_path / "bad one.tnt"
    for broken in (*BROKEN[:4], b'1\t<urn:s> <urn:p> "\xff" .', b'1\t<urn:s> <urn:p> "a\x1b\\q" .'):
        file.write_bytes(b"# first\n1\t<urn:s> <urn:p> <urn:o> .\n" + broken + b"\n")
        stream = open_stream(str(file))
        with pytest.raises(DataError, match=r"bad one\.tnt, line 3: (column \d+: )?expected ") as there, data_errors():
            events_on_spark(stream, spark).toArrow()
        with pytest.raises(DataError) as here:
            events_as_arrow(stream).read_all()
        assert str(here.value) == str(there.value)
        assert str(here.value).isprintable()


@pytest.mark.spark
def test_compressed_files_and_directories(tmp_path: Path, spark: SparkSession) -> None:
    text = "".join(f"{line}\n" for line in STATEMENTS).encode()
    (tmp_path / "b.tnt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.tnt").write_bytes(text)
    half = len(text) // 2
    (tmp_path / "c.tnt.zst").write_bytes(zstandard.compress(text[:half]) + zstandard.compress(text[half:]))
    (tmp_path / "_ignored.tnt").write_bytes(b"broken")
    python, plan = both(tmp_path, spark)
    assert rows(python) == rows(plan)


@pytest.mark.spark
def test_line_numbers_over_many_splits(tmp_path: Path, spark: SparkSession) -> None:
    for number in range(3):
        lines = [f"{at}\t_:b <urn:p{number}> <urn:o{at % 7}> ." for at in range(5000)]
        (tmp_path / f"{number}.tnt").write_text("\n".join(lines))
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    try:
        python, plan = both(tmp_path, spark)
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(before))
    assert rows(python) == rows(plan)
    assert len(set(plan["s"].to_pylist())) == 15_000


@pytest.mark.spark
def test_no_setting_of_the_session_matters(tmp_path: Path, spark: SparkSession) -> None:
    file = tmp_path / "in.tnt"
    file.write_text("\n".join(STATEMENTS))
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.caseSensitive": "true",
        "spark.sql.codegen.wholeStage": "false",
    }
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        python, plan = both(file, spark)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert rows(python) == rows(plan)


@pytest.mark.spark
def test_nothing_is_computed_for_columns_that_nobody_reads(tmp_path: Path, spark: SparkSession) -> None:
    file = tmp_path / "in.tnt"
    file.write_text("1\t<urn:s> <urn:p> <urn:o> .\n")
    plan = events_on_spark(open_stream(str(file)), spark).select("t", "p_id")
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert text.count("xxhash64") == 1
    assert "lexical" not in text


def test_in_python_only(tmp_path: Path) -> None:
    file = tmp_path / "in.tnt"
    file.write_text("5:1\t_:a <urn:p> _:b .\n7\t<urn:s> <urn:p> _:a .\n5:1\t_:a <urn:q> <urn:o> .\n")
    table = events_as_arrow(open_stream(str(file), name="urn:stream")).read_all()
    assert table["seq"].to_pylist() == [1, 2, 1]
    assert table["s"].to_pylist()[0] == table["s"].to_pylist()[2] == "_:e1xc1c861f68f5107dxa"
    assert table["o"].to_pylist()[1] != table["s"].to_pylist()[0]


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_broken_lines_in_python(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "in.tnt"
    file.write_bytes(b"\n" + line)
    with pytest.raises(DataError, match=r"in\.tnt, line 2: .*expected .*, in: ") as caught:
        events_as_arrow(open_stream(str(file))).read_all()
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_locations(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        open_stream(str(tmp_path / "x.tnt"))
    (tmp_path / "x.csv").touch()
    with pytest.raises(DataError, match=r"\.tnt, \.nq, .*\.parquet, all but the last also with \.gz or \.zst"):
        open_stream(str(tmp_path / "x.csv"))
    with pytest.raises(DataError, match="holds no file of a known format"):
        open_stream(str(tmp_path))
    (tmp_path / "x.tnt.gz").write_bytes(gzip.compress(b"1\t<urn:s> <urn:p> <urn:o> .\n" * 1000)[:-20])
    with pytest.raises(DataError, match="damaged"):
        events_as_arrow(open_stream(str(tmp_path / "x.tnt.gz"))).read_all()

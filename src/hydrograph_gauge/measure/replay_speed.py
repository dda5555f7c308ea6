"""`make bench-replay`: speed of replay beside a pyoxigraph baseline, growth with the stream, and cost of overlap.

Bars: at least 6 times the baseline on Parquet and 3 times with text parsed on both sides, for each query; CPU from 1 to
10 million triples at most 11 times; STEP 100ms instead of 1s at most 1.5 times for filter and joins (Istream). The last
line is `replay: parquet <ratio> text <ratio> growth <factor> overlap <factor>`.

The stream is generated: observations of sensors (a star) and a social network (a chain), 10,000 triples a second of
event time. The baseline is the best that a practitioner can build: one pyoxigraph store to which each slide adds its
triples and from which it removes the oldest ones, queried once a slide.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds
import pyoxigraph as ox
from xxhash import xxh64_intdigest

from hydrograph import api
from hydrograph.errors import MismatchError
from hydrograph.rdf.encoding import encode_text, salt_of
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph.runtime.reports import ReportDigest
from hydrograph.runtime.session import spark_session
from hydrograph.streams.formats.parquet import write_spark
from hydrograph.streams.schema import TRIPLES
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph.streams.spark_encoding import encode_columns
from hydrograph_gauge.engines.resources import cpu_seconds
from hydrograph_gauge.oracle.window_store import WindowStore, quad_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


NAMESPACE = "http://example.org/"
STREAM = NAMESPACE + "events"
RATE = 10
"""Triples in a millisecond of event time."""
USERS, POSTS, TAGS, SENSORS, ROOMS, CITIES = 20_000, 20_000, 300, 500, 200, 50
_PREDICATES = ("by", "value", "at", "follows", "posted", "tagged")

QUERIES = {
    "filter": "SELECT ?o ?v {window} { ?o :value ?v FILTER(?v > 95) } }",
    "star": "SELECT ?o ?s ?v ?r {window} { ?o :by ?s . ?o :value ?v . ?o :at ?r } }",
    "linear": "SELECT ?a ?b ?c ?d {window} { ?a :follows ?b . ?b :posted ?c . ?c :tagged ?d } }",
    "group": "SELECT ?s (COUNT(?v) AS ?n) (AVG(?v) AS ?m) {window} { ?o :by ?s . ?o :value ?v } } GROUP BY ?s",
    "static": "SELECT ?a ?b ?age {window} { ?a :follows ?b } ?b :livesIn :city7 . ?b :age ?age }",
}
"""The five queries; `{window}` is replaced by what precedes the window's patterns."""
_PREFIX = f"PREFIX : <{NAMESPACE}>\n"


def query_text(name: str, step: str = "1s", operator: str = "RSTREAM") -> str:
    """Return a query in RSP-QL."""
    window = f"FROM NAMED WINDOW :w ON :events [RANGE 5s STEP {step}] WHERE {{ WINDOW :w"
    return _PREFIX + QUERIES[name].replace("SELECT", f"SELECT {operator}").replace("{window}", window)


def plain_text(name: str) -> str:
    """Return a query in SPARQL, for a store that holds window and static data together."""
    return _PREFIX + QUERIES[name].replace("{window}", "WHERE {")


def triples(spark: SparkSession, rows: int) -> DataFrame:
    """Return the stream as texts: `t`, `seq`, `s`, `p`, `o`, one element a triple."""
    from pyspark.sql import functions as f

    i = f.col("id")
    turn = (i / 6).cast("bigint")
    position = (i % 6).cast("int")

    def draw(purpose: str, below: int) -> Column:
        return f.pmod(f.xxhash64(f.lit(purpose), turn), f.lit(below))

    def iri(kind: str, number: Column) -> Column:
        return f.concat(f.lit(f"<{NAMESPACE}{kind}"), number.cast("string"), f.lit(">"))

    a, b = draw("a", USERS), draw("b", USERS)
    hundredths = draw("value", 10_000)
    # Canonical decimals: no needless zeros.
    digits = f.regexp_replace(f.format_string("%d.%02d", f.floor(hundredths / 100), hundredths % 100), r"\.?0+$", "")
    whole = f.when(hundredths % 100 == 0, f.floor(hundredths / 100).cast("string")).otherwise(digits)
    value = f.concat(f.lit('"'), whole, f.lit(f'"^^<{XSD_DECIMAL}>'))
    subjects = [iri("o", turn)] * 3 + [iri("u", a), iri("u", b), iri("post", turn % POSTS)]
    objects = [
        iri("sensor", draw("sensor", SENSORS)),
        value,
        iri("room", draw("room", ROOMS)),
        iri("u", (a * 7 + turn) % USERS),
        iri("post", (b * 11 + turn) % POSTS),
        iri("tag", draw("tag", TAGS)),
    ]
    predicates = [f.lit(f"<{NAMESPACE}{name}>") for name in _PREDICATES]

    def by_position(values: list[Column]) -> Column:
        chosen = f.when(position == 0, values[0])
        for number, column in enumerate(values[1:], 1):
            chosen = chosen.when(position == number, column)
        return chosen

    return spark.range(rows).select(
        (i / RATE).cast("bigint").alias("t"),
        i.alias("seq"),
        by_position(subjects).alias("s"),
        by_position(predicates).alias("p"),
        by_position(objects).alias("o"),
    )


def write_parquet(spark: SparkSession, rows: int, target: Path) -> None:
    """Write the stream in the encoded schema, as `hydrograph convert` does."""
    write_spark(encode_columns(triples(spark, rows), "t", "seq"), target, salt=salt_of(STREAM))


def write_text(spark: SparkSession, rows: int, target: Path) -> None:
    """Write the stream as a directory of timed N-Triples."""
    from pyspark.sql import functions as f

    line = f.concat_ws(" ", "s", "p", "o", f.lit("."))
    parts = triples(spark, rows).orderBy("seq").select(f.concat(f.col("t").cast("string"), f.lit("\t"), line))
    parts.write.text(str(target))
    for file in sorted(target.glob("part-*")):
        file.rename(target / f"{file.name.split('-')[1]}.tnt")


def static_table() -> pa.Table:
    """Return the static graph: 60,000 triples about the users."""
    texts = []
    for user in range(USERS):
        subject = f"<{NAMESPACE}u{user}>"
        texts.append((subject, f"<{NAMESPACE}livesIn>", f"<{NAMESPACE}city{user * 7919 % CITIES}>"))
        texts.append((subject, f"<{NAMESPACE}age>", f'"{18 + user * 31 % 60}"^^<{XSD_INTEGER}>'))
        texts.append((subject, f"<{NAMESPACE}name>", f'"user {user}"'))
    rows = []
    for s, p, o in texts:
        item = encode_text(o)
        ids = encode_text(s).id, encode_text(p).id, item.id
        rows.append((s, p, o, *ids, int(item.kind), item.num, item.dec))
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), TRIPLES, strict=True)]
    return pa.table(columns, schema=TRIPLES)


_MILLION = 1_000_000
_OVERLAPPED = ("filter", "star", "linear", "static")
_SLIDE, _WIDTH = 1_000, 5_000
_PER_SLIDE = _SLIDE * RATE
_SEED, _MODULUS = 42, 2**64

Slide: TypeAlias = "list[str] | pa.Table"
"""Triples of a slide: lines of timed N-Triples, or rows with the columns s, p and o."""


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """Answers of the baseline, and the time of its measured part."""

    seconds: float
    store_seconds: float
    """Without the making of quads."""
    digests: list[ReportDigest]


def run_baseline(query: str, slides: Iterable[Slide], static: pa.Table | None) -> BaselineRun:
    """Answer `query` for every slide.

    The quickest way to quads in Python is pyoxigraph's own parser, for rows of Parquet as well.
    """
    store = WindowStore(quad_of)
    if static is not None:
        store.insert(_parse_quads("\n".join(_statements(static))))
    window: deque[list[ox.Quad]] = deque()
    digests = []
    spent, reading = 0.0, 0.0
    for number, slide in enumerate(slides):
        started = time.perf_counter()
        quads = _parse_quads(_slide_text(slide))
        reading += time.perf_counter() - started
        if len(window) == _WIDTH // _SLIDE:
            store.delete(window.popleft())
        store.insert(quads)
        window.append(quads)
        if len(window) == _WIDTH // _SLIDE:
            digests.append(_digest(store.select(query), (number + 1) * _SLIDE))
        spent += time.perf_counter() - started
    return BaselineRun(spent, spent - reading, digests)


def _digest(solutions: ox.QuerySolutions, t: int) -> ReportDigest:
    """Return row count and order-free hash, with the same definition as the engine's digests."""
    count, total = 0, 0
    for solution in solutions:
        hashed = _SEED
        for term in solution:
            hashed = xxh64_intdigest(str(term).encode(), hashed)
        total += hashed
        count += 1
    return ReportDigest(t, count, total % _MODULUS)


def _cut_slides(rows: Slide) -> list[Slide]:
    """Cut lines or rows in order of time into slides."""
    starts = range(0, len(rows) - _PER_SLIDE + 1, _PER_SLIDE)
    if isinstance(rows, pa.Table):
        return [rows.slice(start, _PER_SLIDE) for start in starts]
    return [rows[start : start + _PER_SLIDE] for start in starts]


def _slide_text(slide: Slide) -> str:
    if isinstance(slide, pa.Table):
        return "\n".join(_statements(slide))
    return "\n".join([line.partition("\t")[2] for line in slide])


def _parse_quads(text: str) -> list[ox.Quad]:
    return list(ox.parse(text.encode(), format=ox.RdfFormat.N_TRIPLES, lenient=True))


def _statements(table: pa.Table) -> Iterator[str]:
    columns = (table.column(name).to_pylist() for name in ("s", "p", "o"))
    return (f"{s} {p} {o} ." for s, p, o in zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class ReplayBenchmark:
    """Sizes and data of one invocation."""

    directory: Path
    rows: int
    baseline_rows: int
    growth_rows: int
    repeats: int
    session: SparkSession
    static: pa.Table

    @property
    def parquet(self) -> RecordedStream:
        """The stream in the encoded schema."""
        return open_stream(str(self.directory / f"parquet-{self.growth_rows}"), name=STREAM)

    @property
    def text(self) -> RecordedStream:
        """The stream as timed N-Triples."""
        return open_stream(str(self.directory / f"text-{self.rows}"), name=STREAM)

    def write_data(self) -> None:
        """Write the data that is not there yet."""
        for kind, rows, write in (
            ("parquet", self.growth_rows, write_parquet),
            ("text", self.rows, write_text),
        ):
            target = self.directory / f"{kind}-{rows}"
            if not target.exists():
                started = time.perf_counter()
                write(self.session, rows, target)
                _print(f"wrote {rows:,} triples as {kind} in {time.perf_counter() - started:.0f} s")

    def digests(self, text: str, stream: RecordedStream, rows: int) -> list[ReportDigest]:
        """Return the digests of a query over the first `rows` triples."""
        streams, last = {STREAM: stream}, rows // RATE
        query = api.query(text)
        with query.over(streams, self.static, until=last, placement="spark", session=self.session) as run:
            return list(run.digests())

    def median(self, measure: Callable[[], float]) -> float:
        """Return the median of several measurements, after one that warms up."""
        measure()
        return statistics.median(measure() for _ in range(self.repeats))

    def first_rows(self) -> pa.Table:
        """Return the rows that the baseline reads, in order of time."""
        files = ds.dataset(list(self.parquet.files), format="parquet")
        last = self.baseline_rows // RATE
        return files.to_table(columns=["s", "p", "o", "seq"], filter=ds.field("t") < last).sort_by("seq")

    def first_lines(self) -> list[str]:
        """Return the lines that the baseline reads."""
        lines: list[str] = []
        for file in sorted(Path(self.directory / f"text-{self.rows}").glob("*.tnt")):
            with file.open(encoding="utf-8") as opened:
                for line in opened:
                    lines.append(line.rstrip("\n"))
                    if len(lines) == self.baseline_rows:
                        return lines
        return lines


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _check_equal(name: str, ours: list[ReportDigest], theirs: list[ReportDigest]) -> None:
    """Raise MismatchError unless every report of the baseline has the same count and hash here."""
    by_time = {digest.t: digest for digest in ours}
    wrong = [digest for digest in theirs if by_time.get(digest.t) != digest]
    if wrong or not theirs:
        raise MismatchError(f"{name}: {len(wrong)} of {len(theirs)} reports differ, first {wrong[:1]}")


def measure_ratio(bench: ReplayBenchmark, *, text: bool) -> float:
    """Print and return the least ratio of the engine's speed to the baseline's over the five queries."""
    slides = _cut_slides(bench.first_lines() if text else bench.first_rows())
    read = len(slides) * _PER_SLIDE
    stream = bench.text if text else bench.parquet
    kind = "text" if text else "parquet"
    least = float("inf")
    for name in QUERIES:
        answer = partial(bench.digests, query_text(name), stream, bench.rows)
        ours = bench.median(partial(_seconds, answer))
        static = bench.static if name == "static" else None
        runs = [run_baseline(plain_text(name), slides, static) for _ in range(bench.repeats)]
        theirs = statistics.median(run.seconds for run in runs)
        store = read / statistics.median(run.store_seconds for run in runs)
        _check_equal(name, answer(), runs[0].digests)
        speed, other = bench.rows / ours, read / theirs
        least = min(least, speed / other)
        rows = statistics.mean(digest.rows for digest in runs[0].digests)
        _print(
            f"{kind:8}{name:8}{speed:>12,.0f} triples/s  pyoxigraph {other:>9,.0f}  ratio {speed / other:5.1f}"
            f"  (its store alone {store:>9,.0f}, ratio {speed / store:4.1f})"
            f"  {rows:7,.0f} rows a report, {len(runs[0].digests)} reports equal"
        )
    return least


def measure_growth(bench: ReplayBenchmark) -> float:
    """Print and return the greatest factor by which CPU grows from a tenth of the stream to all of it."""
    worst = 0.0
    for name in QUERIES:
        small, large = (
            bench.median(partial(cpu_seconds, partial(bench.digests, query_text(name), bench.parquet, rows)))
            for rows in (bench.growth_rows // 10, bench.growth_rows)
        )
        worst = max(worst, large / small)
        _print(f"growth  {name:8}{small:6.1f} CPU s for {bench.growth_rows // 10:,}  {large:6.1f} for ten times that")
    return worst


def measure_overlap(bench: ReplayBenchmark) -> float:
    """Print and return the greatest factor by which STEP 100ms instead of 1s slows filter and joins down."""
    worst = 0.0
    for name in _OVERLAPPED:
        coarse, fine = (
            bench.median(
                partial(
                    _seconds,
                    partial(bench.digests, query_text(name, step, "ISTREAM"), bench.parquet, bench.rows),
                )
            )
            for step in ("1s", "100ms")
        )
        worst = max(worst, fine / coarse)
        _print(f"overlap {name:8}{coarse:6.2f} s at STEP 1s  {fine:6.2f} s at STEP 100ms  factor {fine / coarse:.2f}")
    return worst


def main() -> None:
    """Measure everything and print the figures; the last line sums up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5 * _MILLION)
    parser.add_argument("--baseline-rows", type=int, default=_MILLION, help="triples that the baseline reads")
    parser.add_argument("--growth-rows", type=int, default=10 * _MILLION)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="keep the data here for another run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hydrograph-replay-") as temporary:
        directory = given.directory or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        session = spark_session()
        bench = ReplayBenchmark(
            directory,
            given.rows,
            min(given.rows, given.baseline_rows),
            max(given.rows, given.growth_rows),
            given.repeats,
            session,
            static_table(),
        )
        bench.write_data()
        parquet, text = measure_ratio(bench, text=False), measure_ratio(bench, text=True)
        growth, overlap = measure_growth(bench), measure_overlap(bench)
        session.stop()
    _print(f"replay: parquet {parquet:.1f} text {text:.1f} growth {growth:.1f} overlap {overlap:.2f}")


if __name__ == "__main__":
    main()

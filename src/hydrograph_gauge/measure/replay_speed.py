"""`make bench-replay`: speed of replay beside a pyoxigraph baseline, growth with the stream, and cost of overlap.

Bars: at least 6 times the baseline on Parquet and 3 times with text parsed on both sides, for each query; CPU from 1 to
10 million triples at most 11 times; STEP 100ms instead of 1s at most 1.5 times for filter and joins (Istream). The last
line is `replay: parquet <ratio> text <ratio> growth <factor> overlap <factor>`.

The baseline is the best that a practitioner can build: one pyoxigraph store to which each slide adds its triples and
from which it removes the oldest ones, queried once a slide.
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
from hydrograph.runtime.reports import ReportDigest
from hydrograph.runtime.session import spark_session
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph_gauge.engines.resources import cpu_seconds
from hydrograph_gauge.measure import replay_stream
from hydrograph_gauge.oracle.window_store import WindowStore, quad_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MILLION = 1_000_000
_OVERLAPPED = ("filter", "star", "linear", "static")
_SLIDE, _WIDTH = 1_000, 5_000
_PER_SLIDE = _SLIDE * replay_stream.RATE
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
        return open_stream(str(self.directory / f"parquet-{self.growth_rows}"), name=replay_stream.STREAM)

    @property
    def text(self) -> RecordedStream:
        """The stream as timed N-Triples."""
        return open_stream(str(self.directory / f"text-{self.rows}"), name=replay_stream.STREAM)

    def write_data(self) -> None:
        """Write the data that is not there yet."""
        for kind, rows, write in (
            ("parquet", self.growth_rows, replay_stream.write_parquet),
            ("text", self.rows, replay_stream.write_text),
        ):
            target = self.directory / f"{kind}-{rows}"
            if not target.exists():
                started = time.perf_counter()
                write(self.session, rows, target)
                _print(f"wrote {rows:,} triples as {kind} in {time.perf_counter() - started:.0f} s")

    def digests(self, text: str, stream: RecordedStream, rows: int) -> list[ReportDigest]:
        """Return the digests of a query over the first `rows` triples."""
        streams, last = {replay_stream.STREAM: stream}, rows // replay_stream.RATE
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
        last = self.baseline_rows // replay_stream.RATE
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
    for name in replay_stream.QUERIES:
        answer = partial(bench.digests, replay_stream.query_text(name), stream, bench.rows)
        ours = bench.median(partial(_seconds, answer))
        static = bench.static if name == "static" else None
        runs = [run_baseline(replay_stream.plain_text(name), slides, static) for _ in range(bench.repeats)]
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
    for name in replay_stream.QUERIES:
        small, large = (
            bench.median(
                partial(cpu_seconds, partial(bench.digests, replay_stream.query_text(name), bench.parquet, rows))
            )
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
                    partial(bench.digests, replay_stream.query_text(name, step, "ISTREAM"), bench.parquet, bench.rows),
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
            replay_stream.static_table(),
        )
        bench.write_data()
        parquet, text = measure_ratio(bench, text=False), measure_ratio(bench, text=True)
        growth, overlap = measure_growth(bench), measure_overlap(bench)
        session.stop()
    _print(f"replay: parquet {parquet:.1f} text {text:.1f} growth {growth:.1f} overlap {overlap:.2f}")


if __name__ == "__main__":
    main()

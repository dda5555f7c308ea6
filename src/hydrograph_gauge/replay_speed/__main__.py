"""`make bench-replay`: triples a second of the engine and of the baseline, growth with the stream, cost of overlap.

Bars: at least 6 times the baseline on Parquet and 3 times with text parsed on both sides, for each query; CPU from 1 to
10 million triples at most 11 times; STEP 100ms instead of 1s at most 1.5 times for filter and joins (Istream).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds

from hydrograph import api
from hydrograph.errors import MismatchError
from hydrograph.runtime.digest import Digest
from hydrograph.runtime.session import spark_session
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph_gauge.engines.resources import cpu_seconds
from hydrograph_gauge.replay_speed import baseline, world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MILLION = 1_000_000
_OVERLAPPED = ("filter", "star", "linear", "static")


@dataclass(frozen=True, slots=True)
class Gate:
    """What one invocation measures."""

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
        return open_stream(str(self.directory / f"parquet-{self.growth_rows}"), name=world.STREAM)

    @property
    def text(self) -> RecordedStream:
        """The stream as timed N-Triples."""
        return open_stream(str(self.directory / f"text-{self.rows}"), name=world.STREAM)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def prepare(gate: Gate) -> None:
    """Write the data that is not there yet."""
    for kind, rows, write in (
        ("parquet", gate.growth_rows, world.write_parquet),
        ("text", gate.rows, world.write_text),
    ):
        target = gate.directory / f"{kind}-{rows}"
        if not target.exists():
            started = time.perf_counter()
            write(gate.session, rows, target)
            say(f"wrote {rows:,} triples as {kind} in {time.perf_counter() - started:.0f} s")


def digests(gate: Gate, text: str, stream: RecordedStream, rows: int) -> list[Digest]:
    """Return the digests of a query over the first `rows` triples."""
    last = rows // world.RATE
    query = api.query(text)
    with query.over({world.STREAM: stream}, gate.static, until=last, placement="spark", session=gate.session) as run:
        return list(run.digests())


def median(repeats: int, measure: Callable[[], float]) -> float:
    """Return the median of several measurements, after one that warms up."""
    measure()
    return statistics.median(measure() for _ in range(repeats))


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def check(name: str, ours: list[Digest], theirs: list[Digest]) -> None:
    """Stop unless every report of the baseline has the same count and hash here."""
    found = {digest.t: digest for digest in ours}
    wrong = [digest for digest in theirs if found.get(digest.t) != digest]
    if wrong or not theirs:
        raise MismatchError(f"{name}: {len(wrong)} of {len(theirs)} reports differ, first {wrong[:1]}")


def ratios(gate: Gate, *, text: bool) -> float:
    """Print and return the least ratio of the engine's speed to the baseline's over the five queries."""
    slides = baseline.line_slides(_lines(gate)) if text else baseline.row_slides(_rows(gate))
    read = len(slides) * baseline.PER_SLIDE
    stream = gate.text if text else gate.parquet
    kind = "text" if text else "parquet"
    least = float("inf")
    for name in world.QUERIES:
        wanted = world.query_text(name)
        ours = median(gate.repeats, lambda q=wanted: seconds(lambda: digests(gate, q, stream, gate.rows)))  # type: ignore[misc]
        timed = [_baseline(gate, name, slides) for _ in range(gate.repeats)]
        theirs = statistics.median(run.seconds for run in timed)
        store = read / statistics.median(run.store_seconds for run in timed)
        check(name, digests(gate, wanted, stream, gate.rows), timed[0].digests)
        speed, other = gate.rows / ours, read / theirs
        least = min(least, speed / other)
        rows = statistics.mean(digest.rows for digest in timed[0].digests)
        say(
            f"{kind:8}{name:8}{speed:>12,.0f} triples/s  pyoxigraph {other:>9,.0f}  ratio {speed / other:5.1f}"
            f"  (its store alone {store:>9,.0f}, ratio {speed / store:4.1f})"
            f"  {rows:7,.0f} rows a report, {len(timed[0].digests)} reports equal"
        )
    return least


def _baseline(gate: Gate, name: str, slides: list[baseline.Slide]) -> baseline.Timed:
    static = gate.static if name == "static" else None
    return baseline.run(world.plain_text(name), slides, static)


def _rows(gate: Gate) -> pa.Table:
    """Return the first rows of the Parquet files in order of time, as many as the baseline is given."""
    files = ds.dataset(list(gate.parquet.files), format="parquet")
    last = gate.baseline_rows // world.RATE
    return files.to_table(columns=["s", "p", "o", "seq"], filter=ds.field("t") < last).sort_by("seq")


def _lines(gate: Gate) -> list[str]:
    """Return the first lines of the text, as many as the baseline is given."""
    lines: list[str] = []
    for file in sorted(Path(gate.directory / f"text-{gate.rows}").glob("*.tnt")):
        with file.open(encoding="utf-8") as opened:
            for line in opened:
                lines.append(line.rstrip("\n"))
                if len(lines) == gate.baseline_rows:
                    return lines
    return lines


def growth(gate: Gate) -> float:
    """Print and return the greatest factor by which CPU grows from a tenth of the stream to all of it."""
    worst = 0.0
    stream = gate.parquet
    for name in world.QUERIES:
        text = world.query_text(name)

        def spent(rows: int, text: str = text) -> float:
            return median(gate.repeats, lambda: cpu_seconds(lambda: digests(gate, text, stream, rows)))

        small, large = spent(gate.growth_rows // 10), spent(gate.growth_rows)
        worst = max(worst, large / small)
        say(f"growth  {name:8}{small:6.1f} CPU s for {gate.growth_rows // 10:,}  {large:6.1f} for ten times that")
    return worst


def overlap(gate: Gate) -> float:
    """Print and return the greatest factor by which STEP 100ms instead of 1s slows filter and joins down."""
    worst = 0.0
    stream = gate.parquet
    for name in _OVERLAPPED:

        def spent(step: str, name: str = name) -> float:
            text = world.query_text(name, step, "ISTREAM")
            return median(gate.repeats, lambda: seconds(lambda: digests(gate, text, stream, gate.rows)))

        coarse, fine = spent("1s"), spent("100ms")
        worst = max(worst, fine / coarse)
        say(f"overlap {name:8}{coarse:6.2f} s at STEP 1s  {fine:6.2f} s at STEP 100ms  factor {fine / coarse:.2f}")
    return worst


def main() -> None:
    """Measure everything and print the figures; the last line sums up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5 * _MILLION)
    parser.add_argument("--baseline-rows", type=int, default=_MILLION, help="the baseline reads the first so many")
    parser.add_argument("--growth-rows", type=int, default=10 * _MILLION)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="keep the data here for another run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hydrograph-replay-") as temporary:
        directory = given.directory or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        session = spark_session()
        gate = Gate(
            directory,
            given.rows,
            min(given.rows, given.baseline_rows),
            max(given.rows, given.growth_rows),
            given.repeats,
            session,
            world.static_table(),
        )
        prepare(gate)
        parquet, text = ratios(gate, text=False), ratios(gate, text=True)
        grown, overlapped = growth(gate), overlap(gate)
        session.stop()
    say(f"replay: parquet {parquet:.1f} text {text:.1f} growth {grown:.1f} overlap {overlapped:.2f}")


if __name__ == "__main__":
    main()

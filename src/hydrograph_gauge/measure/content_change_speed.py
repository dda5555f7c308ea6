"""Speed of replay with reports on content change.

`python -m hydrograph_gauge.measure.content_change_speed` prints triples a second. Every element is an instant of its
own, as in CQELS.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from hydrograph import api
from hydrograph.streams.formats.parquet import write_arrow
from hydrograph.streams.sources import events_as_arrow, open_stream

SENSORS = 2_000
NAMESPACE = "http://example.org/"
_TEMPERATURE, _HUMIDITY = (f"<{NAMESPACE}{name}>" for name in ("temperature", "humidity"))
_BLOCK = f"STREAM <{NAMESPACE}readings> [RANGE 1s]"
QUERIES = {
    "filter": f"SELECT ?s ?v {{ {_BLOCK} {{ ?s {_TEMPERATURE} ?v FILTER(?v > 990) }} }}",
    "join": f"SELECT ?s ?v ?h {{ {_BLOCK} {{ ?s {_TEMPERATURE} ?v . ?s {_HUMIDITY} ?h "
    "FILTER(?v > 900 && ?h > 900) } }",
    "count": f"SELECT ?s (COUNT(?v) AS ?n) {{ {_BLOCK} {{ ?s {_TEMPERATURE} ?v FILTER(?v > 500) }} }} GROUP BY ?s",
}


def write_readings(path: Path, rate: int, seconds: int) -> None:
    """Write `rate` elements of one triple for each second of event time; the same arguments give the same file."""
    rng = Random(rate)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rate * seconds):
            sensor, value = rng.randrange(SENSORS), rng.randrange(1_000)
            what = rng.choice((_TEMPERATURE, _HUMIDITY))
            literal = f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            file.write(f"{number * 1_000 // rate}\t<{NAMESPACE}s{sensor}> {what} {literal} .\n")


def main(arguments: list[str] | None = None) -> None:
    """Measure each query over a Parquet recording, the first one twice: Spark is slow at first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=10_000, help="elements for each second of event time")
    parser.add_argument("--seconds", type=int, default=60, help="seconds of event time")
    parser.add_argument("--placement", default="spark", choices=["spark", "local"])
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        text, recorded = Path(directory) / "readings.tnt", Path(directory) / "recorded"
        write_readings(text, options.rate, options.seconds)
        stream = open_stream(str(text), name=f"{NAMESPACE}readings")
        write_arrow(events_as_arrow(stream), recorded, salt=stream.salt)
        for number, name in enumerate([next(iter(QUERIES)), *QUERIES]):
            start = time.perf_counter()
            with api.query(QUERIES[name]).over(str(recorded), placement=options.placement) as run:
                reports = sum(1 for _ in run.digests())
            took = time.perf_counter() - start
            rate = options.rate * options.seconds / took
            note = " (first run)" if number == 0 else ""
            sys.stdout.write(f"{name}{note}: {reports} reports in {took:.1f} s, {rate:,.0f} triples/s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

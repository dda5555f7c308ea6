"""Memory of a live query: bytes of the process per row of its windows, while they fill up.

`python -m tests.support.memory_per_row join aggregate` prints a line for each query. The placement `auto`
moves queries to Spark by these figures.
"""

from __future__ import annotations

import click
import numpy as np
import psutil
import pyarrow as pa

from hydrograph import api
from hydrograph.live.driver.placement_policy import state_bytes
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.step.records import InputBatch, QueryRecord, QuerySpec, partition_of
from hydrograph.live.step.state import State
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph_gauge.measure.load import QUERIES, STREAM, make_slices

_RATE = 10_000
_MILLISECONDS = 16_000
_SAMPLE = 2_000
"""Milliseconds of the stream between two samples."""


def _received(events: pa.Table) -> pa.Table:
    """Return a copy of the rows in memory of its own, as a source returns them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, events.schema) as writer:
        writer.write_table(events)
    return pa.ipc.open_stream(sink.getvalue().to_pybytes()).read_all()


def measure_memory(query: str) -> list[tuple[int, int, int, int]]:
    """Fill a window of 20 s; return samples of its rows, kept rows, bytes of both, and peak memory of the process."""
    parsed = api.query(QUERIES[query].replace("RANGE 5s", "RANGE 20s"))
    planned = plan(parsed.algebra, parsed.profile, 0)
    stream, process = Iri(STREAM), psutil.Process()
    samples = []
    with Local(2, small=True) as placed:
        registered = QuerySpec(name=query, plan=planned, partitions=(partition_of(stream),))
        stepper = Stepper(registered, StaticGraphs(), EvaluationChoice(placed))
        state, record, at, most = State(), QueryRecord(), 0, 0
        for part in make_slices(_RATE, _MILLISECONDS, passing=True):
            arrivals = [InputBatch(stream, _received(part.events), at, at + part.events.num_rows)]
            at += part.events.num_rows
            decision = stepper.decide(state, arrivals, record)
            state, _, record = stepper.work(state, arrivals, record, decision)
            most = max(most, process.memory_info().rss)
            if part.start % _SAMPLE == _SAMPLE // 2:
                samples.append((state.size, stepper.evaluation.kept_rows, state_bytes(state), most))
                most = 0
    return samples


@click.command()
@click.argument("queries", nargs=-1, type=click.Choice([*QUERIES]))
def main(queries: tuple[str, ...]) -> None:
    """Print the memory that each query needs per row of its windows."""
    for query in queries:
        rows, kept, own, most = np.array(measure_memory(query)[1:], float).T
        slope, bytes_each = (np.polyfit(rows, values, 1)[0] for values in (most, own))
        times, beside = slope / bytes_each, kept[-1] / rows[-1]
        click.echo(
            f"{query}: {slope:.0f} bytes for a row of {bytes_each:.0f}, {times:.1f} times; "
            f"{beside:.2f} kept rows for each: {times / (1 + beside):.1f} times for each of both"
        )


if __name__ == "__main__":
    main()

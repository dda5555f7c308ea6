"""Stream WatDiv's queries as live queries: latency of each class at the rate of a generated shop's stream.

The published queries come first; where a class has fewer that read the stream, generated ones follow whose shape is
that of the class. All of them have answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hydrograph import api
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language import DIALECTS
from hydrograph.streams.schema import EVENTS
from hydrograph.windows.profile import preset
from hydrograph_gauge.features.structure import Kind, structure
from hydrograph_gauge.features.wanted import read_conditions
from hydrograph_gauge.features.workload import search
from hydrograph_gauge.live_load.load import RANGE, SLICE, STEP, WARM, Measured, Slice, played
from hydrograph_gauge.worlds.manifest import WorldManifest
from hydrograph_gauge.worlds.queries.constants import constants_for
from hydrograph_gauge.worlds.queries.load import SOURCE, query_set
from hydrograph_gauge.worlds.queries.places import static_graphs
from hydrograph_gauge.worlds.workload.data import WorldData
from hydrograph_gauge.worlds.workload.generate import Generator, Workload
from hydrograph_gauge.worlds.workload.instances import continuous

PUBLISHED = {Kind.PURE: 301.25, Kind.HYBRID: 651.4}
"""C-SPARQL's mean latency in milliseconds at 10,000 triples a second, windows sliding, as Stream WatDiv published it.

Tumbling ones took 493.89 and 873.52.
"""
_CLASSES = {"l": "linear", "s": "star", "f": "snowflake", "c": "complex"}
_TRIES = 3_000
LOOK = {placement: warm + 10_000 for placement, warm in WARM.items()}
"""Milliseconds of the stream that are played: until the engine is warm, and ten reports more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of a class."""

    name: str
    shape: str
    kind: Kind
    query: ContinuousQuery

    @property
    def continuous(self) -> api.Query:
        """The query with the habits of the language in which the set is written."""
        return api.Query(self.query, preset(DIALECTS[SOURCE].preset))


def shop_queries(world: Path, each: int) -> Iterator[Asked]:
    """Return so many queries of each class and kind, as far as there are any, published ones first."""
    found = [*_published(world)]
    for shape in _CLASSES.values():
        for kind in (Kind.PURE, Kind.HYBRID):
            own = [asked for asked in found if (asked.shape, asked.kind) == (shape, kind)][:each]
            yield from own
            if shape != "snowflake" and len(own) < each:  # generated queries are not told apart from stars
                yield from _generated(world, shape, kind, each - len(own))


def _published(world: Path) -> Iterator[Asked]:
    constants = constants_for("watdiv", world)
    for query in query_set("watdiv"):
        parsed = api.query(query.text(constants), dialect=SOURCE).algebra
        kind = structure(parsed).kind
        if query.name[0] in _CLASSES and kind is not Kind.STATIC:
            asked = Asked(query.name, _CLASSES[query.name[0]], kind, parsed)
            if _has_answers(world, asked):
                yield asked


def _generated(world: Path, shape: str, kind: Kind, number: int) -> Iterator[Asked]:
    patterns = 8 if shape == "complex" else 5  # of five that only read the stream, none is complex
    settings = Workload(number=_TRIES, patterns=patterns, window=RANGE, slide=STEP, data=world)
    wanted = read_conditions(f"kind = {kind}, shape = {shape}, patterns > 1")
    with WorldData(world) as data:
        generator = Generator(settings, data)
        found = 0
        for kept in search(generator, wanted, None, _TRIES):
            if kept is None:
                continue
            name, made, _, _ = kept.queries[0]
            asked = Asked(
                f"{shape}-{kind}-{name}", shape, kind, continuous(made, generator.model, settings.time_window)
            )
            if _has_answers(world, asked):
                yield asked
                found += 1
                if found == number:
                    return


def _has_answers(world: Path, asked: Asked) -> bool:
    """Tell by replay whether there are answers at all in the part of the stream that is played."""
    (stream,) = WorldManifest.read(world).streams.values()
    first = stream.first or 0
    with asked.continuous.over(
        world / stream.path, static_graphs(world), placement="local", until=first + min(LOOK.values())
    ) as run:
        return any(report.rows for report in run.reports())


def shop_slices(world: Path, milliseconds: int) -> list[Slice]:
    """Return the start of the world's stream in slices of equal length."""
    (stream,) = WorldManifest.read(world).streams.values()
    tables = []
    for name in stream.files:
        table = pq.read_table(world / stream.path / name)
        tables.append(table.filter(pc.less(table.column("t"), milliseconds)))
        if tables[-1].num_rows < table.num_rows:
            break
    rows = pa.concat_tables(tables).sort_by([("t", "ascending"), ("seq", "ascending")])
    rows = rows.select(EVENTS.names).cast(EVENTS).combine_chunks()
    starts = np.arange(0, milliseconds + SLICE, SLICE)
    places = np.searchsorted(rows.column("t").to_numpy(), starts)
    pairs = zip(starts[:-1].tolist(), places[:-1].tolist(), places[1:].tolist(), strict=True)
    return [Slice(start, rows.slice(first, last - first)) for start, first, last in pairs if last > first]


def measure_shop(world: Path, asked: Asked, parts: list[Slice], *, placement: str) -> Measured:
    """Play the shop's stream to one query."""
    return played(asked.continuous, parts, static_graphs(world), placement=placement)


def class_lines(found: Iterable[tuple[Asked, Measured]]) -> Iterator[str]:
    """Return a line for each class and kind: percentiles over the reports of its queries, beside the published mean."""
    groups: dict[tuple[str, Kind], list[tuple[Asked, Measured]]] = {}
    for asked, measured in found:
        groups.setdefault((asked.shape, asked.kind), []).append((asked, measured))
    for (shape, kind), members in groups.items():
        together = Measured([latency for _, measured in members for latency in measured.latencies])
        names = ", ".join(f"{asked.name} ({measured.rows} rows)" for asked, measured in members)
        yield (
            f"{shape} {kind}: p50 {together.percentile(0.5):.0f} ms, p95 {together.percentile(0.95):.0f} ms; "
            f"C-SPARQL, published: {PUBLISHED[kind]:.0f} ms; {names}"
        )

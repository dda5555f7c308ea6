"""Stream WatDiv's queries as live queries: latency of each class at the rate of a generated shop's stream.

Published queries come first. A class with too few of them that read the stream is filled up with generated queries of
its shape. All of them have answers.
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
from hydrograph_gauge.features.conditions import read_conditions
from hydrograph_gauge.features.structure import QueryKind, find_structure
from hydrograph_gauge.measure.latency import WARM_UP, LatencyFigures, play_live
from hydrograph_gauge.measure.load import RANGE, SLICE, STEP, EventSlice
from hydrograph_gauge.queries.constants import choose_constants
from hydrograph_gauge.queries.query_sets import SOURCE, locate_static_graphs, read_query_set
from hydrograph_gauge.workload_generator.generator import TemplateGenerator, WorkloadSettings
from hydrograph_gauge.workload_generator.instances import build_query
from hydrograph_gauge.workload_generator.search import search_templates
from hydrograph_gauge.workload_generator.world_data import WorldData
from hydrograph_gauge.worlds.manifest import WorldManifest

PUBLISHED = {QueryKind.PURE: 301.25, QueryKind.HYBRID: 651.4}
"""C-SPARQL's mean latency in milliseconds at 10,000 triples a second, windows sliding, as Stream WatDiv published it.

Tumbling ones took 493.89 and 873.52.
"""
_CLASSES = {"l": "linear", "s": "star", "f": "snowflake", "c": "complex"}
_TRIES = 3_000
PLAYED = {placement: warm + 10_000 for placement, warm in WARM_UP.items()}
"""Milliseconds of the stream that are played: the warm-up and ten reports."""


@dataclass(frozen=True, slots=True)
class WatDivQuery:
    """A query of a class."""

    name: str
    shape: str
    kind: QueryKind
    query: ContinuousQuery

    @property
    def continuous(self) -> api.Query:
        """The query with the profile of the language in which the set is written."""
        return api.Query(self.query, preset(DIALECTS[SOURCE].preset))


def choose_queries(world: Path, each: int) -> Iterator[WatDivQuery]:
    """Yield up to `each` queries of every class and kind, published ones first."""
    found = [*_published(world)]
    for shape in _CLASSES.values():
        for kind in (QueryKind.PURE, QueryKind.HYBRID):
            own = [asked for asked in found if (asked.shape, asked.kind) == (shape, kind)][:each]
            yield from own
            if shape != "snowflake" and len(own) < each:  # the generator does not distinguish them from stars
                yield from _generated(world, shape, kind, each - len(own))


def _published(world: Path) -> Iterator[WatDivQuery]:
    constants = choose_constants("watdiv", world)
    for query in read_query_set("watdiv"):
        parsed = api.query(query.text(constants), dialect=SOURCE).algebra
        kind = find_structure(parsed).kind
        if query.name[0] in _CLASSES and kind is not QueryKind.STATIC:
            asked = WatDivQuery(query.name, _CLASSES[query.name[0]], kind, parsed)
            if _has_answers(world, asked):
                yield asked


def _generated(world: Path, shape: str, kind: QueryKind, number: int) -> Iterator[WatDivQuery]:
    patterns = 8 if shape == "complex" else 5  # of five that only read the stream, none is complex
    settings = WorkloadSettings(number=_TRIES, patterns=patterns, window=RANGE, slide=STEP, data=world)
    wanted = read_conditions(f"kind = {kind}, shape = {shape}, patterns > 1")
    with WorldData(world) as data:
        generator = TemplateGenerator(settings, data)
        found = 0
        for kept in search_templates(generator, wanted, None, _TRIES):
            if kept is None:
                continue
            name, made, _, _ = kept.queries[0]
            asked = WatDivQuery(
                f"{shape}-{kind}-{name}", shape, kind, build_query(made, generator.model, settings.time_window)
            )
            if _has_answers(world, asked):
                yield asked
                found += 1
                if found == number:
                    return


def _has_answers(world: Path, asked: WatDivQuery) -> bool:
    """Tell by replay whether the query has answers in the part of the stream that is played."""
    (stream,) = WorldManifest.read(world).streams.values()
    first = stream.first or 0
    with asked.continuous.over(
        world / stream.path, locate_static_graphs(world), placement="local", until=first + min(PLAYED.values())
    ) as run:
        return any(report.rows for report in run.reports())


def read_slices(world: Path, milliseconds: int) -> list[EventSlice]:
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
    return [EventSlice(start, rows.slice(first, last - first)) for start, first, last in pairs if last > first]


def measure_query(world: Path, asked: WatDivQuery, parts: list[EventSlice], *, placement: str) -> LatencyFigures:
    """Play the shop's stream to one query."""
    return play_live(asked.continuous, parts, locate_static_graphs(world), placement=placement)


def format_classes(found: Iterable[tuple[WatDivQuery, LatencyFigures]]) -> Iterator[str]:
    """Yield a line for each class and kind: percentiles over the reports of its queries, and the published mean."""
    groups: dict[tuple[str, QueryKind], list[tuple[WatDivQuery, LatencyFigures]]] = {}
    for asked, measured in found:
        groups.setdefault((asked.shape, asked.kind), []).append((asked, measured))
    for (shape, kind), members in groups.items():
        together = LatencyFigures([latency for _, measured in members for latency in measured.latencies])
        names = ", ".join(f"{asked.name} ({measured.rows} rows)" for asked, measured in members)
        yield (
            f"{shape} {kind}: p50 {together.percentile(0.5):.0f} ms, p95 {together.percentile(0.95):.0f} ms; "
            f"C-SPARQL, published: {PUBLISHED[kind]:.0f} ms; {names}"
        )

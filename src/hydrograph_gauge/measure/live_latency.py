"""`make bench-live`: latency of live queries beside other engines, cost of longer windows, and highest sustained rate.

Stream WatDiv's queries are measured by class at the rate of a generated shop's stream: published queries first, and
generated ones for a class with too few that read the stream. The last line is
`live: p50 <ms> p95 <ms> held <triples/s> lag <flat|growing>`, for the three-way join in the first placement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hydrograph import api
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import RunError
from hydrograph.language import DIALECTS
from hydrograph.streams.schema import EVENTS
from hydrograph.windows.profile import preset
from hydrograph_gauge.experiments.max_rate import find_max_rate
from hydrograph_gauge.features.conditions import read_conditions
from hydrograph_gauge.features.structure import QueryKind, find_structure
from hydrograph_gauge.measure.latency import (
    WARM_UP,
    LatencyFigures,
    measure_changes,
    measure_engine,
    measure_live,
    measure_window,
    play_live,
)
from hydrograph_gauge.measure.load import CHANGE_QUERIES, GROWTH_QUERIES, QUERIES, RANGE, SLICE, STEP, EventSlice
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


ENGINES = ("oxigraph", "oxigraph-periodic")
_LOWEST, _HIGHEST = 25_000, 800_000
"""Triples a second between which the highest sustained rate is searched."""
_CLOSE = 1.2
_MOST_BEHIND, _MOST_LATENCY = 1_000, 2_000
"""Milliseconds of a sustained rate: delay of the player, and 95th percentile of latency."""


@click.command()
@click.option("--seconds", default=60, show_default=True, help="Length of each run.")
@click.option("--rate", default=10_000, show_default=True, help="Triples a second for latencies.")
@click.option("--placement", "placements", multiple=True, default=("local", "spark"), show_default=True)
@click.option("--query", "queries", multiple=True, default=tuple(QUERIES), show_default=True)
@click.option("--engine", "engines", multiple=True, default=ENGINES, show_default=True, help="Others, for comparison.")
@click.option("--others/--no-others", default=True, show_default=True, help="Also measure the other engines.")
@click.option("--changes/--no-changes", default=True, show_default=True, help="Also report on content change.")
@click.option("--watdiv/--no-watdiv", default=True, show_default=True, help="Also measure Stream WatDiv's queries.")
@click.option("--shop", type=click.Path(exists=True, path_type=Path), help="A generated shop, instead of a new one.")
@click.option("--shop-each", default=3, show_default=True, help="Stream WatDiv's queries of each class and kind.")
@click.option("--growth/--no-growth", default=True, show_default=True, help="Also compare windows of several lengths.")
@click.option("--held/--no-held", default=True, show_default=True, help="Also search for the highest sustained rate.")
def main(
    seconds: int,
    rate: int,
    placements: tuple[str, ...],
    queries: tuple[str, ...],
    engines: tuple[str, ...],
    shop: Path | None,
    shop_each: int,
    *,
    others: bool,
    changes: bool,
    watdiv: bool,
    growth: bool,
    held: bool,
) -> None:
    """Measure the latency of one query at a time, the cost of longer windows, and the highest rate of a join."""
    join: LatencyFigures | None = None
    for placement in placements:
        for query in queries:
            figures = measure_live(query, rate, seconds, placement=placement)
            click.echo(f"{placement} {query}: {figures.describe()}")
            if query == "join" and join is None:
                join = figures
    for engine in engines if others else ():
        for query in queries:
            _echo(f"{engine} {query}", lambda e=engine, q=query: measure_engine(e, q, rate, seconds))  # type: ignore[misc]
    for placement in placements if changes else ():
        for query in CHANGE_QUERIES:
            # On Spark every report is evaluated over the whole window, and there is one for each element.
            _echo(
                f"{placement} {query}, from element to answer",
                lambda p=placement, q=query: measure_changes(q, rate, seconds, placement=p),  # type: ignore[misc]
            )
    if watdiv:
        with _open_shop(shop, rate) as world:
            _measure_watdiv(world, placements, shop_each)
    if growth:
        for query in GROWTH_QUERIES:
            click.echo(f"{placements[0]} {query}: {_describe_growth(query, rate, placements[0])}")
    highest = _find_highest(seconds, rate, placements[0]) if held else 0
    if join is None:
        join = measure_live("join", rate, seconds, placement=placements[0])
    click.echo(f"live: p50 {join.percentile(0.5):.0f} p95 {join.percentile(0.95):.0f} held {highest} lag {join.lag}")


def _echo(label: str, measure: Callable[[], LatencyFigures]) -> None:
    """Print the figures of a measurement, or why there are none."""
    try:
        words = measure().describe()
    except RunError as error:
        words = str(error)
    click.echo(f"{label}: {words}")


@contextmanager
def _open_shop(given: Path | None, rate: int) -> Iterator[Path]:
    """Return the folder of a shop whose stream is long enough at such a rate."""
    if given is not None:
        yield given
        return
    from hydrograph.runtime.session import spark_session
    from hydrograph_gauge.worlds.shop.world import WORLD, ShopSettings
    from hydrograph_gauge.worlds.writer import write_world

    scale = 1 + rate * max(PLAYED.values()) // 50_000_000  # a scale of one gives more than fifty thousand triples
    with tempfile.TemporaryDirectory(prefix="hydrograph-shop-") as directory:
        target = Path(directory) / "shop"
        write_world(spark_session(), WORLD, ShopSettings(rate=rate, stream=scale), target)
        yield target


def _measure_watdiv(world: Path, placements: tuple[str, ...], each: int) -> None:

    queries = [*choose_queries(world, each)]
    for placement in placements:
        slices, figures = read_slices(world, PLAYED[placement]), []
        for query in queries:
            figures.append((query, measure_query(world, query, slices, placement=placement)))
            click.echo(f"{placement} Stream WatDiv {query.name}: {figures[-1][1].describe()}")
        for line in format_classes(figures):
            click.echo(f"{placement} Stream WatDiv {line}")


def _describe_growth(query: str, rate: int, placement: str) -> str:
    """Return the processor time per triple with longer windows and shorter steps, beside that of the usual window.

    Only the last third of each run counts, when the windows are full.
    """
    cpu = {}
    for span, seconds in (("RANGE 5s STEP 1s", 30), ("RANGE 60s STEP 1s", 90), ("RANGE 5s STEP 100ms", 30)):
        cpu[span] = measure_window(query, rate, seconds, span, placement=placement).cpu
    first, *others = cpu.items()
    words = [f"{span} {spent:.1f} us ({spent / first[1]:.2f} times)" for span, spent in others]
    return f"{first[0]} {first[1]:.1f} us of processor a triple; {', '.join(words)}"


def _find_highest(seconds: int, rate: int, placement: str) -> int:
    """Return the highest sustained rate of the join."""

    def why_not(rate: float) -> str:
        figures = measure_live("join", round(rate), seconds, placement=placement)
        late = figures.behind >= _MOST_BEHIND or figures.percentile(0.95) >= _MOST_LATENCY
        why = "lag grows" if figures.lag != "flat" else "late" if late else ""
        click.echo(f"{placement} join at {rate:,.0f} triples/s: {figures.describe()}: {'not held' if why else 'held'}")
        return why

    highest, _ = find_max_rate(why_not, max(_LOWEST, rate), _HIGHEST, climb=2, close=_CLOSE)
    return round(highest)


if __name__ == "__main__":
    main()

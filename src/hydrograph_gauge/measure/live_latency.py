"""`make bench-live`: latency of live queries beside other engines, cost of longer windows, and highest sustained rate.

The last line is `live: p50 <ms> p95 <ms> held <triples/s> lag <flat|growing>`, for the three-way join in the first
placement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hydrograph.errors import RunError
from hydrograph_gauge.experiments.max_rate import find_max_rate
from hydrograph_gauge.measure.latency import (
    LatencyFigures,
    measure_changes,
    measure_engine,
    measure_live,
    measure_window,
)
from hydrograph_gauge.measure.load import CHANGE_QUERIES, GROWTH_QUERIES, QUERIES

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
    from hydrograph_gauge.measure.watdiv_queries import PLAYED
    from hydrograph_gauge.worlds.shop.world import WORLD, ShopSettings
    from hydrograph_gauge.worlds.writer import write_world

    scale = 1 + rate * max(PLAYED.values()) // 50_000_000  # a scale of one gives more than fifty thousand triples
    with tempfile.TemporaryDirectory(prefix="hydrograph-shop-") as directory:
        target = Path(directory) / "shop"
        write_world(spark_session(), WORLD, ShopSettings(rate=rate, stream=scale), target)
        yield target


def _measure_watdiv(world: Path, placements: tuple[str, ...], each: int) -> None:
    from hydrograph_gauge.measure.watdiv_queries import (
        PLAYED,
        choose_queries,
        format_classes,
        measure_query,
        read_slices,
    )

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

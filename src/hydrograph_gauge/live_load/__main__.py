"""`make bench-live`: how soon live queries answer, beside other engines, and which rate they hold.

The last line is `live: p50 <ms> p95 <ms> held <triples/s> lag <flat|growing>`, of the three-way join in the first
placement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hydrograph.errors import RunError
from hydrograph_gauge.live_load.change_queries import CHANGING, measure_changes
from hydrograph_gauge.live_load.load import GROWING, QUERIES, Measured, grown, measure
from hydrograph_gauge.live_load.other_engines import ENGINES, measure_engine

_HIGHEST = 800_000
"""Triples a second beyond which nobody looks."""


@click.command()
@click.option("--seconds", default=60, show_default=True, help="Length of each run.")
@click.option("--rate", default=10_000, show_default=True, help="Triples a second for latencies.")
@click.option("--placement", "placements", multiple=True, default=("local", "spark"), show_default=True)
@click.option("--query", "queries", multiple=True, default=tuple(QUERIES), show_default=True)
@click.option("--engine", "engines", multiple=True, default=ENGINES, show_default=True, help="Others, for comparison.")
@click.option("--others/--no-others", default=True, show_default=True, help="Also ask the other engines.")
@click.option("--changes/--no-changes", default=True, show_default=True, help="Also report on content change.")
@click.option("--watdiv/--no-watdiv", default=True, show_default=True, help="Also ask Stream WatDiv's queries.")
@click.option("--shop", type=click.Path(exists=True, path_type=Path), help="A generated shop, instead of making one.")
@click.option("--shop-each", default=3, show_default=True, help="Stream WatDiv's queries of each class and kind.")
@click.option("--growth/--no-growth", default=True, show_default=True, help="Also compare windows of several lengths.")
@click.option("--held/--no-held", default=True, show_default=True, help="Also look for the highest rate.")
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
    """Measure latencies of one query at a time, what longer windows cost, and the highest rate that a join holds."""
    join = _latencies(seconds, rate, placements, queries)
    if others:
        _others(seconds, rate, engines, queries)
    if changes:
        _changes(seconds, rate, placements)
    if watdiv:
        with _shop(shop, rate) as world:
            _watdiv(world, placements, shop_each)
    if growth:
        for query in GROWING:
            click.echo(f"{placements[0]} {query}: {_growth(query, rate, placements[0])}")
    highest = _held(seconds, rate, placements[0]) if held else 0
    if join is None:
        join = measure("join", rate, seconds, placement=placements[0])
    click.echo(f"live: p50 {join.percentile(0.5):.0f} p95 {join.percentile(0.95):.0f} held {highest} lag {join.lag}")


def _latencies(seconds: int, rate: int, placements: tuple[str, ...], queries: tuple[str, ...]) -> Measured | None:
    """Say how soon each query answers; return that of the join in the first placement."""
    join: Measured | None = None
    for placement in placements:
        for query in queries:
            found = measure(query, rate, seconds, placement=placement)
            click.echo(f"{placement} {query}: {_words(found)}")
            if query == "join" and join is None:
                join = found
    return join


def _others(seconds: int, rate: int, engines: tuple[str, ...], queries: tuple[str, ...]) -> None:
    for engine in engines:
        for query in queries:
            try:
                words = _words(measure_engine(engine, query, rate, seconds))
            except RunError as error:
                words = str(error)
            click.echo(f"{engine} {query}: {words}")


def _changes(seconds: int, rate: int, placements: tuple[str, ...]) -> None:
    for placement in placements:
        for query in CHANGING:
            try:
                words = _words(measure_changes(query, rate, seconds, placement=placement))
            except RunError as error:  # on Spark every report is evaluated whole, and there is one for each element
                words = str(error)
            click.echo(f"{placement} {query}, from element to answer: {words}")


@contextmanager
def _shop(given: Path | None, rate: int) -> Iterator[Path]:
    """Return the directory of a shop whose stream is long enough at such a rate."""
    if given is not None:
        yield given
        return
    from hydrograph.runtime.session import spark_session
    from hydrograph_gauge.live_load.shop import LOOK
    from hydrograph_gauge.worlds.shop.world import WORLD, Shop
    from hydrograph_gauge.worlds.writer import write_world

    scale = 1 + rate * max(LOOK.values()) // 50_000_000  # a scale of one gives more than fifty thousand triples
    with tempfile.TemporaryDirectory(prefix="hydrograph-shop-") as directory:
        target = Path(directory) / "shop"
        write_world(spark_session(), WORLD, Shop(rate=rate, stream=scale), target)
        yield target


def _watdiv(world: Path, placements: tuple[str, ...], each: int) -> None:
    from hydrograph_gauge.live_load.shop import LOOK, class_lines, measure_shop, shop_queries, shop_slices

    asked = [*shop_queries(world, each)]
    for placement in placements:
        parts, found = shop_slices(world, LOOK[placement]), []
        for query in asked:
            found.append((query, measure_shop(world, query, parts, placement=placement)))
            click.echo(f"{placement} Stream WatDiv {query.name}: {_words(found[-1][1])}")
        for line in class_lines(found):
            click.echo(f"{placement} Stream WatDiv {line}")


def _growth(query: str, rate: int, placement: str) -> str:
    """Return the processor time for each triple with longer windows and shorter steps, beside that of the usual ones.

    The last third of each run is looked at, when the windows are full.
    """
    found = {}
    for span, seconds in (("RANGE 5s STEP 1s", 30), ("RANGE 60s STEP 1s", 90), ("RANGE 5s STEP 100ms", 30)):
        found[span] = grown(query, rate, seconds, span, placement=placement).cpu
    first, *others = found.items()
    words = [f"{span} {cpu:.1f} us ({cpu / first[1]:.2f} times)" for span, cpu in others]
    return f"{first[0]} {first[1]:.1f} us of processor a triple; {', '.join(words)}"


def _held(seconds: int, rate: int, placement: str) -> int:
    """Return the highest rate that the join holds: by doubling, then by halving what lies in between twice."""
    held, tried, failed = 0, max(25_000, rate), 0
    while tried <= _HIGHEST and not failed:
        if _holds(tried, seconds, placement):
            held, tried = tried, tried * 2
        else:
            failed = tried
    for _ in range(2 if held and failed else 0):
        tried = (held + failed) // 2
        if _holds(tried, seconds, placement):
            held = tried
        else:
            failed = tried
    return held


def _holds(rate: int, seconds: int, placement: str) -> bool:
    found = measure("join", rate, seconds, placement=placement)
    holds = found.lag == "flat" and found.behind < 1000 and found.percentile(0.95) < 2000
    click.echo(f"{placement} join at {rate:,} triples/s: {_words(found)}: {'held' if holds else 'not held'}")
    return holds


def _words(found: Measured) -> str:
    steps = ", ".join(f"{name} {spent / max(1, found.reports):.1f}" for name, spent in found.steps.items())
    return (
        f"p50 {found.percentile(0.5):.0f} ms, p95 {found.percentile(0.95):.0f} ms, lag {found.lag}, "
        f"{found.reports} reports, {found.rows} rows, player behind {found.behind:.0f} ms"
        + (f"; ms per report: {steps}" if steps else "")
    )


if __name__ == "__main__":
    main()

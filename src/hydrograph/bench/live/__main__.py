"""`make bench-live`: how soon live queries answer, and which rate they hold.

The last line is `live: p50 <ms> p95 <ms> held <triples/s> lag <flat|growing>`, of the three-way join.
"""

from __future__ import annotations

import click

from hydrograph.bench.live.load import GROWING, QUERIES, Measured, grown, measure


@click.command()
@click.option("--seconds", default=60, show_default=True, help="Length of each run.")
@click.option("--rate", default=10_000, show_default=True, help="Triples a second for latencies.")
@click.option("--placement", "placements", multiple=True, default=("local",), show_default=True)
@click.option("--growth/--no-growth", default=True, show_default=True, help="Also compare windows of several lengths.")
@click.option("--query", "queries", multiple=True, default=tuple(QUERIES), show_default=True)
def main(seconds: int, rate: int, placements: tuple[str, ...], queries: tuple[str, ...], *, growth: bool) -> None:
    """Measure latencies of one query at a time, what longer windows cost, and the highest rate that a join holds."""
    join: Measured | None = None
    for placement in placements:
        for query in queries:
            found = measure(query, rate, seconds, placement=placement)
            click.echo(f"{placement} {query}: {_words(found)}")
            if query == "join" and join is None:
                join = found
    if growth:
        for query in GROWING:
            click.echo(f"{placements[0]} {query}: {_growth(query, rate, placements[0])}")
    held, tried = 0, max(20_000, rate)
    while tried <= 640_000:
        found = measure("join", tried, seconds, placement=placements[0])
        holds = found.lag == "flat" and found.behind < 1000 and found.percentile(0.95) < 2000
        click.echo(f"{placements[0]} join at {tried:,} triples/s: {_words(found)}: {'held' if holds else 'not held'}")
        if not holds:
            break
        held, tried = tried, tried * 2
    if join is None:
        join = found
    click.echo(f"live: p50 {join.percentile(0.5):.0f} p95 {join.percentile(0.95):.0f} held {held} lag {join.lag}")


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


def _words(found: Measured) -> str:
    steps = ", ".join(f"{name} {spent / max(1, found.reports):.1f}" for name, spent in found.steps.items())
    return (
        f"p50 {found.percentile(0.5):.0f} ms, p95 {found.percentile(0.95):.0f} ms, lag {found.lag}, "
        f"{found.reports} reports, {found.rows} rows, player behind {found.behind:.0f} ms; ms per report: {steps}"
    )


if __name__ == "__main__":
    main()

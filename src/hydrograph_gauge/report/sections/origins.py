"""Section on t0, where it was searched for."""

from __future__ import annotations

from hydrograph_gauge.report.document import Column, Section, Table, Value, section
from hydrograph_gauge.report.run_data import RunData
from hydrograph_gauge.report.sections.verdicts import settings_of


def show_origins(run: RunData) -> Section | None:
    """Return the best t0 of each query on each engine, and how well it fits; None without a search."""
    rows: list[tuple[Value, ...]] = [
        (
            asked.condition.test,
            settings_of(asked.condition),
            asked.engine,
            asked.query,
            outcome.key.repetition + 1,
            outcome.t0,
            outcome.missing + outcome.extra,
            "; ".join(outcome.notes),
        )
        for asked, found in run.outcomes.items()
        for outcome in found
        if outcome.t0 is not None
    ]
    if not rows:
        return None
    table = Table(
        "The t0 at which answers fit best, as CSRBench searches for it: they are right if they are a contiguous part "
        "of what is expected for some t0, at whatever times. Of t0 that fit as well, the nearest to the engine's own.",
        (
            Column("test"),
            Column("settings"),
            Column("engine"),
            Column("query"),
            Column("repetition", "count"),
            Column("t0 (ms)", "count"),
            Column("wrong rows", "count"),
            Column("remarks"),
        ),
        tuple(rows),
        headers=4,
    )
    return section("First windows", table)

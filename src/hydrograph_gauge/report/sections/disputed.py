"""Differences between engine and oracle that rdflib did not settle for the oracle."""

from __future__ import annotations

from collections.abc import Sequence

from hydrograph_gauge.report.document import Column, Section, Table, Text, Value, section
from hydrograph_gauge.report.gather import Run, asked_of
from hydrograph_gauge.report.sections.measures import cut
from hydrograph_gauge.report.sections.wrong import title_of
from hydrograph_gauge.results import Blame

SHOWN = 200
"""Windows that are listed."""
ROWS = 3
"""Rows of a window, missing and extra ones each."""
LETTERS = 300


def settled(run: Run) -> Section | None:
    """Return the windows in which rdflib answers as the engine does, or as nobody; None if there are none."""
    if not run.settled:
        return None
    rows: list[tuple[Value, ...]] = []
    for each in run.settled[:SHOWN]:
        asked = asked_of(each.key)
        where = asked.condition.label, asked.engine, asked.query, title_of(each)
        rows.append((*where, each.opinion, _rows(each.missing), _rows(each.extra)))
    table = Table(
        "Windows in which pyoxigraph, the oracle's evaluator, and the engine differ and rdflib does not side with "
        "pyoxigraph. Where engine and rdflib agree, the answer counts as right, and the query as an oracle error. "
        "Missing and extra are rows as the oracle sees it.",
        (
            Column("test"),
            Column("engine"),
            Column("query"),
            Column("window"),
            Column("who is right"),
            Column("missing", "code"),
            Column("extra", "code"),
        ),
        tuple(rows),
        headers=4,
    )
    left = len(run.settled) - SHOWN
    more = Text(f"{left:,} more are left out here; results.jsonl has them.") if left > 0 else None
    return section("Settled differences", table, more)


def _rows(found: Sequence[Blame]) -> str:
    lines = [" ".join("-" if text is None else text for text in each.row) for each in found[:ROWS]]
    more = f" and {len(found) - ROWS} more" if len(found) > ROWS else ""
    return cut("; ".join(lines), LETTERS) + more

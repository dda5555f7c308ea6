"""Section with the distribution of answer delay: one box for each engine, over all windows of a test."""

from __future__ import annotations

from hydrograph_gauge.report.document import Axis, Box, BoxPanel, BoxPlot, BoxSeries, Section, section
from hydrograph_gauge.report.run_data import RunData


def show_delays(run: RunData) -> Section | None:
    """Return a box plot of delays, with a group for each condition; None if no answer has a delay."""
    boxes: dict[int, dict[int, Box]] = {}
    for condition, engine, (low, lower, median, upper, high), count in run.sql(
        "SELECT condition, engine, quantile_cont(delay, [0, 0.25, 0.5, 0.75, 1]), count(delay) FROM windows "
        "WHERE delay IS NOT NULL AND condition IS NOT NULL GROUP BY condition, engine ORDER BY condition, engine"
    ):
        boxes.setdefault(condition, {})[engine] = Box(low, lower, median, upper, high, count)
    if not boxes:
        return None
    series = tuple(
        BoxSeries(name, place, tuple(boxes[condition].get(place) for condition in boxes))
        for place, name in enumerate(run.engines)
        if any(place in by_engine for by_engine in boxes.values())
    )
    caption = "Delay of answers over all windows, queries and repetitions: median, quartiles, least and greatest."
    groups = tuple(run.conditions[condition].label for condition in boxes)
    return section("Delay by engine", BoxPlot(caption, groups, (BoxPanel(Axis("delay", "ms", "ms"), series),)))

"""From the folders of runs to one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydrograph.errors import UsageError
from hydrograph_gauge.report.document import Document, Part
from hydrograph_gauge.report.gather import Run, gather
from hydrograph_gauge.report.page import render
from hydrograph_gauge.report.sections.disputed import settled
from hydrograph_gauge.report.sections.functional import functional
from hydrograph_gauge.report.sections.latency import latency
from hydrograph_gauge.report.sections.origins import origins
from hydrograph_gauge.report.sections.outputs import outputs, throughput
from hydrograph_gauge.report.sections.overview import origin, summary
from hydrograph_gauge.report.sections.published import published
from hydrograph_gauge.report.sections.queries import queries
from hydrograph_gauge.report.sections.repetitions import repetitions
from hydrograph_gauge.report.sections.resources import resources
from hydrograph_gauge.report.sections.scaling import scaling
from hydrograph_gauge.report.sections.verdicts import failures, totals, verdicts
from hydrograph_gauge.report.sections.windows import windows
from hydrograph_gauge.report.sections.wrong import places, wrong


def build(folders: Sequence[Path], target: Path) -> None:
    """Write one page about the runs in `folders` to `target`, whole or not at all."""
    if not folders:
        raise UsageError("expected the folder of at least one run, got none")
    page = render(document([gather(folder) for folder in folders]))
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.write_text(page, "utf-8")
    unfinished.replace(target)


def document(runs: Sequence[Run]) -> Document:
    """Return what the page shows: a part for each run, of the sections that it has data for."""
    parts = tuple(_part(run, number) for number, run in enumerate(runs))
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} experiments"
    return Document(title, parts)


def _part(run: Run, number: int) -> Part:
    found = places(run, number)
    sections = (
        summary(run),
        verdicts(run, found),
        functional(run),
        totals(run),
        failures(run),
        published(run),
        outputs(run),
        throughput(run),
        origins(run),
        windows(run),
        wrong(run, found),
        settled(run),
        latency(run),
        scaling(run),
        resources(run),
        repetitions(run),
        queries(run),
        origin(run),
    )
    seeds = run.origin.all_seeds
    seed = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    commit = f"commit {run.origin.commit[:12]}" if run.origin.commit else ""
    note = ", ".join(filter(None, [run.origin.experiment, run.origin.started, seed, commit]))
    return Part(run.origin.title or run.origin.experiment, note, run.engines, tuple(filter(None, sections)))

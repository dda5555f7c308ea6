"""From the folders of runs to one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydrograph.bench.report.document import Document, Part
from hydrograph.bench.report.gather import Run, gather
from hydrograph.bench.report.page import render
from hydrograph.bench.report.sections.functional import functional
from hydrograph.bench.report.sections.latency import latency
from hydrograph.bench.report.sections.origins import origins
from hydrograph.bench.report.sections.outputs import outputs, throughput
from hydrograph.bench.report.sections.overview import origin, summary
from hydrograph.bench.report.sections.published import published
from hydrograph.bench.report.sections.queries import queries
from hydrograph.bench.report.sections.repetitions import repetitions
from hydrograph.bench.report.sections.resources import resources
from hydrograph.bench.report.sections.scaling import scaling
from hydrograph.bench.report.sections.settled import settled
from hydrograph.bench.report.sections.verdicts import failures, totals, verdicts
from hydrograph.bench.report.sections.windows import windows
from hydrograph.bench.report.sections.wrong import places, wrong
from hydrograph.errors import UsageError


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

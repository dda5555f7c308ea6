"""Building one page from the folders of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydrograph.errors import UsageError
from hydrograph_gauge.report.document import Document, RunPart
from hydrograph_gauge.report.page import render
from hydrograph_gauge.report.run_data import RunData, read_run
from hydrograph_gauge.report.sections import SECTIONS, load_section


def build(folders: Sequence[Path], target: Path) -> None:
    """Write one page about the runs in `folders` to `target`, whole or not at all."""
    if not folders:
        raise UsageError("expected the folder of at least one run, got none")
    page = render(document([read_run(folder) for folder in folders]))
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.write_text(page, "utf-8")
    unfinished.replace(target)


def document(runs: Sequence[RunData]) -> Document:
    """Return the document of a page: a part for each run, with the sections that it has data for."""
    parts = tuple(_part(run, number) for number, run in enumerate(runs))
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} experiments"
    return Document(title, parts)


def _part(run: RunData, number: int) -> RunPart:
    run.number = number
    sections = [load_section(name)(run) for name in SECTIONS]
    seeds = run.origin.all_seeds
    seed = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    commit = f"commit {run.origin.commit[:12]}" if run.origin.commit else ""
    note = ", ".join(filter(None, [run.origin.experiment, run.origin.started, seed, commit]))
    return RunPart(run.origin.title or run.origin.experiment, note, run.engines, tuple(filter(None, sections)))

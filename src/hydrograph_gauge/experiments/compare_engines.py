"""`make bench-engines`: every engine that is here, through the experiments of papers, beside the papers' own verdicts.

    python -m hydrograph_gauge.experiments.compare_engines

CSRBench, the functional suite and YABench's experiment 4 are put to our own engine, to engines that package registries
hold, and to C-SPARQL and CQELS where `CSPARQL_JARS` and `CQELS_JARS` are folders of their jars. The verdicts of papers
are data, with citations, in `paper_verdicts.toml`. An engine that is wrong is a finding: the command fails only if the
gauge itself does.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict

from hydrograph.errors import HydrographError
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.experiments.model import Experiment, ExperimentTest, read_experiment
from hydrograph_gauge.experiments.options import WORLDS, Progress, RunOptions
from hydrograph_gauge.experiments.run import run_experiment
from hydrograph_gauge.run_records import FunctionalRecord, FunctionalVerdict, OutcomeRecord, Record, read_records

ENGINES = ("hydrograph", "hydrograph-live", "oxigraph", "oxigraph-periodic", "rsp-js", "rsp-rs")
"""Engines that need nothing from the user."""
JARS = {"CSPARQL_JARS": "csparql", "CQELS_JARS": "cqels"}
"""Engines whose jars the user supplies, by the variable that names their folder."""
PAPER_NAMES = {"csparql": "C-SPARQL", "cqels": "CQELS"}
GRAPHS = "CSRBENCH_GRAPHS"
"""Variable that names the folder of CSRBench's original graphs."""

UNSTABLE = "unstable"
_NOT_ASKED = {Verdict.NOT_ASKED, Verdict.NOT_SUPPORTED}
_FUNCTIONAL = {
    FunctionalVerdict.PASSED: Verdict.OK,
    FunctionalVerdict.FAILED: Verdict.WRONG,
    FunctionalVerdict.UNSTABLE: UNSTABLE,
    FunctionalVerdict.NOT_ASKED: Verdict.NOT_ASKED,
}
_SPEED = 10
"""How many times as fast engines that go by event time are played to; there is time to answer between elements."""
_WORDS = 110


class PaperVerdicts(BaseModel):
    """Verdicts of one paper on the queries of tests, by engine and pattern of the query's name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    experiment: str
    tests: tuple[str, ...]
    citation: str
    verdicts: Mapping[str, Mapping[str, str]]


def read_paper_verdicts() -> tuple[PaperVerdicts, ...]:
    """Return the verdicts that come with the package."""
    text = (files(__package__) / "paper_verdicts.toml").read_text("utf-8")
    return tuple(PaperVerdicts.model_validate(each) for each in tomllib.loads(text)["paper"])


@dataclass(frozen=True, slots=True)
class EngineCell:
    """Query of a test on an engine, with both verdicts."""

    engine: str
    experiment: str
    test: str
    query: str
    by_gauge: str
    by_paper: str | None = None
    words: str = ""
    """What the gauge found wrong, or why the query was not asked."""

    @property
    def is_asked(self) -> bool:
        """Whether the engine was asked."""
        return self.by_gauge not in _NOT_ASKED

    @property
    def agrees(self) -> bool | None:
        """Whether both verdicts are the same; None where one of them is missing."""
        if self.by_paper is None or not self.is_asked:
            return None
        return self.by_paper == self.by_gauge


def collect_cells(experiment: str, records: Iterable[Record], papers: Sequence[PaperVerdicts]) -> list[EngineCell]:
    """Return the cells of a run; verdicts of repetitions that differ make one that is unstable."""
    found: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for record in records:
        match record:
            case OutcomeRecord(key=key):
                words = "; ".join(record.faults) or record.words
                found.setdefault((key.engine, key.test, key.query), []).append((record.verdict, words))
            case FunctionalRecord():
                place = (record.engine, record.group, record.name)
                found.setdefault(place, []).append((_FUNCTIONAL[record.verdict], record.words))
            case _:
                continue
    cells = []
    for (engine, test, query), each in found.items():
        verdicts = list(dict.fromkeys(verdict for verdict, _ in each))
        cells.append(
            EngineCell(
                engine=engine.partition(":")[0],
                experiment=experiment,
                test=test,
                query=query,
                by_gauge=verdicts[0] if len(verdicts) == 1 else UNSTABLE,
                by_paper=_by_paper(papers, experiment, test, query, engine),
                words=next((words for _, words in each if words), ""),
            )
        )
    return cells


def _by_paper(papers: Sequence[PaperVerdicts], experiment: str, test: str, query: str, engine: str) -> str | None:
    """Return the verdict of a paper on a query, None where it has none."""
    name = PAPER_NAMES.get(engine.partition(":")[0].partition("?")[0])
    for paper in papers:
        if paper.experiment == experiment and any(fnmatchcase(test, each) for each in paper.tests):
            for pattern, verdict in paper.verdicts.get(name or "", {}).items():
                if fnmatchcase(query, pattern):
                    return verdict
    return None


def format_cells(cells: Sequence[EngineCell]) -> Iterator[str]:
    """Yield the table: a line for each cell, with what the gauge found where verdicts differ or an answer is wrong."""
    marks = {True: "yes", False: "NO", None: "-"}
    lines = [("engine", "test, query", "paper", "gauge", "agrees", "")]
    for cell in cells:
        words = " ".join(cell.words.split())
        shown = words if len(words) <= _WORDS else words[: _WORDS - 1] + "…"
        place = f"{cell.experiment}, {cell.test}, {cell.query}"
        lines.append((cell.engine, place, cell.by_paper or "-", cell.by_gauge, marks[cell.agrees], shown))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()


def format_engines_summary(cells: Sequence[EngineCell]) -> str:
    """Return the last line of `make bench-engines`.

    >>> one = EngineCell("cqels", "csrbench", "sensors", "q4", "wrong", "wrong")
    >>> other = EngineCell("rsp-js", "csrbench", "sensors", "q4", "not asked")
    >>> format_engines_summary([one, other])
    'engines: 2 engines, 2 cells, 1 agree, 0 differ, 1 not asked, 0 without a verdict of a paper'
    """
    agreed = Counter(cell.agrees for cell in cells)
    asked = [cell for cell in cells if cell.is_asked]
    return (
        f"engines: {len({cell.engine for cell in cells})} engines, {len(cells)} cells, {agreed[True]} agree, "
        f"{agreed[False]} differ, {len(cells) - len(asked)} not asked, "
        f"{sum(cell.by_paper is None for cell in asked)} without a verdict of a paper"
    )


def find_engines(environment: Mapping[str, str], named: Sequence[str] = ()) -> tuple[list[str], dict[str, str]]:
    """Return the engines that can run here, and by engine why another one cannot; `named` restricts them."""
    jars = {name: environment.get(variable, "") for variable, name in JARS.items()}
    candidates = list(named) or [*ENGINES, *(f"{name}:{folder}" for name, folder in jars.items() if folder)]
    missing = {engine: why for engine in candidates if (why := registry.find_missing(engine)) is not None}
    if not named:
        missing |= {
            name: f"{variable} names no folder with its jars" for variable, name in JARS.items() if not jars[name]
        }
    return [engine for engine in candidates if engine not in missing], missing


def list_experiments(graphs: str, only: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments that every engine is put through."""
    csrbench = (
        read_experiment("csrbench", [f"graphs={graphs}"], only=["original graphs"])
        if graphs
        else read_experiment("csrbench", only=["sensors"])
    )
    found = [
        csrbench,
        read_experiment("functional"),
        read_experiment("yabench", only=["experiment 4", "experiment 4, gracious"]),
    ]
    return [each for each in found if not only or each.name in only]


def run_engine(experiment: Experiment, engine: str, folder: Path, progress: Progress) -> list[Record]:
    """Put an engine through an experiment, in a folder of its own, and return the records."""
    tests = tuple(prepare_test(test, engine) for test in experiment.tests)
    label = f"{experiment.name}, {engine.partition(':')[0]}"
    target = folder / experiment.name / engine.partition(":")[0]
    options = RunOptions(worlds=folder / WORLDS, progress=lambda words: progress(f"{label}: {words}"))
    begin = time.monotonic()
    run_experiment(dataclasses.replace(experiment, tests=tests), target, options)
    progress(f"{label}: done after {time.monotonic() - begin:.0f} s")
    return list(read_records(target))


def prepare_test(test: ExperimentTest, engine: str) -> ExperimentTest:
    """Return a test for one engine; one that goes by event time is not kept waiting for the clock."""
    hurry = test.play.pace == "event-time" and not registry.get_engine(engine).by_clock
    play = test.play.model_copy(update={"speed": test.play.speed * _SPEED}) if hurry else test.play
    return test.model_copy(update={"engines": (engine,), "play": play})


@click.command()
@click.option("--engine", "engines", multiple=True, metavar="NAME", help="Only this engine; may be repeated.")
@click.option("--experiment", "only", multiple=True, metavar="NAME", help="csrbench, functional or yabench.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("build/engines"), show_default=True)
@click.option("--resume", is_flag=True, help="Keep the answers that an interrupted run has written.")
def main(*, engines: tuple[str, ...], only: tuple[str, ...], output: Path, resume: bool) -> None:
    """Put every engine that is here through the experiments of papers; print both verdicts in a table."""

    def progress(words: str) -> None:
        click.echo(words, err=True)

    here, missing = find_engines(os.environ, engines)
    for engine, why in missing.items():
        progress(f"{engine} is left out: {why}")
    graphs = os.environ.get(GRAPHS, "")
    if not graphs and (not only or "csrbench" in only):
        progress(f"CSRBench is asked over the sensor world: {GRAPHS} names no folder with its original graphs")
    papers = read_paper_verdicts()
    cells, broken = [], []
    for experiment in list_experiments(graphs, only):
        if not resume:
            shutil.rmtree(output / experiment.name, ignore_errors=True)
        for engine in here:
            try:
                records = run_engine(experiment, engine, output, progress)
            except HydrographError as error:
                broken.append(f"{experiment.name}, {engine}: the gauge failed: {error}")
                progress(broken[-1])
                continue
            cells += collect_cells(experiment.name, records, papers)
    order = [engine.partition(":")[0] for engine in here]
    for line in format_cells(sorted(cells, key=lambda cell: order.index(cell.engine))):
        click.echo(line)
    for paper in papers:
        click.echo(f"paper, {paper.experiment}, {', '.join(paper.tests)}: {paper.citation}")
    for line in broken:
        click.echo(line)
    click.echo(format_engines_summary(cells))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

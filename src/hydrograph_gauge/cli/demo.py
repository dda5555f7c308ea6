"""`hydrograph demo`: a small social network, three queries on three engines, judged, and a page that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import click
from rich.console import Console
from rich.table import Table

from hydrograph.errors import MismatchError
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph_gauge import report
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.experiments.model import Experiment, read_experiment
from hydrograph_gauge.experiments.run_folder import list_played, read_answers, read_played
from hydrograph_gauge.run_records import OutcomeRecord, WindowRecord, read_records

OURS = "hydrograph"
_WINDOWS = 6  # that are printed
_ROWS = 3  # of each


@click.command(name="demo")
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page.",
)
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Keep the run in DIR.")
def command(output: Path, keep: Path | None) -> None:
    """Generate a small social network, ask three engines three queries over it, judge them, and write a page."""
    with _folder(keep) as folder:
        demonstrate(read_experiment("demo"), folder, output, Console(highlight=False))


def demonstrate(experiment: Experiment, folder: Path, output: Path, console: Console) -> None:
    """Run an experiment, print what came of it and write the page; raise MismatchError if our answers are wrong."""
    from hydrograph_gauge.experiments.options import RunOptions
    from hydrograph_gauge.experiments.run import run_experiment

    start = monotonic()
    console.print(f"{experiment.title}: {experiment.about}", style="dim", soft_wrap=True)
    run_experiment(experiment, folder, RunOptions(progress=lambda words: console.print(f"  {words}", style="dim")))
    records = list(read_records(folder))
    outcomes = [record for record in records if isinstance(record, OutcomeRecord)]
    _print_windows(console, folder, [each for each in records if isinstance(each, WindowRecord)])
    console.print(_verdicts(outcomes))
    report.build([folder], output)
    console.print(f"demo: {len(outcomes)} runs of queries judged in {monotonic() - start:.0f} s")
    console.print(f"report: {output.resolve()}", soft_wrap=True)
    _check(outcomes)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
        return
    with TemporaryDirectory(prefix="hydrograph-demo-") as place:
        yield Path(place)


def _print_windows(console: Console, folder: Path, windows: Sequence[WindowRecord]) -> None:
    """Print the first windows with rows of the last query, as we answered them."""
    place = next(place for place in list_played(folder) if read_played(place).engine == OURS)
    record = read_played(place)
    query, question = list(record.questions.items())[-1]
    borders = {w.t: (w.open, w.close) for w in windows if (w.key.engine, w.key.query) == (OURS, query)}
    answers = [(t, rows) for _, t, rows in read_answers(place, query) if rows]
    console.print(question.text.strip(), style="dim", soft_wrap=True)
    table = Table(title=f"{query} on {OURS}", title_justify="left")
    for name in ("window", "rows", *(f"?{variable}" for variable in question.variables)):
        table.add_column(name, justify="right" if name == "rows" else "left")
    start = min((opened for opened, _ in borders.values() if opened is not None), default=0)
    for t, rows in answers[:_WINDOWS]:
        opened, closed = borders.get(t, (None, None))
        label = f"[{opened - start:,}, {closed - start:,}) ms" if opened is not None and closed is not None else f"{t}"
        for number, row in enumerate(sorted(rows.elements(), key=str)[:_ROWS]):
            first = (label, f"{rows.total():,}") if number == 0 else ("", "")
            table.add_row(*first, *map(_short, row))
    console.print(table)
    console.print(f"… {max(0, len(answers) - _WINDOWS)} more windows with rows\n")


def _verdicts(outcomes: Sequence[OutcomeRecord]) -> Table:
    table = Table(title="verdicts", title_justify="left")
    for name in ("engine", "query", "verdict"):
        table.add_column(name)
    for name in ("windows right", "precision", "recall"):
        table.add_column(name, justify="right")
    for each in outcomes:
        shares = ["" if value is None else f"{value:.4g}" for value in (each.precision, each.recall)]
        table.add_row(each.key.engine, each.key.query, each.verdict, f"{each.right:,} of {each.windows:,}", *shares)
    return table


def _check(outcomes: Sequence[OutcomeRecord]) -> None:
    """Raise MismatchError if an answer of ours is wrong, or if all are empty and prove nothing."""
    for each in (outcome for outcome in outcomes if outcome.key.engine == OURS):
        if each.verdict != Verdict.OK:
            raise MismatchError(f"{OURS} on {each.key.query}: expected ok, got {each.verdict}; see the page for why")
        if not each.non_empty:
            raise MismatchError(f"{OURS} on {each.key.query}: no window has an answer, so nothing was checked")


def _short(text: str | None) -> str:
    if text is None:
        return ""
    match decode(text):
        case Iri(value):
            return ":" + value.rpartition("/")[2].rpartition("#")[2]
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return lexical

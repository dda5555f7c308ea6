"""`make bench-papers`: every window of every workload of the papers, answered by Hydrograph, judged by the oracle."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.provenance import discard_other_commit
from hydrograph_gauge.experiments.run import run_experiment
from hydrograph_gauge.experiments.summary import find_empty_queries, format_summary, summarize_gauge

ENGINE = "hydrograph"


@click.command()
@click.argument("experiment", default="papers")
@click.option("--test", "tests", multiple=True, metavar="NAME", help="Run only this test; may be repeated.")
@click.option("-D", "given", multiple=True, metavar="KEY=VALUE", help="Set a parameter.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("build/papers"), show_default=True)
def main(experiment: str, tests: tuple[str, ...], given: tuple[str, ...], output: Path) -> None:
    """Run EXPERIMENT and print one line as a summary; fail unless precision and recall are 1 in every window.

    An interrupted run is resumed. Answers of another commit are discarded.
    """
    read = read_experiment(experiment, given, only=tests)
    options = RunOptions(progress=lambda words: click.echo(words, err=True))
    if (known := discard_other_commit(output)) is not None:
        options.progress(f"{output} had answers of another commit ({known}): all is run again, over the same data")
    run_experiment(read, output, options)
    click.echo(options.format_times(), err=True)
    for line in format_summary([output]):
        click.echo(line)
    empty = list(find_empty_queries([output], {test.name for test in read.tests if test.answers}))
    for test, query in empty:
        click.echo(f"{test}: no window of {query} has an answer, so nothing was checked")
    line, right = summarize_gauge([output], ENGINE)
    click.echo(line)
    sys.exit(0 if right and not empty else 1)


if __name__ == "__main__":
    main()

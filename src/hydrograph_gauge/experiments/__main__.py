"""`make bench-papers`: every window of every workload of the papers, answered by Hydrograph, judged by the oracle."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.options import Options
from hydrograph_gauge.experiments.provenance import begin_anew
from hydrograph_gauge.experiments.run import run_experiment
from hydrograph_gauge.experiments.summary import gauge, silent, summary_lines

ENGINE = "hydrograph"


@click.command()
@click.argument("experiment", default="papers")
@click.option("--test", "tests", multiple=True, metavar="NAME", help="Only this test; may be given again.")
@click.option("-D", "given", multiple=True, metavar="KEY=VALUE", help="Another value of a parameter.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("build/papers"), show_default=True)
def main(experiment: str, tests: tuple[str, ...], given: tuple[str, ...], output: Path) -> None:
    """Run EXPERIMENT and end with the line of the gauge; fail unless precision and recall are 1 in every window.

    A run that was broken off goes on; what other sources than these answered is asked anew.
    """
    read = read_experiment(experiment, given, only=tests)
    options = Options(say=lambda words: click.echo(words, err=True))
    if (known := begin_anew(output)) is not None:
        options.say(f"{output} held answers of other sources ({known}): all is asked anew, in the same worlds")
    run_experiment(read, output, options)
    click.echo(options.times(), err=True)
    for line in summary_lines([output]):
        click.echo(line)
    empty = list(silent([output], {test.name for test in read.tests if test.answers}))
    for test, query in empty:
        click.echo(f"{test}: no window of {query} has an answer, so that nothing was checked")
    line, right = gauge([output], ENGINE)
    click.echo(line)
    sys.exit(0 if right and not empty else 1)


if __name__ == "__main__":
    main()

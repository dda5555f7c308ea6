"""`hydrograph bench`: runs experiments on any engines, and each step of one alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hydrograph_gauge.experiments.model import read_experiment, shipped

if TYPE_CHECKING:
    from hydrograph_gauge.experiments.model import Experiment
    from hydrograph_gauge.experiments.options import Options

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("bench")
def command() -> None:
    """Play streams into engines, judge the answers with the oracle, measure, and show it.

    An experiment is a file in TOML, a directory with YABench's config.json, or one that comes with Hydrograph: see
    `hydrograph bench list`.
    """


@command.command("list")
def list_() -> None:
    """List the experiments that come with Hydrograph, and their tests."""
    for name in shipped():
        experiment = read_experiment(name)
        click.echo(f"{name}: {experiment.title}")
        for test in dict.fromkeys(test.name for test in experiment.tests):
            click.echo(f"  {test}")


_experiment = click.argument("experiment", metavar="FILE|NAME")
_test = click.option("--test", "tests", multiple=True, metavar="NAME", help="Only this test; may be given again.")
_given = click.option("-D", "given", multiple=True, metavar="KEY=VALUE", help="Another value of a parameter.")
_output = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder of the run."
)
_worlds = click.option(
    "--worlds",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where generated worlds are kept; default: DIR/worlds.",
)
_quiet = click.option("--quiet", is_flag=True, help="Do not tell on standard error what is being done.")
_master = click.option("--master", metavar="MASTER", help="Let the oracle work on this Spark, such as local[2].")
_processes = click.option("--processes", type=click.IntRange(1), help="Processes of the oracle; default: one a core.")


@command.command("run")
@_experiment
@_test
@_given
@_output
@_worlds
@_master
@_processes
@_quiet
def run_(
    *,
    experiment: str,
    tests: tuple[str, ...],
    given: tuple[str, ...],
    output: Path,
    worlds: Path | None,
    master: str | None,
    processes: int | None,
    quiet: bool,
) -> None:
    """Run an experiment: play, oracle, judge. A run that was broken off goes on where it was."""
    from hydrograph_gauge.experiments.run import run_experiment
    from hydrograph_gauge.experiments.summary import summary_lines

    options = _options(worlds, master, processes, quiet=quiet)
    run_experiment(_read(experiment, given, tests), output, options)
    options.say(options.times())
    for line in summary_lines([output]):
        click.echo(line)


@command.command("play")
@_experiment
@_test
@_given
@_output
@_worlds
@_quiet
def play_(
    *, experiment: str, tests: tuple[str, ...], given: tuple[str, ...], output: Path, worlds: Path | None, quiet: bool
) -> None:
    """Only play an experiment, and write down what was handed over and what came."""
    from hydrograph_gauge.experiments.run import play_experiment

    done = play_experiment(_read(experiment, given, tests), output, _options(worlds, None, None, quiet=quiet))
    click.echo(f"{done} runs of engines played into {output}")


_profile = click.option("--profile", metavar="NAME", help="The habits that reports are expected by, such as csparql.")


@command.command("oracle")
@click.argument("run", type=_FOLDER)
@_profile
@_master
@_processes
@_quiet
def oracle_(*, run: Path, profile: str | None, master: str | None, processes: int | None, quiet: bool) -> None:
    """Let the oracle answer for everything that was played in the folder RUN."""
    from hydrograph_gauge.experiments.rejudge import oracle_run

    options = _options(None, master, processes, quiet=quiet)
    targets = oracle_run(run, options, profile=profile)
    options.say(options.times())
    click.echo(f"expected reports for {len(targets)} runs of engines lie in {run / 'expected'}")


@command.command("compare")
@click.argument("run", type=_FOLDER)
@_profile
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Where to; default: RUN itself.")
@_master
@_processes
@_quiet
def compare_(
    *, run: Path, profile: str | None, output: Path | None, master: str | None, processes: int | None, quiet: bool
) -> None:
    """Judge what was played in the folder RUN again, also by the habits of another engine."""
    from hydrograph_gauge.experiments.rejudge import compare_run, judged_line
    from hydrograph_gauge.experiments.summary import summary_lines

    target = output or run
    options = _options(None, master, processes, quiet=quiet)
    options.say(judged_line(compare_run(run, target, options, profile=profile), options))
    for line in summary_lines([target]):
        click.echo(line)


@command.command("import")
@click.argument("directory", type=_FOLDER)
@_output
def import_(*, directory: Path, output: Path) -> None:
    """Judge what YABench's runner left in DIRECTORY (config.json, and SG_, QR_, P_ and ORACLE_ files in results)."""
    from hydrograph_gauge.experiments.import_yabench import import_yabench
    from hydrograph_gauge.experiments.summary import summary_lines

    import_yabench(directory, output, lambda words: click.echo(words, err=True))
    for line in summary_lines([output]):
        click.echo(line)


@command.command("report")
@click.argument("runs", nargs=-1, required=True, type=_FOLDER)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The page.")
def report_(*, runs: tuple[Path, ...], output: Path) -> None:
    """Write one offline page about the folders RUNS."""
    from hydrograph_gauge import report

    report.build(list(runs), output)
    click.echo(f"wrote {output}")


def _read(source: str, given: tuple[str, ...], tests: tuple[str, ...]) -> Experiment:
    return read_experiment(source, given, only=tests)


def _options(worlds: Path | None, master: str | None, processes: int | None, *, quiet: bool) -> Options:
    from hydrograph_gauge.experiments.options import Options, oracle_session

    def say(words: str) -> None:
        if not quiet:
            click.echo(words, err=True)

    return Options(worlds, oracle_session(master), processes, say)

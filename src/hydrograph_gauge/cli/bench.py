"""`hydrograph bench`: runs experiments on any engines, and each step of one alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hydrograph_gauge.experiments.model import list_shipped, read_experiment, repeat_tests

if TYPE_CHECKING:
    from hydrograph_gauge.experiments.model import Experiment
    from hydrograph_gauge.experiments.options import RunOptions

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("bench")
def command() -> None:
    """Play streams into engines, judge the answers with an oracle, measure, and write a report.

    An experiment is a file in TOML, a directory with YABench's config.json, or the name of a shipped experiment: see
    `hydrograph bench list`.
    """


@command.command("list")
def list_() -> None:
    """List the experiments that come with Hydrograph, and their tests."""
    for name in list_shipped():
        experiment = read_experiment(name)
        click.echo(f"{name}: {experiment.title}")
        for test in dict.fromkeys(test.name for test in experiment.tests):
            click.echo(f"  {test}")


_experiment = click.argument("experiment", metavar="FILE|NAME")
_test = click.option("--test", "tests", multiple=True, metavar="NAME", help="Run only this test; may be repeated.")
_given = click.option("-D", "given", multiple=True, metavar="KEY=VALUE", help="Set a parameter.")
_output = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder of the run."
)
_worlds = click.option(
    "--worlds",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of generated worlds; default: DIR/worlds.",
)
_repeat = click.option(
    "--repeat",
    type=click.IntRange(1),
    metavar="N",
    help="Repeat every test N times; default: as the experiment sets it. Means are given with 95 % intervals.",
)
_quiet = click.option("--quiet", is_flag=True, help="Print no progress messages.")
_master = click.option("--master", metavar="MASTER", help="Run the oracle on this Spark, such as local[2].")
_processes = click.option("--processes", type=click.IntRange(1), help="Processes of the oracle; default: one per core.")


@command.command("run")
@_experiment
@_test
@_given
@_repeat
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
    repeat: int | None,
    output: Path,
    worlds: Path | None,
    master: str | None,
    processes: int | None,
    quiet: bool,
) -> None:
    """Run an experiment: play, oracle, judge. An interrupted run is resumed."""
    from hydrograph_gauge.experiments.run import run_experiment
    from hydrograph_gauge.experiments.summary import format_summary

    options = _options(worlds, master, processes, quiet=quiet)
    run_experiment(_read(experiment, given, tests, repeat), output, options)
    options.progress(options.format_times())
    for line in format_summary([output]):
        click.echo(line)


@command.command("play")
@_experiment
@_test
@_given
@_repeat
@_output
@_worlds
@_quiet
def play_(
    *,
    experiment: str,
    tests: tuple[str, ...],
    given: tuple[str, ...],
    repeat: int | None,
    output: Path,
    worlds: Path | None,
    quiet: bool,
) -> None:
    """Only play an experiment, and store its input and the answers."""
    from hydrograph_gauge.experiments.run import play_experiment

    done = play_experiment(_read(experiment, given, tests, repeat), output, _options(worlds, None, None, quiet=quiet))
    click.echo(f"{done} runs of engines played into {output}")


_profile = click.option("--profile", metavar="NAME", help="Profile of the expected reports, such as csparql.")


@command.command("oracle")
@click.argument("run", type=_FOLDER)
@_profile
@_master
@_processes
@_quiet
def oracle_(*, run: Path, profile: str | None, master: str | None, processes: int | None, quiet: bool) -> None:
    """Compute the expected reports of everything that was played in the folder RUN."""
    from hydrograph_gauge.experiments.run import compute_run_expected

    options = _options(None, master, processes, quiet=quiet)
    targets = compute_run_expected(run, options, profile=profile)
    options.progress(options.format_times())
    click.echo(f"wrote the expected reports of {len(targets)} runs to {run / 'expected'}")


@command.command("compare")
@click.argument("run", type=_FOLDER)
@_profile
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Output folder; default: RUN.")
@_master
@_processes
@_quiet
def compare_(
    *, run: Path, profile: str | None, output: Path | None, master: str | None, processes: int | None, quiet: bool
) -> None:
    """Judge the played folder RUN again, optionally by the profile of another engine."""
    from hydrograph_gauge.experiments.run import format_judged, rejudge_run
    from hydrograph_gauge.experiments.summary import format_summary

    target = output or run
    options = _options(None, master, processes, quiet=quiet)
    options.progress(format_judged(rejudge_run(run, target, options, profile=profile), options))
    for line in format_summary([target]):
        click.echo(line)


@command.command("import")
@click.argument("directory", type=_FOLDER)
@_output
def import_(*, directory: Path, output: Path) -> None:
    """Judge the results of YABench's runner in DIRECTORY: config.json, and SG_, QR_, P_ and ORACLE_ files."""
    from hydrograph_gauge.experiments.summary import format_summary
    from hydrograph_gauge.experiments.yabench import import_yabench

    import_yabench(directory, output, lambda words: click.echo(words, err=True))
    for line in format_summary([output]):
        click.echo(line)


@command.command("report")
@click.argument("runs", nargs=-1, required=True, type=_FOLDER)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The page.")
def report_(*, runs: tuple[Path, ...], output: Path) -> None:
    """Write one offline page about the folders RUNS."""
    from hydrograph_gauge import report

    report.build(list(runs), output)
    click.echo(f"wrote {output}")


@command.command("publish")
@click.argument("run", type=_FOLDER)
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="DIR", help="Folder; default: RUN-published.")
@click.option(
    "--largest",
    type=click.FloatRange(0),
    default=100,
    show_default=True,
    metavar="MB",
    help="Describe generated data that is larger instead of copying it.",
)
@_worlds
@_master
@_processes
@_quiet
def publish_(
    *,
    run: Path,
    target: Path | None,
    largest: float,
    worlds: Path | None,
    master: str | None,
    processes: int | None,
    quiet: bool,
) -> None:
    """Write a folder with all that a reader needs to check the verdicts of RUN."""
    from hydrograph_gauge import report
    from hydrograph_gauge.experiments.publish import publish_run

    options = _options(worlds, master, processes, quiet=quiet)
    place = target or run.with_name(f"{run.resolve().name}-published")
    done = publish_run(run, place, options, lambda folder, page: report.build([folder], page), largest=largest)
    absent = sum(not entry.included for entry in done.data)
    described = f", {absent} of {len(done.data)} data sets described and not copied" if absent else ""
    click.echo(f"published {done.runs} runs, {done.queries} verdicts to {done.folder}{described}")


@command.command("rejudge")
@click.argument("directory", metavar="DIR", type=_FOLDER)
@_worlds
@_master
@_processes
@_quiet
def rejudge_(*, directory: Path, worlds: Path | None, master: str | None, processes: int | None, quiet: bool) -> None:
    """Judge the published folder DIR again, without an engine; exit with 1 if a verdict differs."""
    from hydrograph_gauge.experiments.rejudge import rejudge_published

    done = rejudge_published(directory, _options(worlds, master, processes, quiet=quiet))
    for line in done.differences:
        click.echo(line)
    click.echo(str(done))
    if done.differences:
        raise SystemExit(1)


def _read(source: str, given: tuple[str, ...], tests: tuple[str, ...], repeat: int | None) -> Experiment:
    found = read_experiment(source, given, only=tests)
    return found if repeat is None else repeat_tests(found, repeat)


def _options(worlds: Path | None, master: str | None, processes: int | None, *, quiet: bool) -> RunOptions:
    from hydrograph_gauge.experiments.options import RunOptions, start_oracle_session

    def progress(words: str) -> None:
        if not quiet:
            click.echo(words, err=True)

    return RunOptions(worlds, start_oracle_session(master), processes, progress)

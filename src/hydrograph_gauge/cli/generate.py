"""Command `hydrograph generate WORLD TARGET`, with an option for each setting of the world."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hydrograph.cli.options import setting_option
from hydrograph_gauge.worlds.manifest import ManifestPart, WorldManifest
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.spark import compile_long_methods
from hydrograph_gauge.worlds.world import WORLDS, World, find_world

_INTERVAL = 0.5  # seconds between two looks at Spark


class Worlds(click.Group):
    """The worlds as sub-commands, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the worlds."""
        return list(WORLDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of one world."""
        return _command(find_world(cmd_name)) if cmd_name in WORLDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the worlds without loading them."""
        with formatter.section("Worlds"):
            formatter.write_dl([(name, summary) for name, (_, summary) in WORLDS.items()])


@click.group("generate", cls=Worlds)
def command() -> None:
    """Generate the streams and the static data of a world, on Spark.

    The same seed gives the same rows on any machine. TARGET becomes a directory with a recorded stream (encoded
    Parquet) for each stream, the static graph, and the manifest world.json; a summary is printed.
    """


def _command(world: World[Any]) -> click.Command:
    """Return the command that generates `world`, with an option for each of its settings."""

    def generate(target: Path, given: dict[str, Any]) -> None:
        from hydrograph.runtime.session import spark_session
        from hydrograph_gauge.worlds.spark import count_active_tasks
        from hydrograph_gauge.worlds.writer import write_world

        forms, force, file = given.pop("text"), given.pop("force"), given.pop("settings")
        master, memory = given.pop("master"), given.pop("memory")
        settings = read_settings(world.settings, file, {k: v for k, v in given.items() if v not in (None, ())})
        compile_long_methods()
        spark = spark_session(master, memory)
        with _progress(lambda: count_active_tasks(spark)) as step:
            manifest = write_world(spark, world, settings, target, forms=forms, force=force, step=step)
        _report(manifest, target)

    params: list[click.Parameter] = [click.Argument(["target"], type=click.Path(path_type=Path))]
    params += [setting_option(name, field) for name, field in world.settings.model_fields.items()]
    params += [
        click.Option(
            ["--settings"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A TOML file with settings; options override it.",
        ),
        click.Option(
            ["--text"],
            multiple=True,
            type=click.Choice(list(world.texts)),
            help="Also write the streams in this text format, and the static graph as N-Triples.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace TARGET if it is a generated world."),
        click.Option(["--master"], help="The Spark master, such as local[2]."),
        click.Option(["--memory"], help="The memory of Spark's driver, such as 4g."),
    ]

    def callback(target: Path, **given: Any) -> None:
        generate(target, given)

    return click.Command(world.name, params=params, callback=callback, help=world.summary)


@contextmanager
def _progress(tasks: Callable[[], tuple[int, int]]) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on standard error if it is a terminal, and yield the function that names the current step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    over = threading.Event()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def watch() -> None:
            while not over.wait(_INTERVAL):
                done, known = tasks()
                if known:
                    bar.update(task, completed=done, total=known)

        watcher = threading.Thread(target=watch, name="progress", daemon=True)
        watcher.start()
        try:
            yield lambda words: bar.update(task, description=words)
        finally:
            over.set()
            watcher.join(2 * _INTERVAL)


def _report(manifest: WorldManifest, target: Path) -> None:
    """Print a line for each part of the world."""

    def line(name: str, part: ManifestPart) -> str:
        times = "" if part.first is None else f", {part.first} to {part.last} ms"
        return f"{target / part.path}: {part.triples} triples, {part.elements} elements{times}, {part.checksum} {name}"

    if manifest.static is not None:
        click.echo(line("(static)", manifest.static))
    for part in manifest.streams.values():
        click.echo(line(f"<{part.iri}>", part))

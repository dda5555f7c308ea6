"""The command `hydrograph`: sub-commands, and errors as one line with an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

import click

from hydrograph import __version__
from hydrograph.errors import HydrographError, RunError

COMMANDS = {
    "run": "Answer a query over recorded or live streams.",
    "status": "Show the state of a live query.",
    "explain": "Show what a query means and how it is run.",
    "validate": "Check a query without running it.",
    "translate": "Print a query in another language, and report what that one cannot express.",
    "convert": "Convert a recorded stream from one format to another.",
    "doctor": "Check that this machine can run queries, and suggest fixes.",
}
"""The engine's own sub-commands; each is a module of this package with a `command`, loaded when it is called."""

PLUGIN_GROUP = "hydrograph.commands"
"""Entry-point group of packages that add sub-commands; each such package has `COMMANDS` like the one above."""

INTERRUPTED = 130


def plugins() -> list[ModuleType]:
    """Return the installed packages that add sub-commands."""
    return [entry.load() for entry in entry_points(group=PLUGIN_GROUP)]


class Commands(click.Group):
    """The sub-commands, loaded one at a time, so that `--help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the engine's commands in the order in which a newcomer needs them, then those of other packages."""
        return [*COMMANDS, *(name for package in plugins() for name in package.COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one sub-command."""
        packages = ["hydrograph.cli"] if cmd_name in COMMANDS else []
        packages += [package.__name__ for package in plugins() if cmd_name in package.COMMANDS]
        if not packages:
            return None
        command: click.Command = importlib.import_module(f"{packages[0]}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the sub-commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items(), *(row for package in plugins() for row in package.COMMANDS.items())])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hydrograph")
def hydrograph() -> None:
    """Continuous SPARQL over RDF streams on Apache Spark.

    Exit codes: 0 ok, 1 run failed, 2 usage, 3 query, 4 data, 5 answers differ from the oracle, 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; every error on purpose is one message and its exit code, never a stack trace."""
    try:
        hydrograph.main(args=arguments, prog_name="hydrograph", standalone_mode=False)
    except HydrographError as error:
        click.echo(f"hydrograph: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"hydrograph: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("hydrograph: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has closed it; Python must not complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"hydrograph: {place}{error.strerror or error}", err=True)
        sys.exit(RunError.exit_code)


if __name__ == "__main__":
    main()

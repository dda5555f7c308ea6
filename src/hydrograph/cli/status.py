"""`hydrograph status`: the state of a live query, read from its checkpoint."""

from __future__ import annotations

import json

import click

from hydrograph.cli.follow import age, status_line
from hydrograph.live.status import read_status


@click.command(name="status")
@click.argument("checkpoint")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(*, checkpoint: str, as_json: bool) -> None:
    """Show the state of the live query with this CHECKPOINT, or its last state if it has stopped.

    For example: hydrograph status /var/lib/hydrograph/visits
    """
    status = read_status(checkpoint)
    if as_json:
        click.echo(json.dumps(status))
        return
    click.echo(status_line(status))
    click.echo(f"placement {status['placement']}, batch {status['batch']}, written {age(status):.0f} s ago")
    if len(status["queries"]) > 1 or status["failed"]:
        for name, each in status["queries"].items():
            lag = "-" if each["lag_ms"] is None else f"{each['lag_ms']} ms"
            where = f"{each['placement']}, version {each['version']}"
            click.echo(f"  {name}: {each['reports']} reports, lag {lag}, {each['state_rows']:,} rows, {where}")
        for name, words in status["failed"].items():
            click.echo(f"  {name}: failed: {words}")
    for name, each in status["queries"].items():
        click.echo(f"{name}: evaluation: {each['evaluation']}")
    if status["paused"]:
        click.echo(f"  paused: {status['paused']}; it resumes by itself when there is space")
    for words in status["troubles"]:
        click.echo(f"  trouble: {words}")
    if status["stopped"]:
        click.echo(f"  stopped: {status['stopped']}")
    if status["restarts"]:
        click.echo(f"  Spark restarted {status['restarts']} times, last: {status['restarted']}")
    steps = ", ".join(f"{step} {spent:.1f}" for step, spent in status["milliseconds"].items())
    click.echo(f"milliseconds of the last batch: {steps}")

"""`hydrograph doctor`: checks of this machine, with a fix for each problem."""

from __future__ import annotations

import json
import sys

import click

from hydrograph.runtime.doctor import Finding, examine


@click.command(name="doctor")
@click.option("--start", is_flag=True, help="Start Spark too, and run a small job; takes some seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(*, start: bool, as_json: bool) -> None:
    """Check Python, packages, Java, Spark, ports, memory and temporary space.

    Prints one line for each check and a fix below each problem. Exit code 0 if all is well, 1 if not.
    """
    found: list[Finding] = []
    for finding in examine(start=start):
        found.append(finding)
        if not as_json:
            click.echo(f"{'ok ' if finding.ok else 'BAD'}  {finding.name:<9}{finding.found}")
            if finding.fix:
                click.echo(f"     {'':<9}fix: {finding.fix}")
    well = all(finding.ok for finding in found)
    if as_json:
        checks = [{"name": each.name, "ok": each.ok, "found": each.found, "fix": each.fix or None} for each in found]
        click.echo(json.dumps({"ok": well, "checks": checks}, ensure_ascii=False))
    sys.exit(0 if well else 1)

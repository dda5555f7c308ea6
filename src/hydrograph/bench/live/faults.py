"""`make test-faults`: processes are killed at every point of a batch, and what stands in the end is compared.

The last line is `faults: <kills> kills, <lost> lost, <doubled> doubled`; anything but none lost and none doubled fails.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from random import Random

import click

from hydrograph.bench.live.site import Site
from hydrograph.live.failpoints import POINTS


@click.command()
@click.option("--kills", default=10, show_default=True, help="Kills at each point.")
@click.option("--seed", default=1, show_default=True)
def main(kills: int, seed: int) -> None:
    """Kill drivers, in rounds of one kill at each point on one checkpoint."""
    killed = lost = doubled = 0
    slowest = 0.0
    for number in range(kills):
        rng = Random(f"faults {seed} {number}")
        with tempfile.TemporaryDirectory(prefix="hydrograph-faults-") as directory:
            site = Site(Path(directory), seed=seed + number, files=30)
            site.give(5)  # some windows close with every file from here on
            for point in rng.sample(POINTS, len(POINTS)):
                site.give(rng.randrange(3, 5))
                ran = site.run(f"{point}:1", once=True)
                if ran.returncode not in (0, -9):
                    raise click.ClickException(f"seed {seed + number}, {point}: {ran.stderr}")
            site.give(site.files)
            started = time.monotonic()
            ran = site.run()
            slowest = max(slowest, time.monotonic() - started)
            missing, extra = site.lost_and_doubled()
            if ran.returncode or missing or extra:
                click.echo(f"seed {seed + number}: {missing} lost, {extra} doubled\n{ran.stderr}")
        killed, lost, doubled = killed + site.kills, lost + missing, doubled + extra
        click.echo(f"round {number + 1}: {site.kills} kills, {missing} lost, {extra} doubled")
    click.echo(f"slowest last run: {slowest:.1f} s from its start to the end of the stream")
    click.echo(f"faults: {killed} kills, {lost} lost, {doubled} doubled")
    if lost or doubled or not killed:
        sys.exit(1)


if __name__ == "__main__":
    main()

"""`make test-faults`: processes are killed at every point of a batch, disks are full, drivers sleep, clocks jump.

After each fault what stands in the end is compared with replay. The last line is
`faults: <kills> kills, <lost> lost, <doubled> doubled`; anything but none lost and none doubled fails, and so does a
driver that takes more than a minute, or does not say what is wrong.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import click

from hydrograph.bench.live.accidents import clock_jumps, disk_full, socket_cut, two_drivers
from hydrograph.bench.live.site import STRUCK, Site
from hydrograph.live.failpoints import POINTS

_READY = 60.0
"""Seconds within which a driver has to be back after a fault."""
_PATIENCE = 240.0
"""Seconds that a driver is given to get somewhere, on a machine that may be busy with others."""
_ON_SPARK = ("--driver", "spark", "--memory", "1g")


@dataclass(slots=True)
class Tally:
    """What has come of faults."""

    kills: int = 0
    lost: int = 0
    doubled: int = 0
    slowest: float = 0.0
    """Seconds that the slowest driver took from its start after a fault until it answered again."""
    problems: list[str] = field(default_factory=list)

    def judge(self, site: Site, what: str) -> None:
        """Compare what stands with replay."""
        missing, extra = site.lost_and_doubled()
        self.lost, self.doubled = self.lost + missing, self.doubled + extra
        if missing or extra:
            self.problems.append(f"{what}: {missing} lost, {extra} doubled")

    def finish(self, site: Site, what: str, *options: str) -> None:
        """Let a driver go on to the end of the stream."""
        site.give(site.files)
        with site.driver(None, *(options or ("--placement", "local"))) as driver:
            started = time.monotonic()
            while driver.poll() is None and not site.answers(driver.pid):
                time.sleep(0.1)
            spent = time.monotonic() - started
            _, err = driver.communicate(timeout=_PATIENCE)
        self.slowest = max(self.slowest, spent)
        if driver.returncode or spent > _READY:
            self.problems.append(f"{what}: back after {spent:.0f} s, exit {driver.returncode}\n{err}")
        self.judge(site, what)


def kill_drivers(root: Path, seed: int, tally: Tally) -> None:
    """Kill the Python process of the driver at each point, in a row on one checkpoint."""
    rng = Random(f"drivers {seed}")
    site = Site(root, seed=seed, files=30)
    site.give(5)  # some windows close with every file from here on
    for point in rng.sample(POINTS, len(POINTS)):
        site.give(rng.randrange(3, 5))
        ran = site.run(f"{point}:1", once=True)
        if ran.returncode != -9:
            tally.problems.append(f"driver at {point}: exit {ran.returncode}\n{ran.stderr}")
    tally.kills += site.kills
    tally.finish(site, f"drivers, seed {seed}")


def kill_jvms(root: Path, seed: int, tally: Tally) -> None:
    """Kill the Java process of a driver that runs on Spark at each point; its Python has to end, and to say why."""
    rng = Random(f"jvms {seed}")
    site = Site(root, seed=seed, files=30)
    site.give(5)
    for number, point in enumerate(rng.sample(POINTS, len(POINTS))):
        placement = ("local", "spark")[(number + seed) % 2]
        site.give(rng.randrange(3, 5))
        ran = site.run(f"{point}:1:jvm", *_ON_SPARK, "--placement", placement, patience=_PATIENCE)
        tally.kills += ran.stderr.count(STRUCK)
        if STRUCK not in ran.stderr or ran.returncode <= 0:
            tally.problems.append(f"jvm at {point}, {placement}: exit {ran.returncode}\n{ran.stderr}")
    tally.finish(site, f"jvms, seed {seed}", *_ON_SPARK, "--placement", "local")


def kill_executors(root: Path, seed: int, tally: Tally) -> None:
    """Kill an executor at each point while one driver goes on."""
    rng = Random(f"executors {seed}")
    site = Site(root, seed=seed, files=30)
    site.give(5)
    points = rng.sample(POINTS, len(POINTS))
    strikes = ",".join(f"{point}:{number}:executor" for number, point in enumerate(points, 1))
    options = (*_ON_SPARK, "--placement", "spark", "--master", "local-cluster[2,1,1024]")
    started, before = time.monotonic(), 0
    with site.driver(strikes, *options) as driver:
        while driver.poll() is None and time.monotonic() - started < 2 * _PATIENCE:
            if site.begun > before:  # a file for each batch, so that there is one for every strike
                before = site.begun
                site.give(1)
            time.sleep(0.2)
        ended = driver.poll() is not None
        driver.terminate()
        _, err = driver.communicate(timeout=_PATIENCE)
    struck = err.count(STRUCK)
    tally.kills += struck
    if driver.returncode or struck < len(POINTS):
        tally.problems.append(f"executors, seed {seed}: exit {driver.returncode}, {struck} killed\n{err}")
    if ended:
        tally.judge(site, f"executors, seed {seed}")
    else:  # on a machine that is too busy; what is not reported yet is not lost
        tally.finish(site, f"executors, seed {seed}, after {2 * _PATIENCE:.0f} s")


def _accident(happens: Callable[[Site, int], str | None]) -> Callable[[Path, int, Tally], None]:
    """Return an accident that kills nobody as a fault."""

    def fault(root: Path, seed: int, tally: Tally) -> None:
        site = Site(root, seed=seed, files=12)
        problem = happens(site, seed)
        if problem is not None:
            tally.problems.append(f"{happens.__name__}, seed {seed}: {problem}")
        tally.judge(site, f"{happens.__name__}, seed {seed}")

    return fault


FAULTS: dict[str, Callable[[Path, int, Tally], None]] = {
    "drivers": kill_drivers,
    "jvms": kill_jvms,
    "executors": kill_executors,
    "disk-full": _accident(disk_full),
    "two-drivers": _accident(two_drivers),
    "clock-jumps": _accident(clock_jumps),
    "socket-cut": _accident(socket_cut),
}


@click.command()
@click.option(
    "--kills", default=10, show_default=True, help="Kills of each kind at each point, and rounds of the rest."
)
@click.option("--seed", default=1, show_default=True)
@click.option("--only", multiple=True, type=click.Choice([*FAULTS]), help="Faults to try; all by default.")
def main(kills: int, seed: int, only: tuple[str, ...]) -> None:
    """Let everything go wrong that is known to go wrong."""
    tally = Tally()
    for name, fault in FAULTS.items():
        if only and name not in only:
            continue
        for number in range(kills):
            before, started = tally.kills, time.monotonic()
            known = len(tally.problems)
            with tempfile.TemporaryDirectory(prefix="hydrograph-faults-") as directory:
                fault(Path(directory), seed + number, tally)
            spent = time.monotonic() - started
            for problem in tally.problems[known:]:
                click.echo(problem)
            outcome = "as it should be" if len(tally.problems) == known else "failed"
            click.echo(f"{name} {number + 1}: {tally.kills - before} kills, {spent:.0f} s, {outcome}")
    click.echo(f"back after a fault within {tally.slowest:.1f} s")
    click.echo(f"faults: {tally.kills} kills, {tally.lost} lost, {tally.doubled} doubled")
    if tally.problems:
        sys.exit(1)


if __name__ == "__main__":
    main()

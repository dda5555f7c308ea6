"""`make test-faults`: processes are killed at every point of a batch, disks are full, drivers sleep, clocks jump.

After each fault the results are compared with replay. The last line is
`faults: <kills> kills, <lost> lost, <doubled> doubled`; anything but none lost and none doubled fails, and so does a
driver that takes more than a minute to answer after its start, or does not say what is wrong.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import click

from hydrograph.live.failpoints import POINTS
from tests.support.accidents import clock_jumps, disk_full, socket_cut, two_drivers
from tests.support.kill_harness import STRUCK, Site

_READY = 60.0
"""Seconds within which a driver has to be back after a fault."""
_PATIENCE = 240.0
"""Seconds that a driver is given to get somewhere, on a machine that may be busy with others."""
_ON_SPARK = ("--driver", "spark", "--memory", "1g")


@dataclass(slots=True)
class Tally:
    """Counts of faults and their effects."""

    kills: int = 0
    lost: int = 0
    doubled: int = 0
    ready: list[float] = field(default_factory=list)
    """Seconds that drivers took from their starts after faults until they answered again."""
    problems: list[str] = field(default_factory=list)

    def judge(self, site: Site, what: str) -> None:
        """Compare the results with replay."""
        missing, extra = site.lost_and_doubled()
        self.lost, self.doubled = self.lost + missing, self.doubled + extra
        if missing or extra:
            self.problems.append(f"{what}: {missing} lost, {extra} doubled")
        self.ready += site.ready
        slow = [f"{spent:.0f} s" for spent in site.ready if spent > _READY]
        if slow:
            self.problems.append(f"{what}: drivers were back only after {', '.join(slow)}")

    def finish(self, site: Site, what: str, *options: str) -> None:
        """Run a driver to the end of the stream."""
        site.give(site.files)
        ran = site.run(None, *options, patience=_PATIENCE)
        if ran.returncode:
            self.problems.append(f"{what}: exit {ran.returncode}\n{ran.stderr}")
        self.judge(site, what)

    def add(self, other: Tally) -> None:
        """Add the counts of other faults."""
        self.kills, self.lost, self.doubled = (
            self.kills + other.kills,
            self.lost + other.lost,
            self.doubled + other.doubled,
        )
        self.ready += other.ready
        self.problems += other.problems


def kill_drivers(root: Path, seed: int, tally: Tally) -> None:
    """Kill the Python process of the driver at each point, in a row on one checkpoint.

    Every other seed lets Spark call the driver: what it has noted of its own progress is then behind or ahead.
    """
    rng = Random(f"drivers {seed}")
    options = (*_ON_SPARK, "--placement", "local") if seed % 2 else ("--placement", "local")
    site = Site(root, seed=seed, files=30)
    site.give(5)  # some windows close with every file from here on
    for point in rng.sample(POINTS, len(POINTS)):
        site.give(rng.randrange(3, 5))
        ran = site.run(f"{point}:1", *options, patience=_PATIENCE)
        if ran.returncode != -9:
            tally.problems.append(f"driver at {point}: exit {ran.returncode}\n{ran.stderr}")
    tally.kills += site.kills
    tally.finish(site, f"drivers, seed {seed}", *options)


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
    """Kill an executor at each point while one driver runs."""
    rng = Random(f"executors {seed}")
    site = Site(root, seed=seed, files=30)
    site.give(5)
    points = rng.sample(POINTS, len(POINTS))
    strikes = ",".join(f"{point}:{number}:executor" for number, point in enumerate(points, 1))
    options = (*_ON_SPARK, "--placement", "spark", "--master", "local-cluster[2,1,1024]")
    started, before = time.monotonic(), 0
    with site.driver(strikes, *options) as driver:  # its start follows no fault, and has no minute
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
    """Return an accident without a kill as a fault."""

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
@click.option("--at-once", default=2, show_default=True, help="Rounds side by side, each with drivers of its own.")
def main(kills: int, seed: int, only: tuple[str, ...], at_once: int) -> None:
    """Let everything go wrong that is known to go wrong."""
    total = Tally()
    rounds = [(name, number) for name in FAULTS if not only or name in only for number in range(kills)]
    with ThreadPoolExecutor(at_once) as pool:
        for (name, number), (tally, spent) in zip(
            rounds, pool.map(lambda each: _round(each[0], seed + each[1]), rounds), strict=True
        ):
            for problem in tally.problems:
                click.echo(problem)
            outcome = "failed" if tally.problems else "as it should be"
            click.echo(f"{name} {number + 1}: {tally.kills} kills, {spent:.0f} s, {outcome}")
            total.add(tally)
    if total.ready:
        click.echo(f"{len(total.ready)} drivers answered, the slowest {max(total.ready):.1f} s after its start")
    click.echo(f"faults: {total.kills} kills, {total.lost} lost, {total.doubled} doubled")
    if total.problems:
        sys.exit(1)


def _round(name: str, seed: int) -> tuple[Tally, float]:
    """Run one kind of fault in a directory of its own; return its counts and the seconds it took."""
    tally, started = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hydrograph-faults-") as directory:
        FAULTS[name](Path(directory), seed, tally)
    return tally, time.monotonic() - started


if __name__ == "__main__":
    main()

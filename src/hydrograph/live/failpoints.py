"""Places where something can be made to die, for tests: `HYDROGRAPH_FAIL=point:n:victim` strikes the n-th time there.

The points of a batch are `read`, `begun`, `evaluate`, `write` (in the middle of writing), `written` and `done`. Victims
are `driver` (this process, the default), `jvm` (the Spark driver's Java), `executor` (one of its executors on this
machine), and `asleep`: nobody dies, but this process stands still until somebody wakes it. Several strikes are
separated by commas. A driver that starts again works off its last batch before it starts Spark: as long as the victim
is not there, nothing counts.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter

POINTS = ("read", "begun", "evaluate", "write", "written", "done")
VARIABLE = "HYDROGRAPH_FAIL"
_MARKS = {"jvm": "org.apache.spark.deploy.SparkSubmit", "executor": "CoarseGrainedExecutorBackend"}
"""What the command lines of victims have in them."""
_reached: Counter[str] = Counter()


def due(point: str) -> str | None:
    """Return who has to die here and now; None if nobody."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return None
    strikes = [strike.split(":") for strike in wanted.split(",")]
    if all(name != point for name, *_ in strikes):
        return None
    for name, *rest in strikes:
        number, victim = (*rest, "1", "driver")[:2] if len(rest) != 1 else (rest[0], "driver")
        if name == point and _reached[point] + 1 == int(number):
            if victim in _MARKS and not _victims(_MARKS[victim]):
                return None
            _reached[point] += 1
            return victim
    _reached[point] += 1
    return None


def reach(point: str) -> None:
    """Strike here, if it is due."""
    victim = due(point)
    if victim is not None:
        strike(victim)


def strike(victim: str) -> None:
    """End a process at once, without any clean-up; this one goes on if it is another."""
    match victim:
        case "driver":
            os.kill(os.getpid(), signal.SIGKILL)
        case "asleep":
            os.kill(os.getpid(), signal.SIGSTOP)
        case _:
            pid = _victims(_MARKS[victim])[0]
            sys.stderr.write(f"hydrograph: struck {victim} {pid}\n")
            os.kill(pid, signal.SIGKILL)


def _victims(mark: str) -> list[int]:
    """Return the processes below this one that run what is marked so."""
    import psutil  # only where something is to die

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue  # it has ended already
        if any(mark in word for word in words):
            found.append(process.pid)
    return found

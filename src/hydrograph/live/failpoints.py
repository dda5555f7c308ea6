"""Failpoints for tests: `HYDROGRAPH_FAIL=point:n:victim` kills a process when a point is reached the n-th time.

The points of a batch are `read`, `begun`, `evaluate`, `write` (in the middle of a write), `written` and `done`. Victims
are `driver` (this process, the default), `jvm` (Spark's Java process), `executor` (one of its executors on this
machine), and `asleep`, which suspends this process instead of killing it. Several failures are separated by commas. A
restarted driver replays its last batch before it starts Spark: a point does not count while its victim does not exist.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter

POINTS = ("read", "begun", "evaluate", "write", "written", "done")
VARIABLE = "HYDROGRAPH_FAIL"
_MARKS = {"jvm": "org.apache.spark.deploy.SparkSubmit", "executor": "CoarseGrainedExecutorBackend"}
"""Words in the command lines of victims."""
_reached: Counter[str] = Counter()


def due(point: str) -> str | None:
    """Return the victim that is due at a point; None if there is none."""
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
    """Kill the victim that is due at a point, if there is one."""
    victim = due(point)
    if victim is not None:
        strike(victim)


def strike(victim: str) -> None:
    """Kill a process at once, without any clean-up."""
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
    """Return the ids of the child processes whose command lines contain a word."""
    import psutil  # imported only if a failure is due

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue  # has ended meanwhile
        if any(mark in word for word in words):
            found.append(process.pid)
    return found

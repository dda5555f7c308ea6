"""Places where a process can be made to die, for tests: `HYDROGRAPH_FAIL=point:n` kills it the n-th time it gets there.

The points of a batch are `read`, `begun`, `evaluate`, `write` (in the middle of writing), `written` and `done`.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

POINTS = ("read", "begun", "evaluate", "write", "written", "done")
VARIABLE = "HYDROGRAPH_FAIL"
_reached: Counter[str] = Counter()


def due(point: str) -> bool:
    """Tell whether the process has to die here and now."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return False
    name, _, number = wanted.partition(":")
    if name != point:
        return False
    _reached[point] += 1
    return _reached[point] == int(number or 1)


def reach(point: str) -> None:
    """Die here, if it is due."""
    if due(point):
        die()


def die() -> None:
    """End this process at once, without any clean-up."""
    os.kill(os.getpid(), signal.SIGKILL)

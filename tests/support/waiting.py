"""Waiting for a condition in tests of programs with threads or processes."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], seconds: float = 30, running: Callable[[], object] = lambda: True) -> None:
    """Wait until a condition holds; fail after some seconds, or when the program under test is no longer running."""
    end = time.monotonic() + seconds
    while not condition():
        assert running(), "the program ended before the condition held"
        assert time.monotonic() < end, f"the condition did not hold within {seconds} seconds"
        time.sleep(0.01)

"""How many tasks make the rows of a plan: by their number, unless somebody wants to see that it does not matter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FORCED: ContextVar[int | None] = ContextVar("partitions", default=None)


def tasks(rows: float, per_task: int) -> int:
    """Return how many tasks make so many rows.

    >>> tasks(2_500_000, 1_000_000)
    3
    """
    forced = _FORCED.get()
    return max(1, -int(-rows // per_task)) if forced is None else forced


@contextmanager
def forced(count: int) -> Iterator[None]:
    """Make every step of generation with `count` tasks."""
    before = _FORCED.set(count)
    try:
        yield
    finally:
        _FORCED.reset(before)

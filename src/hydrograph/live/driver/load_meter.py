"""Whether a query keeps up: how long its reports take, against how much of the stream they are about."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from hydrograph.temporal import Instant

SUSTAINED = 10_000.0
"""Milliseconds of work that a judgement is taken over at least."""
_FEWEST = 8
"""Batches that a judgement is taken over at least."""
_GRAIN = SUSTAINED / 100
"""Milliseconds of work up to which batches are counted as one."""


@dataclass(slots=True)
class Pace:
    """The latest batches of a query: milliseconds of work, and the time of the last report behind them."""

    _worked: deque[tuple[float, Instant]] = field(default_factory=deque)

    def worked(self, milliseconds: float, last: Instant | None) -> None:
        """Count a batch; before the first report there is nothing to compare it with."""
        if last is None:
            return
        if self._worked and self._worked[-1][0] < _GRAIN:
            milliseconds += self._worked.pop()[0]
        self._worked.append((milliseconds, last))
        while len(self._worked) > _FEWEST and self._busy - self._worked[0][0] >= SUSTAINED:
            self._worked.popleft()

    @property
    def _busy(self) -> float:
        return sum(milliseconds for milliseconds, _ in self._worked)

    @property
    def load(self) -> float:
        """Milliseconds of work for one of the stream, the slowest batch aside; 0 until there is enough to judge by.

        >>> slow = Pace()
        >>> for second in range(12):
        ...     slow.worked(9_000 if second == 8 else 1_500, 1_000 * second)
        >>> slow.load
        1.5
        """
        if self._busy < SUSTAINED or len(self._worked) < _FEWEST:
            return 0.0
        (_, since), *following = self._worked  # what the first has worked off came before
        rest = sorted(milliseconds for milliseconds, _ in following)[:-1]
        return sum(rest) * len(following) / len(rest) / max(1, following[-1][1] - since)

"""What enters the answers and leaves them from report to report (S29), where answers are kept with their intervals.

The work of a report follows what changes: rows wait for the instant at which they enter, and then for that at which
they leave; nothing is asked of those that stay.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hydrograph.algebra.queries import StreamOperator
from hydrograph.live.step.snapshot import Snapshot
from hydrograph.runtime.reports import Row


def stream_difference(
    operator: StreamOperator, net: dict[Row, int], current: Counter[Row], *, as_set: bool
) -> list[Row]:
    """Return what a report gives of what changed: `net` by how much, `current` what is there now."""
    entering = operator is StreamOperator.ISTREAM
    found: list[Row] = []
    for row, change in net.items():
        grown = change if entering else -change
        if grown <= 0:
            continue
        if not as_set:
            found += [row] * grown
        elif (current[row] - change if entering else current[row]) <= 0:
            found.append(row)
    return found


@dataclass(slots=True)
class IncrementalR2S:
    """The answers at the last report, and those that wait to enter or to leave."""

    operator: StreamOperator
    as_set: bool
    _current: Counter[Row] = field(default_factory=Counter)
    _snapshot: Snapshot | None = None
    """What `_current` holds; None where that is not known."""
    _entering: list[tuple[int, int, int, Row]] = field(default_factory=list)
    """When each enters, its number, when it leaves, and the answer."""
    _leaving: list[tuple[int, int, Row]] = field(default_factory=list)
    _added: int = 0

    def __len__(self) -> int:
        """Return how many answers are kept."""
        return len(self._entering) + len(self._leaving)

    def add(self, rows: Iterable[tuple[int, int, Row]]) -> None:
        """Add answers, each with the instants `[lo, hi)` at which it is visible."""
        for lo, hi, row in rows:
            self._added += 1  # rows can not be compared: no two have one number
            heapq.heappush(self._entering, (lo, self._added, hi, row))

    def reports(self, instants: Sequence[int], before: Snapshot) -> tuple[list[list[Row]], Snapshot]:
        """Return what each of some instants reports, and the snapshot behind the last."""
        if not instants:
            return [], before
        found: list[list[Row]] = []
        total: Counter[Row] = Counter()
        for number in instants:
            net = self._to(number)
            if self._snapshot is not before:  # begun anew: what stood before is known from the snapshot alone
                net = self._against(before)
                self._snapshot = before
            found.append(stream_difference(self.operator, net, self._current, as_set=self.as_set) if net else [])
            total.update(net)
        entered = tuple(row for row, change in total.items() for _ in range(change))
        left = tuple(row for row, change in total.items() for _ in range(-change))
        self._snapshot = before.after(entered, left)
        return found, self._snapshot

    def _to(self, number: int) -> dict[Row, int]:
        """Go on to an instant; return by how much each answer has become more or less."""
        net: dict[Row, int] = {}
        while self._leaving and self._leaving[0][0] <= number:
            _, _, row = heapq.heappop(self._leaving)
            net[row] = net.get(row, 0) - 1
        while self._entering and self._entering[0][0] <= number:
            _, place, hi, row = heapq.heappop(self._entering)
            if hi > number:
                net[row] = net.get(row, 0) + 1
                heapq.heappush(self._leaving, (hi, place, row))
        for row, change in net.items():
            count = self._current[row] + change
            if count:
                self._current[row] = count
            else:
                del self._current[row]
        return net

    def _against(self, before: Snapshot) -> dict[Row, int]:
        found = Counter(self._current)
        found.subtract(before.counts())
        return {row: change for row, change in found.items() if change}

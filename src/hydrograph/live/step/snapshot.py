"""Snapshots: the solutions of the last report, against which the next one is compared (S29, S35).

A snapshot stores the changes since the one before it, and now and then all solutions, so the cost of a batch follows
what changed. Snapshots are immutable: a batch that is replayed starts from the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hydrograph.runtime.reports import Row

MIN_CHANGES = 256
"""Changes that a snapshot may always have before it stores all solutions again."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Bag of solutions: those of `before`, with some added and some removed."""

    before: Snapshot | None = None
    entered: tuple[Row, ...] = ()
    left: tuple[Row, ...] = ()
    size: int = 0
    """The number of solutions."""
    changed: int = 0
    """Solutions added or removed since all were stored."""

    def after(self, entered: tuple[Row, ...], left: tuple[Row, ...]) -> Snapshot:
        """Return the snapshot after some changes; the same one if there are none."""
        if not entered and not left:
            return self
        size = self.size + len(entered) - len(left)
        changed = self.changed + len(entered) + len(left)
        grown = Snapshot(self, entered, left, size, changed)
        return grown if changed <= max(MIN_CHANGES, 2 * size) else full_snapshot(grown.counts())

    def since(self, known: Snapshot | None) -> list[Snapshot] | None:
        """Return the snapshots from a known one up to this, in order; None if this one does not build on it."""
        found: list[Snapshot] = []
        at: Snapshot | None = self
        while at is not None and at is not known:
            found.append(at)
            at = at.before
        return None if at is None else found[::-1]

    def counts(self) -> Counter[Row]:
        """Return the multiplicity of each solution."""
        found: Counter[Row] = Counter()
        for each in self._chain():
            found.update(each.entered)
            found.subtract(each.left)
        return +found

    def _chain(self) -> Iterator[Snapshot]:
        parts = [self]
        while (before := parts[-1].before) is not None:
            parts.append(before)
        return reversed(parts)

    def __eq__(self, other: object) -> bool:
        """Tell whether the solutions are the same, however they were reached."""
        return isinstance(other, Snapshot) and (self is other or self.counts() == other.counts())

    def __hash__(self) -> int:
        """Return a hash that is equal for equal snapshots."""
        return hash(self.size)


def full_snapshot(counts: Counter[Row]) -> Snapshot:
    """Return a snapshot that stores all solutions."""
    rows = tuple(counts.elements())
    return Snapshot(None, rows, (), len(rows))


EMPTY_SNAPSHOT = Snapshot()

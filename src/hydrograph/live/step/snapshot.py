"""The solutions of the last report, against which those of the next one are compared (S29, S35).

A snapshot is what changed since the one before it, and now and then a whole one: what a batch costs follows what
changed, not how much there is. It never changes itself, so that a batch that is worked off again finds what it found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hydrograph.runtime.reports import Row

_LEAST = 256
"""Rows that may always have changed before a snapshot is made whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A bag of solutions: that of `before` with some more and some less."""

    before: Snapshot | None = None
    entered: tuple[Row, ...] = ()
    left: tuple[Row, ...] = ()
    size: int = 0
    """How many solutions there are."""
    changed: int = 0
    """How many have come or gone since it was last whole."""

    def after(self, entered: tuple[Row, ...], left: tuple[Row, ...]) -> Snapshot:
        """Return the snapshot with what has come and gone; the same one if nothing has."""
        if not entered and not left:
            return self
        size = self.size + len(entered) - len(left)
        changed = self.changed + len(entered) + len(left)
        grown = Snapshot(self, entered, left, size, changed)
        return grown if changed <= max(_LEAST, 2 * size) else full_snapshot(grown.counts())

    def since(self, known: Snapshot | None) -> list[Snapshot] | None:
        """Return the snapshots behind a known one up to this, in order; None if it does not stem from that one."""
        found: list[Snapshot] = []
        at: Snapshot | None = self
        while at is not None and at is not known:
            found.append(at)
            at = at.before
        return None if at is None else found[::-1]

    def counts(self) -> Counter[Row]:
        """Return how often each solution is there."""
        found: Counter[Row] = Counter()
        for each in self._parts():
            found.update(each.entered)
            found.subtract(each.left)
        return +found

    def _parts(self) -> Iterator[Snapshot]:
        parts = [self]
        while (before := parts[-1].before) is not None:
            parts.append(before)
        return reversed(parts)

    def __eq__(self, other: object) -> bool:
        """Tell whether the same solutions are there, whatever has come and gone before."""
        return isinstance(other, Snapshot) and (self is other or self.counts() == other.counts())

    def __hash__(self) -> int:
        """Return a number that is the same for equal ones."""
        return hash(self.size)


def full_snapshot(counts: Counter[Row]) -> Snapshot:
    """Return a snapshot of its own."""
    rows = tuple(counts.elements())
    return Snapshot(None, rows, (), len(rows))


EMPTY_SNAPSHOT = Snapshot()

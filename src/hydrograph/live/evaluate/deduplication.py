"""Triples that come again (S36): what a new arrival adds is its interval without those of the arrivals before it.

The windows of one grid make this simple: both ends of an interval grow with the time of the arrival. So what is left of
one is a single piece: it begins where the arrival before it in time ends, and ends where the one after it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hydrograph.live.step.size_tiered_merge import merge_newest
from hydrograph.live.step.watermark import Times

_LEAST = 1024
"""Arrivals up to which a run may always grow."""
Flags = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class TripleIntervals:
    """Triples as ids, each with the time of its arrival and the ranks `[lo, hi)` at which a window shows it."""

    ids: tuple[Times, Times, Times]
    t: Times
    lo: Times
    hi: Times

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.t)

    def where(self, chosen: Flags | Times) -> TripleIntervals:
        """Return some of them."""
        s, p, o = self.ids
        return TripleIntervals((s[chosen], p[chosen], o[chosen]), self.t[chosen], self.lo[chosen], self.hi[chosen])

    def keys(self) -> Keys:
        """Return a number for each triple: those of equal ones are equal, those of different ones nearly never."""
        s, p, o = (ids.view(np.uint64) for ids in self.ids)
        mixed: Keys = (
            s * np.uint64(0x9E3779B97F4A7C15) ^ p * np.uint64(0xC2B2AE3D27D4EB4F) ^ o * np.uint64(0x165667B19E3779F9)
        )
        return mixed


def joined(parts: list[TripleIntervals]) -> TripleIntervals:
    """Return several as one."""
    s, p, o = (np.concatenate([part.ids[place] for part in parts]) for place in range(3))
    t, lo, hi = (np.concatenate([getattr(part, name) for part in parts]) for name in ("t", "lo", "hi"))
    return TripleIntervals((s, p, o), t, lo, hi)


@dataclass(frozen=True, slots=True)
class _Run:
    """Arrivals in the order of their keys."""

    keys: Keys
    arrived: TripleIntervals
    last: int
    """The rank from which on none is shown."""

    @classmethod
    def of(cls, keys: Keys, arrived: TripleIntervals) -> _Run:
        order = np.argsort(keys)
        return cls(keys[order], arrived.where(order), int(arrived.hi.max()))


@dataclass(slots=True)
class Deduplicator:
    """The arrivals of one window that reports to come can show."""

    _runs: list[_Run] = field(default_factory=list)

    def __len__(self) -> int:
        """Return how many arrivals are known."""
        return sum(len(run.keys) for run in self._runs)

    def cut(self, new: TripleIntervals) -> tuple[Times, Times, Flags]:
        """Return the ranks `[lo, hi)` that new arrivals add, and which add any; from now on they are known."""
        lo, hi = new.lo.copy(), new.hi.copy()
        keys = new.keys()
        if (again := self._again(keys)).any():
            at = np.flatnonzero(again)
            lo[at], hi[at] = self._left(new.where(at), keys[at])
        adds: Flags = lo < hi
        if adds.any():
            kept = new if adds.all() else new.where(adds)
            self._runs.append(_Run.of(keys[adds], kept))
            merge_newest(self._runs, lambda run: len(run.keys), _both, _LEAST)
        return lo, hi, adds

    def forget(self, frontier: int) -> None:
        """Forget arrivals that no report from `frontier` on can show."""
        self._runs = [run for run in self._runs if run.last > frontier]

    def _again(self, keys: Keys) -> Flags:
        """Tell which of the triples may be there already, or several times among these."""
        order = np.argsort(keys)
        ordered = keys[order]
        found = np.zeros(len(keys), bool)
        same = ordered[1:] == ordered[:-1]
        found[1:] |= same
        found[:-1] |= same
        for run in self._runs:
            at = np.searchsorted(run.keys, ordered)
            at[at == len(run.keys)] = 0
            found |= run.keys[at] == ordered
        again = np.empty(len(keys), bool)
        again[order] = found
        return again

    def _left(self, new: TripleIntervals, keys: Keys) -> tuple[Times, Times]:
        """Return what is left of the intervals of arrivals beside those that are known, and beside each other."""
        known = [run.arrived.where(np.flatnonzero(np.isin(run.keys, keys))) for run in self._runs]
        every = joined([*known, new])
        size = len(every)
        is_new = np.arange(size) >= size - len(new)
        s, p, o = every.ids
        order = np.lexsort((np.arange(size), is_new, every.t, o, p, s))
        s, p, o = s[order], p[order], o[order]
        lo, hi, is_new = every.lo[order], every.hi[order], is_new[order]
        same = (s[1:] == s[:-1]) & (p[1:] == p[:-1]) & (o[1:] == o[:-1])
        triple = np.concatenate(([0], np.cumsum(~same)))
        left_lo, left_hi = lo.copy(), hi.copy()
        left_lo[1:] = np.where(same, np.maximum(lo[1:], hi[:-1]), lo[1:])
        # The next one that was known before: new ones give way to those before them instead.
        following = np.where(is_new, size, np.arange(size))
        following = np.minimum.accumulate(following[::-1])[::-1]
        there = following < size
        there[there] = triple[following[there]] == triple[there]
        left_hi[there] = np.minimum(hi[there], lo[following[there]])
        places = order[is_new] - (size - len(new))
        found_lo, found_hi = np.empty(len(new), np.int64), np.empty(len(new), np.int64)
        found_lo[places], found_hi[places] = left_lo[is_new], left_hi[is_new]
        return found_lo, found_hi


def _both(one: _Run, other: _Run) -> _Run:
    return _Run.of(np.concatenate((one.keys, other.keys)), joined([one.arrived, other.arrived]))

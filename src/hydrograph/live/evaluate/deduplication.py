"""Deduplication of triples that arrive again (S36): a new arrival adds its interval without those of earlier arrivals.

The windows of one grid make this simple: both ends of an interval grow with the time of the arrival. So the rest of an
interval is a single one: it begins where the arrival before it in time ends, and ends where the one after it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hydrograph.live.step.report_timeline import Flags, Times
from hydrograph.live.step.state import merge_newest

_SMALL_RUN = 1024
"""Arrivals up to which a run may always grow."""
Keys: TypeAlias = npt.NDArray[np.uint64]


def triple_keys(s: Times, p: Times, o: Times) -> Keys:
    """Return a hash of each triple of ids: equal triples have equal keys, different ones nearly never."""
    s_key, p_key, o_key = (ids.view(np.uint64) for ids in (s, p, o))
    keys: Keys = (
        s_key * np.uint64(0x9E3779B97F4A7C15)
        ^ p_key * np.uint64(0xC2B2AE3D27D4EB4F)
        ^ o_key * np.uint64(0x165667B19E3779F9)
    )
    return keys


def may_repeat(rows: pa.Table) -> bool:
    """Tell whether a triple may occur twice: False is a proof, True may be a hash collision."""
    keys = triple_keys(*(rows.column(name).to_numpy() for name in ("s_id", "p_id", "o_id")))
    keys.sort()  # numpy's own `unique` takes ten times as long
    return bool((keys[1:] == keys[:-1]).any())


@dataclass(frozen=True, slots=True)
class TripleIntervals:
    """Arrivals of triples: ids, time, and the reports `[lo, hi)` for which a window shows each."""

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


def _concat(parts: list[TripleIntervals]) -> TripleIntervals:
    """Return all arrivals of several parts."""
    s, p, o = (np.concatenate([part.ids[place] for part in parts]) for place in range(3))
    t, lo, hi = (np.concatenate([getattr(part, name) for part in parts]) for name in ("t", "lo", "hi"))
    return TripleIntervals((s, p, o), t, lo, hi)


@dataclass(frozen=True, slots=True)
class _Run:
    """Run of arrivals, sorted by key."""

    keys: Keys
    arrived: TripleIntervals
    last: int
    """The report from which on none is shown."""

    @classmethod
    def of(cls, keys: Keys, arrived: TripleIntervals) -> _Run:
        order = np.argsort(keys)
        return cls(keys[order], arrived.where(order), int(arrived.hi.max()))


@dataclass(slots=True)
class Deduplicator:
    """Arrivals of one window that future reports can show."""

    _runs: list[_Run] = field(default_factory=list)

    def __len__(self) -> int:
        """Return how many arrivals are known."""
        return sum(len(run.keys) for run in self._runs)

    def cut(self, new: TripleIntervals) -> tuple[Times, Times, Flags]:
        """Return the reports `[lo, hi)` that new arrivals add, and which of them add any; keep those."""
        lo, hi = new.lo.copy(), new.hi.copy()
        keys = triple_keys(*new.ids)
        if (again := self.find_repeats(keys)).any():
            at = np.flatnonzero(again)
            lo[at], hi[at] = self._subtract(new.where(at), keys[at])
        adds: Flags = lo < hi
        if adds.any():
            kept = new if adds.all() else new.where(adds)
            self._runs.append(_Run.of(keys[adds], kept))
            merge_newest(self._runs, lambda run: len(run.keys), _merge, _SMALL_RUN)
        return lo, hi, adds

    def forget(self, number: int) -> None:
        """Forget arrivals that no report from a number on can show."""
        self._runs = [run for run in self._runs if run.last > number]

    def find_repeats(self, keys: Keys) -> Flags:
        """Tell which triples may be known already, or occur twice among these."""
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

    def _subtract(self, new: TripleIntervals, keys: Keys) -> tuple[Times, Times]:
        """Return the rest of new intervals after those of known arrivals, and of each other, are subtracted."""
        known = [run.arrived.where(np.flatnonzero(np.isin(run.keys, keys))) for run in self._runs]
        every = _concat([*known, new])
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
        # The next arrival that was known before: among new ones the later gives way instead.
        following = np.where(is_new, size, np.arange(size))
        following = np.minimum.accumulate(following[::-1])[::-1]
        there = following < size
        there[there] = triple[following[there]] == triple[there]
        left_hi[there] = np.minimum(hi[there], lo[following[there]])
        places = order[is_new] - (size - len(new))
        found_lo, found_hi = np.empty(len(new), np.int64), np.empty(len(new), np.int64)
        found_lo[places], found_hi[places] = left_lo[is_new], left_hi[is_new]
        return found_lo, found_hi


def _merge(one: _Run, other: _Run) -> _Run:
    return _Run.of(np.concatenate((one.keys, other.keys)), _concat([one.arrived, other.arrived]))

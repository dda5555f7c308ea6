"""Which reports of a grid have content: asked only where the others are left out (S13: non-empty)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile.inputs import StreamInput
from hydrograph.compile.scan import held
from hydrograph.runtime.replay import Ranks, event_bounds


class Reader(Protocol):
    """A placement that holds the tables of the windows."""

    def read(self, query: exp.Query, parameters: dict[str, int | str]) -> pa.Table:
        """Return the rows of one query."""
        ...


def held_ranks(windows: Iterable[StreamInput], placed: Reader, ranks: Ranks) -> frozenset[int]:
    """Return the ranks at which some window has content; no more rows leave the data than there are such windows."""
    found: set[int] = set()
    if not len(ranks):
        return frozenset()
    for window in windows:
        given: dict[str, int | str] = {"k_from": ranks.start, "k_to": ranks.end, **event_bounds(window, ranks)}
        table = placed.read(held(window), given)
        for lo, hi in zip(table.column("lo").to_pylist(), table.column("hi").to_pylist(), strict=True):
            found.update(range(lo, hi))
    return frozenset(found)

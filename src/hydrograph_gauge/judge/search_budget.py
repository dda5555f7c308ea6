"""Gracious judging has a budget: what it may cost in all, and how much was left out when that was used up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from hydrograph_gauge.judge.evidence import Evidence

BUDGET = 20_000_000
"""What the borders of all windows of a run may cost to find, in triples that the evaluator is asked over."""

Value = TypeVar("Value")
MayAsk = Callable[[], bool]
"""Tells whether a search may ask on."""


class Grace:
    """Makes evidence when it is first asked for, and lets borders be searched for while the budget lasts."""

    def __init__(self, make: Callable[[], Evidence] | None, *, gracious: bool, budget: int) -> None:
        """Take the maker of the evidence, and whether borders are searched for at all."""
        self._make = make
        self._made: Evidence | None = None
        self._gracious = gracious
        self._left = budget
        self._searched = self._strict = 0

    def evidence(self) -> Evidence | None:
        """Return the evidence, None where there is none."""
        if self._made is None and self._make is not None:
            self._made = self._make()
        return self._made

    def asked(self) -> Evidence | None:
        """Return the evidence if borders are to be searched for; without budget a window is counted as left out."""
        if not self._gracious or (evidence := self.evidence()) is None or not evidence.has_borders:
            return None
        if self._left <= 0:
            self._strict += 1
            return None
        return evidence

    def within(self, evidence: Evidence, search: Callable[[MayAsk], Value | None]) -> Value | None:
        """Return what a search finds; one that the budget ends finds nothing."""
        start = evidence.cost
        found = search(lambda: evidence.cost - start < self._left)
        self._left -= evidence.cost - start
        if self._left <= 0:
            self._strict += 1
            return None
        self._searched += 1
        return found

    def notes(self) -> Iterator[str]:
        """Say how many windows were left out."""
        if self._strict:
            total = self._searched + self._strict
            yield (
                f"gracious judging ran out of its budget: {self._strict} of {total} wrong windows "
                "are judged by the borders that were due"
            )

"""Queries of one batch side by side: while Spark plans one of them, cores are free for another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from hydrograph.live.driver.registered_query import Member
from hydrograph.live.step.input_batch import Arrival
from hydrograph.live.step.records import Decision, Record
from hydrograph.live.step.state import State
from hydrograph.live.step.units import Unit
from hydrograph.runtime.placement.local import Local

Worked = tuple[State, list[Unit], Record]
_MOST = 4
"""Queries at once: each plans on one core, and holds the rows of its windows meanwhile."""


class Abreast:
    """Threads that are kept from batch to batch, because Java keeps one of its own for each."""

    def __init__(self) -> None:
        """Start no thread before there are two queries for them."""
        self._pool: ThreadPoolExecutor | None = None

    def start(
        self, members: Mapping[str, Member], arrivals: Sequence[Arrival], decisions: Mapping[str, Decision]
    ) -> dict[str, Callable[[], Worked]]:
        """Begin with what Spark does; return for each query what gives, or fails to give, what its step makes."""
        far = {name for name, member in members.items() if not isinstance(member.stepper.placed, Local)}
        results: dict[str, Callable[[], Worked]] = {}
        for name, member in members.items():
            own = [arrival for arrival in arrivals if member.own([arrival.name])]
            if name in far and len(far) > 1:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(_MOST, "hydrograph-query")
                results[name] = self._pool.submit(member.worked, own, decisions[name]).result
            else:
                results[name] = lambda m=member, own=own, d=decisions[name]: m.worked(own, d)  # type: ignore[misc]
        return results

    def close(self) -> None:
        """Wait for what still runs; what has not begun does not begin."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

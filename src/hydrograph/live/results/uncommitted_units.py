"""Uncommitted units: results written after the last commit, which a replay must produce again byte for byte (S39).

Readers may have seen them already. They are kept in a file of the results directory until a commit covers them, so that
every start detects a difference, not only the one that removes them from the segments.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from hydrograph.errors import RunError
from hydrograph.live.results.segments import decode_unit, encode_unit
from hydrograph.live.step.records import ResultUnit, UnitKey
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.framing import TornError

DIRECTORY = "ahead"


class UncommittedUnits:
    """Uncommitted units that one driver has to produce again."""

    def __init__(self, files: Files, epoch: int) -> None:
        """Start without units."""
        self._files = files
        self._name = f"{epoch:08d}"
        self._texts: dict[UnitKey, str] = {}
        self._waiting: defaultdict[tuple[str, int, str], deque[UnitKey]] = defaultdict(deque)
        """Keys of each query in time order."""
        self._kept = False

    @property
    def since(self) -> str | None:
        """The epoch of the first driver that kept units, which may be committed by now; None if there are none."""
        return min(self._files.names(DIRECTORY), default=None)

    def keep(self, found: Iterable[tuple[UnitKey, str]], covered: Iterable[tuple[UnitKey, str]] = ()) -> None:
        """Keep uncommitted units, with those of earlier drivers; `covered` units have been committed since."""
        earlier = self._files.names(DIRECTORY)
        self._texts = {}
        for name in earlier:
            for key, text in intact_units(self._files.read(f"{DIRECTORY}/{name}") or b""):
                self._texts.setdefault(key, text)
        self._order()
        for key, _ in covered:
            self._drop_until(key)
        for key, text in found:
            self._texts.setdefault(key, text)
        self._order()
        self._kept = bool(self._texts)
        if self._kept:
            data = b"".join(encode_unit(key, text) for key, text in self._texts.items())
            self._files.write(f"{DIRECTORY}/{self._name}", data)
        for name in earlier:  # their remaining units are in the new file
            if name != self._name:
                self._files.remove(f"{DIRECTORY}/{name}")

    def compare(self, units: Iterable[ResultUnit]) -> None:
        """Raise RunError if a unit differs from the uncommitted one with the same key."""
        if not self._texts:
            return
        for unit in units:
            before = self._texts.get(unit.key)
            if before is not None and before != unit.text:
                raise RunError(
                    f"the report of {unit.key.query} at {unit.key.t} was {before[:200]} and is now {unit.text[:200]}: "
                    "a replayed batch must give the same report; the query stops at every start: restore the missing "
                    f"batch records, or remove {DIRECTORY}/ in the results to accept the new report"
                )
            self._drop_until(unit.key)

    def _order(self) -> None:
        self._waiting.clear()
        for key in sorted(self._texts):
            self._waiting[_stream(key)].append(key)

    def _drop_until(self, key: UnitKey) -> None:
        """Drop a unit and those before it: reports of a query are written in time order."""
        waiting = self._waiting[_stream(key)]
        while waiting and waiting[0] <= key:
            del self._texts[waiting.popleft()]

    def settle(self) -> None:
        """Remove the file once all its units were written again and committed."""
        if self._kept and not self._texts:
            self._files.remove(f"{DIRECTORY}/{self._name}")
            self._kept = False


def _stream(key: UnitKey) -> tuple[str, int, str]:
    return key.query, key.version, key.window_class


def intact_units(data: bytes) -> Iterator[tuple[UnitKey, str]]:
    """Return the units whose lines are intact."""
    for line in data.splitlines(keepends=True):
        try:
            yield decode_unit(line)
        except (TornError, ValueError):
            continue

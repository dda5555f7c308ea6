"""Units that stand in the results beyond the last record: they have to come out the same again (S39).

Their batches are worked off again, and they were seen by whoever reads the results. So they are kept in a file of the
results until a record covers them: a difference is found at every start, not only at the one that takes them out of the
segments.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from hydrograph.errors import RunError
from hydrograph.live.step.records import TornError
from hydrograph.live.step.units import Key, Unit, line_of, read_line
from hydrograph.live.storage.files import Files

DIRECTORY = "ahead"


class Ahead:
    """The units beyond the record, for one driver."""

    def __init__(self, files: Files, epoch: int) -> None:
        """Know of none yet."""
        self._files = files
        self._name = f"{epoch:08d}"
        self._texts: dict[Key, str] = {}
        self._waiting: defaultdict[tuple[str, int, str], deque[Key]] = defaultdict(deque)
        """The keys of each query in the order of their times."""
        self._kept = False

    @property
    def since(self) -> str | None:
        """The number of the first driver that has kept units, which may be covered since; None if there are none."""
        return min(self._files.names(DIRECTORY), default=None)

    def keep(self, found: Iterable[tuple[Key, str]], covered: Iterable[tuple[Key, str]] = ()) -> None:
        """Keep units that stand beyond the record, with those of drivers before; `covered` were written again since."""
        earlier = self._files.names(DIRECTORY)
        self._texts = {}
        for name in earlier:
            for key, text in whole_units(self._files.read(f"{DIRECTORY}/{name}") or b""):
                self._texts.setdefault(key, text)
        self._order()
        for key, _ in covered:
            self._pass(key)
        for key, text in found:
            self._texts.setdefault(key, text)
        self._order()
        self._kept = bool(self._texts)
        if self._kept:
            data = b"".join(line_of(key, text) for key, text in self._texts.items())
            self._files.write(f"{DIRECTORY}/{self._name}", data)
        for name in earlier:  # what is not covered of them is in the new one
            if name != self._name:
                self._files.remove(f"{DIRECTORY}/{name}")

    def compare(self, units: Iterable[Unit]) -> None:
        """Raise RunError if one of some units stood there and said something else."""
        if not self._texts:
            return
        for unit in units:
            before = self._texts.get(unit.key)
            if before is not None and before != unit.text:
                raise RunError(
                    f"the report of {unit.key.query} at {unit.key.t} was {before[:200]} and is now {unit.text[:200]}: "
                    "a batch that is worked off again has to give the same; the query is stopped, and will be each "
                    f"time: bring back the records that are missing, or remove {DIRECTORY}/ in the results to let the "
                    "new report stand"
                )
            self._pass(unit.key)

    def _order(self) -> None:
        self._waiting.clear()
        for key in sorted(self._texts):
            self._waiting[_stream(key)].append(key)

    def _pass(self, key: Key) -> None:
        """Forget a unit and those before it: reports of a query come in the order of their times."""
        waiting = self._waiting[_stream(key)]
        while waiting and waiting[0] <= key:
            del self._texts[waiting.popleft()]

    def settle(self) -> None:
        """Remove what is kept when all of it was written again; called when a record covers what was."""
        if self._kept and not self._texts:
            self._files.remove(f"{DIRECTORY}/{self._name}")
            self._kept = False


def _stream(key: Key) -> tuple[str, int, str]:
    return key.query, key.version, key.window_class


def whole_units(data: bytes) -> Iterator[tuple[Key, str]]:
    """Return the units whose lines are whole."""
    for line in data.splitlines(keepends=True):
        try:
            yield read_line(line)
        except (TornError, ValueError):
            continue

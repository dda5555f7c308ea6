"""Who may write: the driver with the newest lease on a checkpoint (F10: one that was believed dead may wake up)."""

from __future__ import annotations

from hydrograph.errors import RunError
from hydrograph.live.files import Files

_DIRECTORY = "leases"
_KEPT = 4


class FencedError(RunError):
    """Another driver has taken over; this one must not write any more."""


class Lease:
    """The right to write to a checkpoint, until somebody takes it."""

    def __init__(self, files: Files) -> None:
        """Take the lease from whoever has it."""
        self._files = files
        self.epoch = self._newest() + 1
        while not files.claim(f"{_DIRECTORY}/{self.epoch:08d}", b"%d\n" % self.epoch):
            self.epoch += 1
        for name in files.names(_DIRECTORY)[:-_KEPT]:
            files.remove(f"{_DIRECTORY}/{name}")

    def _newest(self) -> int:
        return max((int(name) for name in self._files.names(_DIRECTORY) if name.isdigit()), default=0)

    def check(self) -> None:
        """Raise FencedError if another driver has taken over."""
        newest = self._newest()
        if newest != self.epoch:
            raise FencedError(
                f"another driver has taken over this checkpoint (lease {newest}, this one has {self.epoch}); stopped"
            )

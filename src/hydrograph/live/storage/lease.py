"""Who may write: the driver with the newest lease on a checkpoint (F10: one that was believed dead may wake up)."""

from __future__ import annotations

import secrets

from hydrograph.errors import RunError
from hydrograph.live.storage.files import Files

_DIRECTORY = "leases"
_KEPT = 4


class FencedError(RunError):
    """Another driver has taken over; this one must not write any more."""


class Lease:
    """The right to write to a checkpoint, until somebody takes it."""

    def __init__(self, files: Files) -> None:
        """Take the lease from whoever has it."""
        self._files = files
        self._lost: str | None = None
        # Where two drivers can claim the same number, since nothing is done at once there, only one of them is its own.
        self._said = f"{secrets.token_hex(16)}\n".encode()
        self.epoch = self._newest() + 1
        while not files.claim(self._name, self._said):
            self.epoch += 1
        for name in files.names(_DIRECTORY)[:-_KEPT]:
            files.remove(f"{_DIRECTORY}/{name}")

    @property
    def _name(self) -> str:
        return f"{_DIRECTORY}/{self.epoch:08d}"

    def _newest(self) -> int:
        return max((int(name) for name in self._files.names(_DIRECTORY) if name.isdigit()), default=0)

    def check(self) -> None:
        """Raise FencedError if another driver has taken over."""
        self.check_known()
        newest = self._newest()
        if newest != self.epoch:
            self._lost = f"lease {newest}, this one has {self.epoch}"
        elif self._files.read(self._name) != self._said:
            self._lost = f"lease {newest}, at the same time as this one"
        self.check_known()

    def check_known(self) -> None:
        """Raise FencedError if another driver is known to have taken over; a lease never comes back."""
        if self._lost is not None:
            raise FencedError(f"another driver has taken over this checkpoint ({self._lost}); stopped")

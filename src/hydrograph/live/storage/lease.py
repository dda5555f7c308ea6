"""Lease on a checkpoint: only the driver with the newest lease may write.

A driver that was believed dead may wake up while its successor runs. Each driver therefore takes a numbered lease (its
epoch) and checks it before and after each write; a driver whose lease is no longer the newest is fenced off.
"""

from __future__ import annotations

import secrets

from hydrograph.errors import RunError
from hydrograph.live.storage.files import Files

_DIRECTORY = "leases"
_KEPT = 4


class FencedError(RunError):
    """Another driver has taken over; this one must not write any more."""


class Lease:
    """Exclusive right to write to a checkpoint, valid until another driver takes it."""

    def __init__(self, files: Files) -> None:
        """Take the lease, from its current holder if there is one."""
        self._files = files
        self._lost: str | None = None
        # Object stores cannot create a file exclusively, so two drivers may write the same number: the token decides.
        self._token = f"{secrets.token_hex(16)}\n".encode()
        self.epoch = self._newest() + 1
        while not files.claim(self._name, self._token):
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
        elif self._files.read(self._name) != self._token:
            self._lost = f"lease {newest}, at the same time as this one"
        self.check_known()

    def check_known(self) -> None:
        """Raise FencedError if an earlier check found another driver; reads no file."""
        if self._lost is not None:
            raise FencedError(f"another driver has taken over this checkpoint ({self._lost}); stopped")

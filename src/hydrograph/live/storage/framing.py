"""Checksummed lines: each line of a file is framed by a checksum, so that a torn write is detected."""

from __future__ import annotations

import zlib

from hydrograph.errors import RunError


class TornError(RunError):
    """A file does not hold what was written to it."""


def frame(body: str) -> bytes:
    """Return a line with its checksum in front."""
    data = body.encode()
    return b"%08x " % zlib.crc32(data) + data + b"\n"


def unframe(line: bytes) -> str:
    """Return a line without its checksum; raise TornError if it is not what was written."""
    if len(line) < 10 or not line.endswith(b"\n") or line[8:9] != b" ":
        raise TornError("expected a line with a checksum, got a part of one")
    try:
        expected = int(line[:8], 16)
    except ValueError:
        raise TornError("expected a line with a checksum, got other bytes") from None
    if zlib.crc32(line[9:-1]) != expected:
        raise TornError("the checksum of a line is wrong")
    return line[9:-1].decode()

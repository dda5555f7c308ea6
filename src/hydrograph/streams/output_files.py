"""Output files: standard output, or a file that appears when it is complete, compressed by its name."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import zstandard

from hydrograph.atomic_files import atomic_path
from hydrograph.errors import RunError
from hydrograph.streams.input_files import STDIN


@contextmanager
def atomic_output(target: str) -> Iterator[IO[bytes]]:
    """Yield standard output for `-`, or a file that appears under its name when it is complete.

    Files named `.gz` and `.zst` are compressed.
    """
    if target == STDIN:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_path(Path(target)) as temporary:
        try:
            opened = temporary.open("wb")
        except OSError as error:
            raise RunError(f"{target} cannot be written: {error.strerror or error}") from None
        with opened as raw:
            if target.endswith(".gz"):
                with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=6) as zipped:
                    yield zipped  # type: ignore[misc]
            elif target.endswith(".zst"):
                with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as zipped:
                    yield zipped
            else:
                yield raw

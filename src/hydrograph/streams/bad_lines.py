"""Policy for broken lines, and the counts of a reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hydrograph.errors import UsageError
from hydrograph.streams.files import STDIN, atomic_output


@dataclass(frozen=True, slots=True)
class BadLines:
    """Policy for lines that break the grammar: stop at the first, skip them, or write them to a file."""

    action: str = "fail"
    file: Path | None = None

    @classmethod
    def read(cls, text: str) -> BadLines:
        """Parse a policy: `fail`, `skip` or the name of a file.

        >>> BadLines.read("skip"), BadLines.read("bad.tnt").action
        (BadLines(action='skip', file=None), 'file')
        """
        if not text:
            raise UsageError("expected fail, skip or a file name for bad lines, got nothing")
        if text == STDIN:
            raise UsageError("expected fail, skip or a file name for bad lines, got -: answers go to standard output")
        return cls(text) if text in ("fail", "skip") else cls("file", Path(text))

    @contextmanager
    def quarantine(self) -> Iterator[IO[bytes] | None]:
        """Yield the file for broken lines, which appears when it is complete; None if they are not kept."""
        if self.file is None:
            yield None
            return
        with atomic_output(str(self.file)) as file:
            yield file


@dataclass(slots=True)
class ReadCounts:
    """Lines read and lines broken so far, and what the data holds."""

    lines: int = 0
    bad: int = 0
    blanks: bool = False
    grouped: bool = False

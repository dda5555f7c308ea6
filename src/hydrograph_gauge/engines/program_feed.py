"""Feed of a program by lines: one thread writes its input, another reads its output, so that it delays no other."""

from __future__ import annotations

import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from hydrograph_gauge.engines.adapter import AdapterError

_PATIENCE = 2.0  # seconds for a program to exit after it has closed its input


class ProgramFeed:
    """Running program with lines that wait for it. Lines wait in memory; what is fed is noted when it is written.

    Standard error goes where that of this process goes.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start the program, or raise AdapterError."""
        try:
            self.process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, encoding="utf-8"
            )
        except OSError as error:
            raise AdapterError(f"cannot start {command[0]}: {error.strerror}") from None
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        """What it has written."""
        self.written: queue.SimpleQueue[tuple[int, float]] = queue.SimpleQueue()
        """Numbers of elements that it has been given, with the time in Unix milliseconds."""
        self._waiting: queue.SimpleQueue[tuple[str, int | None] | None] = queue.SimpleQueue()
        self._broken = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def put(self, text: str, number: int | None = None) -> None:
        """Let lines wait for the program; `number` is that of the element that they are."""
        self._waiting.put((text, number))

    def close(self) -> None:
        """Close its input when all that waits has been written."""
        self._waiting.put(None)

    @property
    def fed(self) -> bool:
        """Whether it has been given all, and its input is closed."""
        return not self._writer.is_alive()

    @property
    def ended(self) -> int | None:
        """Its exit code, if it has ended and all its lines have been read."""
        if self._broken:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_PATIENCE)  # it closes its input before it has ended
        code = self.process.poll()
        if code is not None:
            self._reader.join(_PATIENCE)
        return code

    def kill(self) -> None:
        """End the program."""
        self.process.kill()
        self.process.wait()
        self.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\r\n"))

    def _write(self) -> None:
        target = self.process.stdin
        assert target is not None
        try:
            while (found := self._waiting.get()) is not None:
                text, number = found
                target.write(text)
                target.flush()
                if number is not None:
                    self.written.put((number, time.time() * 1000))
            target.close()
        except (BrokenPipeError, ValueError):
            self._broken = True

"""Process of an engine, spoken to by lines, with limits on time, memory and output."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from hydrograph.errors import DataError, UsageError
from hydrograph_gauge.engines.outcome import OutputError, Verdict
from hydrograph_gauge.engines.protocol import Command, Reply, Stop, line_of, read_reply
from hydrograph_gauge.engines.resources import ResourceMonitor, Sample

_WORDS = 2_000  # of what a program wrote to standard error, from the end
_LINE = 64 << 20
_PATIENCE = 5.0  # seconds to leave after being told to stop
_KILLED_FOR_MEMORY = {-signal.SIGKILL, 128 + signal.SIGKILL}
_OUT_OF_MEMORY = ("OutOfMemoryError", "MemoryError", "out of memory", "bad_alloc")


@dataclass(frozen=True, slots=True)
class Limits:
    """Resources that an engine may use; it is killed when it takes more."""

    seconds: float = 600
    megabytes: float = 4_096
    output: int = 1 << 30
    """Bytes that it may write."""


class EngineStoppedError(Exception):
    """The engine has exited or was ended, for the reason in `verdict` and `words`."""

    def __init__(self, verdict: Verdict, words: str, output_error: OutputError | None = None) -> None:
        """Keep the reason."""
        super().__init__(f"{verdict}: {words}" if words else str(verdict))
        self.verdict = verdict
        self.words = words
        self.output_error = output_error

    @classmethod
    def for_output(cls, error: OutputError, words: str) -> EngineStoppedError:
        """Return the error for an engine whose output is wrong in itself."""
        return cls(Verdict.RUNTIME_ERROR, f"{error}: {words}", error)


@dataclass(frozen=True, slots=True)
class TimedReply:
    """Reply with its arrival on the clock of the gauge, in seconds."""

    at: float
    reply: Reply


@dataclass(slots=True)
class EngineProcess:
    """Running engine: `tell` sends a command, `hear` waits for the next reply."""

    process: subprocess.Popen[bytes]
    limits: Limits
    watch: ResourceMonitor
    started: float
    _heard: queue.SimpleQueue[TimedReply | EngineStoppedError | None]
    _errors: IO[bytes]
    _ending: _Ending
    _ended: EngineStoppedError | None = field(default=None)

    def read_errors(self, start: int = 0) -> str:
        """Return what was written to standard error from a position on."""
        # The engine writes at the position that it shares with this file, so the read must not move it.
        size = os.fstat(self._errors.fileno()).st_size
        return os.pread(self._errors.fileno(), size - start, start).decode("utf-8", "replace")

    @property
    def error_position(self) -> int:
        """The end of standard error as it is now, in bytes."""
        return os.fstat(self._errors.fileno()).st_size

    @property
    def samples(self) -> list[Sample]:
        """Resources used so far."""
        return self.watch.samples

    def tell(self, command: Command) -> None:
        """Send a command; blocks while the engine does not read."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line_of(command))
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._gone() from None

    def hear(self, seconds: float | None = None) -> TimedReply:
        """Return its next reply; raise EngineStoppedError if none comes in so many seconds, or none can come."""
        try:
            found = self._heard.get(timeout=seconds)
        except queue.Empty:
            raise EngineStoppedError(Verdict.TIMEOUT, f"no reply in {seconds:g} s") from None
        if found is None:
            raise self._gone()
        if isinstance(found, EngineStoppedError):
            raise found
        return found

    def _gone(self) -> EngineStoppedError:
        """Return why the engine has exited."""
        if self._ended is not None:
            return self._ended
        try:
            code = self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return EngineStoppedError(Verdict.CRASH, "it closed its output and continued to run")
        words = self.read_errors()[-_WORDS:].strip()
        if self._ending.why is Verdict.OUT_OF_MEMORY:
            peak = max((sample.memory for sample in self.samples), default=0.0)
            verdict = Verdict.OUT_OF_MEMORY
            words = f"{peak:.0f} MB used, {self.limits.megabytes:.0f} MB allowed"
        elif self._ending.why is Verdict.TIMEOUT:
            verdict, words = Verdict.TIMEOUT, f"not done after {self.limits.seconds:g} s"
        elif code in _KILLED_FOR_MEMORY:
            verdict = Verdict.OUT_OF_MEMORY
            words = f"killed from outside, as the system does when memory runs out. {words}".strip()
        elif any(sign in words for sign in _OUT_OF_MEMORY):
            verdict = Verdict.OUT_OF_MEMORY
        else:
            verdict = Verdict.CRASH
            words = f"exit code {code}: {words}" if words else f"exit code {code}"
        self._ended = EngineStoppedError(verdict, words)
        return self._ended


@dataclass(slots=True)
class _Ending:
    """Killer of an engine that exceeds a limit; remembers which limit."""

    process: subprocess.Popen[bytes]
    why: Verdict | None = None

    def out_of_memory(self) -> None:
        self._end(Verdict.OUT_OF_MEMORY)

    def out_of_time(self) -> None:
        self._end(Verdict.TIMEOUT)

    def _end(self, why: Verdict) -> None:
        if self.why is None and self.process.poll() is None:
            self.why = why
            _kill(self.process)


@contextmanager
def start_engine(command: Sequence[str], limits: Limits, errors_file: Path | None = None) -> Iterator[EngineProcess]:
    """Start a program in a process of its own, and end it and all it has started on leaving.

    Its standard error is kept in a file, if one is given.
    """
    with tempfile.TemporaryFile() if errors_file is None else errors_file.open("w+b") as errors:
        try:
            process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        except OSError as error:
            raise UsageError(f"cannot start {command[0]}: {error.strerror}") from error
        heard: queue.SimpleQueue[TimedReply | EngineStoppedError | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_listen, args=(process, limits, heard), daemon=True)
        ending = _Ending(process)
        timer = threading.Timer(limits.seconds, ending.out_of_time)
        timer.daemon = True
        watch = ResourceMonitor(process.pid, limits.megabytes, ending.out_of_memory)
        reader.start()
        timer.start()
        with watch:
            try:
                yield EngineProcess(process, limits, watch, time.monotonic(), heard, errors, ending)
            finally:
                timer.cancel()
                _stop(process)
                reader.join()
                assert process.stdout is not None
                process.stdout.close()


def _listen(
    process: subprocess.Popen[bytes], limits: Limits, heard: queue.SimpleQueue[TimedReply | EngineStoppedError | None]
) -> None:
    """Stamp each line with its arrival, until the output ends, is too long, or is not a reply."""
    assert process.stdout is not None
    left = limits.output
    while line := process.stdout.readline(_LINE):
        at = time.monotonic()
        left -= len(line)
        if left < 0 or len(line) >= _LINE:
            words = f"more than {limits.output} bytes in all" if left < 0 else f"more than {_LINE} bytes a line"
            heard.put(EngineStoppedError.for_output(OutputError.FLOOD, words))
            break
        try:
            if line.strip():
                heard.put(TimedReply(at, read_reply(line)))
        except DataError as error:
            heard.put(EngineStoppedError.for_output(OutputError.GARBAGE, str(error)))
            break
    else:
        heard.put(None)
        return
    _kill(process)  # it may be blocked on its full output


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(line_of(Stop()))
        process.stdin.close()
        process.wait(_PATIENCE)
    except (BrokenPipeError, ValueError, subprocess.TimeoutExpired):
        pass  # it is gone already, or does not listen: it is ended below
    _kill(process)
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it has started."""
    try:
        top = psutil.Process(process.pid)
        tree = [*top.children(recursive=True), top]
    except psutil.NoSuchProcess:
        return
    for each in tree:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue

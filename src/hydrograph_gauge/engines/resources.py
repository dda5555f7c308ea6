"""Resource usage of a process tree, sampled while it runs: memory, processor time, threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import psutil

PERIOD = 0.5
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """Resource usage at one moment."""

    at: float
    """Seconds since the watch began."""
    memory: float
    """Resident megabytes, summed over the tree."""
    cpu: float
    """Seconds of processor time used so far, those of processes that have ended included where they were seen."""
    threads: int


@dataclass(slots=True)
class ResourceMonitor:
    """Sampler of a process tree, from entry to exit; calls `too_much` once if memory passes the limit."""

    pid: int
    limit: float | None = None
    too_much: Callable[[], None] = lambda: None
    samples: list[Sample] = field(default_factory=list)
    _used: dict[tuple[int, float], float] = field(default_factory=dict)
    _done: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name=f"watch-{self.pid}", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; the last sample has been taken."""
        self._done.set()
        assert self._thread is not None
        self._thread.join()

    @property
    def cpu(self) -> float:
        """Seconds of processor time that all processes had used when they were last seen."""
        return sum(self._used.values())

    def _run(self) -> None:
        start = time.monotonic()
        told = False
        while True:
            sample = self._look(time.monotonic() - start)
            if sample is not None:
                self.samples.append(sample)
                if self.limit is not None and sample.memory > self.limit and not told:
                    told = True
                    self.too_much()
            if self._done.wait(PERIOD):
                return

    def _look(self, at: float) -> Sample | None:
        memory, threads = 0, 0
        found = False
        for process in _tree(self.pid):
            try:
                with process.oneshot():
                    memory += process.memory_info().rss
                    threads += process.num_threads()
                    used = process.cpu_times()
                    self._used[process.pid, process.create_time()] = used.user + used.system
                found = True
            except psutil.NoSuchProcess:
                continue  # it has ended between being listed and being looked at
        return Sample(at, memory / _MEGABYTE, self.cpu, threads) if found else None


def _tree(pid: int) -> list[psutil.Process]:
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of this process and all below it that some work takes."""

    def spent() -> float:
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        times = [process.cpu_times() for process in processes]
        return float(sum(each.user + each.system for each in times))

    before = spent()
    work()
    return spent() - before


def memory_growth(samples: Sequence[Sample]) -> float:
    """Return by how many megabytes a second memory grows, by least squares; 0 for fewer than two samples."""
    if len(samples) < 2:
        return 0.0
    mean_at = sum(sample.at for sample in samples) / len(samples)
    mean = sum(sample.memory for sample in samples) / len(samples)
    spread = sum((sample.at - mean_at) ** 2 for sample in samples)
    return sum((sample.at - mean_at) * (sample.memory - mean) for sample in samples) / spread if spread else 0.0

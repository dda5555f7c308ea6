"""Cache of the input log: the newest frames, bounded by bytes and by number."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hydrograph.live.storage import input_log as logs
from hydrograph.live.storage.input_log import InputLog
from hydrograph.live.storage.lease import Lease
from hydrograph.streams.schema import encode_events
from tests.support.live_faults import MemoryFiles


def rows(first: int, number: int) -> pa.Table:
    return pa.Table.from_batches(
        [encode_events([(t, t, "<urn:s>", "<urn:p>", "<urn:o>") for t in range(first, first + number)])]
    )


def times(log: InputLog, start: int = 0) -> list[int]:
    return [t for chunk in log.read(start, log.end) for t in chunk.events["t"].to_pylist()]


@pytest.mark.parametrize("each", [1, 300])
def test_the_cache_is_bounded_by_bytes_and_frames(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "CACHED_BYTES", 50_000)
    monkeypatch.setattr(logs, "CACHED_CHUNKS", 7)
    files = MemoryFiles()
    log = InputLog(files, "log", Lease(files))
    for first in range(1, 30 * each + 1, each):
        log.append(rows(first, each), first + each - 1)
        assert len(log.cached) <= 7
        assert sum(chunk.end - chunk.start for chunk in log.cached) <= 50_000
    assert log.cached
    assert times(log) == [*range(1, 30 * each + 1)]


def test_a_frame_larger_than_the_cache_is_read_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "CACHED_BYTES", 5_000)
    files = MemoryFiles()
    log = InputLog(files, "log", Lease(files))
    for first, number in ((1, 1), (2, 500), (502, 1)):
        log.append(rows(first, number), first + number - 1)
    assert [chunk.events.num_rows for chunk in log.cached] == [1]
    assert times(log) == [*range(1, 503)]


def test_forgotten_frames_leave_the_cache() -> None:
    files = MemoryFiles()
    log = InputLog(files, "log", Lease(files))
    ends = [log.append(rows(number, 1), number) for number in range(1, 11)]
    log.forget(ends[6])
    assert [chunk.end for chunk in log.cached] == ends[7:]
    assert times(log, ends[6]) == [8, 9, 10]

"""The results of another query as a source: followed from its offset, also when another driver takes over."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hydrograph.errors import DataError
from hydrograph.live.results import exactly_once_sink as sink
from hydrograph.live.results.exactly_once_sink import SegmentSink
from hydrograph.live.results.segments import BOUNDARY
from hydrograph.live.sources import results
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.results import ResultsPartition
from hydrograph.live.step.records import make_units
from hydrograph.live.storage.files import frame
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.reports import Report
from tests.support.live_faults import MemoryFiles


class CountingFiles(MemoryFiles):
    """Files that know how many bytes of them were read."""

    bytes_read = 0

    def read(self, name: str, start: int = 0) -> bytes | None:
        data = super().read(name, start)
        self.bytes_read += len(data or b"")
        return data


@dataclass
class Writer:
    """Writes units as a driver of the other query does."""

    files: MemoryFiles
    epoch: int

    def add(self, *times: int, query: str = "q") -> None:
        name = f"segments/{self.epoch:08d}-000000.seg"
        for t in times:
            row = {name: {"type": "uri", "value": f"urn:{t}"} for name in ("subject", "predicate", "object")}
            line = frame(f'["{query}", 1, 0, {t}, 0]\t{{"t": {t}, "rows": [{str(row).replace(chr(39), chr(34))}]}}')
            self.files.append(name, len(self.files.data.get(name, b"")), line)


def source(files: MemoryFiles, url: str = "results:x") -> ResultsPartition:
    found = open_partition(Iri("urn:stream"), url, MemoryFiles())
    assert isinstance(found, ResultsPartition)
    found.results = files
    return found


def times(found: ResultsPartition, start: int, end: int) -> list[int]:
    return [t for chunk in found.read(start, end) for t in chunk.events["t"].to_pylist()]


def test_what_was_read_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_KEPT", 5)
    files = CountingFiles()
    SegmentSink(files, 1).resume({})
    writer, followed = Writer(files, 1), source(files)
    for t in range(1, 301):
        writer.add(t)
        assert followed.end() == t
        assert times(followed, t - 1, t) == [t]
    written = sum(map(len, files.data.values()))
    taken_over = 300 * len(files.data["segments/00000001.from"])
    assert files.bytes_read - taken_over < 3 * written
    assert len(followed._recent) == 5
    assert times(followed, 0, 300) == [*range(1, 301)]
    assert [chunk.start for chunk in followed.read(290, 299)] == [*range(290, 299)]


def test_what_is_kept_in_memory_is_bounded_by_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles()
    SegmentSink(files, 1).resume({})
    writer, followed = Writer(files, 1), source(files)
    writer.add(1)
    followed.end()
    length = len(followed._recent[0][1])
    monkeypatch.setattr(results, "_KEPT_CHARACTERS", 4 * length + 10)
    for t in range(2, 10):
        writer.add(t)
        followed.end()
        assert sum(len(text) for _, text in followed._recent) <= 4 * length + 10
    writer.add(*range(10, 100))
    assert followed.end() == 99
    assert 0 < len(followed._recent) <= 4
    assert times(followed, 0, 99) == [*range(1, 100)]
    followed.forget(98)
    assert [number for number, _ in followed._recent] == [98]
    followed.forget(99)
    assert times(followed, 95, 99) == [96, 97, 98, 99]


def test_units_keep_their_numbers_when_another_driver_takes_over() -> None:
    files = MemoryFiles()
    SegmentSink(files, 1).resume({})
    writer, followed = Writer(files, 1), source(files)
    writer.add(1, 2, 3)
    committed = len(files.data["segments/00000001-000000.seg"])
    writer.add(4, 5)
    assert followed.end() == 5
    SegmentSink(files, 2).resume({"00000001-000000.seg": committed})
    writer.add(6)  # it does not know yet
    again = Writer(files, 2)
    again.add(4, 5, 7)
    assert followed.end() == 6
    assert times(followed, 0, 6) == [1, 2, 3, 4, 5, 7]
    assert times(source(files), 2, 6) == [3, 4, 5, 7]
    fresh = source(files)
    fresh.resume(Lease(MemoryFiles()), 6)
    with pytest.raises(DataError, match="has 6 units, expected 7"):
        fresh.resume(Lease(MemoryFiles()), 7)


def test_results_are_not_read_again_when_their_driver_names_segments_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "SEGMENT_BYTES", 1)
    monkeypatch.setattr(sink, "_NAMED", 3)
    files = CountingFiles()
    out = SegmentSink(files, 1)
    out.resume({})
    followed = source(files)
    for t in range(1, 60):
        out.write(make_units("q", 1, [Report(t, t, t, ("a",), ())]))
        assert followed.end() == t
    assert len(files.names("segments")) > 60
    boundary = max(name for name in files.names("segments") if name.endswith(BOUNDARY))
    assert files.bytes_read < 3 * sum(map(len, files.data.values())) + 60 * len(files.data[f"segments/{boundary}"])
    assert source(files).end() == 59


def test_units_of_other_queries_are_left_out() -> None:
    files = CountingFiles()
    SegmentSink(files, 1).resume({})
    writer, followed = Writer(files, 1), source(files, "results:x?query=r")
    writer.add(1, query="r")
    writer.add(2, 3)
    writer.add(4, query="r")
    writer.add(5)
    assert followed.end() == 2
    before = files.bytes_read
    assert followed.end() == 2
    assert files.bytes_read - before == len(files.data["segments/00000001.from"])
    assert times(followed, 0, 2) == [1, 4]

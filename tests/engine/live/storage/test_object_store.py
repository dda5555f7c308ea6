"""Remote checkpoints and results: all file operations, two drivers at once, and a restart on another machine.

Local file systems simulate remote ones; one of them cannot append, like S3.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from hydrograph import api
from hydrograph.errors import DataError, RunError
from hydrograph.live.results.exactly_once_sink import SegmentSink, read_units
from hydrograph.live.step.records import make_units
from hydrograph.live.storage import files
from hydrograph.live.storage import input_log as logs
from hydrograph.live.storage import object_store as parts
from hydrograph.live.storage.files import Files, LocalFiles, files_at
from hydrograph.live.storage.input_log import InputLog, read_log
from hydrograph.live.storage.lease import FencedError, Lease
from hydrograph.live.storage.object_store import RemoteFiles
from hydrograph.runtime.reports import Report
from hydrograph.streams.schema import encode_events
from tests.support.kill_harness import QUERY, STREAM, Site


class NotAppending:
    """A file system that writes files whole and in no other way."""

    def __init__(self, system: pafs.FileSystem) -> None:
        """Do everything else as another does."""
        self._system = system

    def __getattr__(self, name: str) -> Any:
        """Return what the other has."""
        return getattr(self._system, name)

    def open_append_stream(self, path: str) -> Any:
        raise NotImplementedError(path)


def appending(root: Path) -> RemoteFiles:
    return RemoteFiles(pafs.SubTreeFileSystem(str(root), pafs.LocalFileSystem()), "")


def not_appending(root: Path) -> RemoteFiles:
    return RemoteFiles(cast("pafs.FileSystem", NotAppending(pafs.LocalFileSystem())), str(root))


@pytest.mark.parametrize("made", [LocalFiles, appending, not_appending])
def test_remote_files_implement_all_operations(made: Callable[[Path], Files], tmp_path: Path) -> None:
    kept = made(tmp_path)
    assert (kept.read("a/b"), kept.size("a/b"), kept.names("a")) == (None, None, [])
    kept.write("a/b", b"one")
    kept.write("a/b", b"other")
    assert (kept.read("a/b"), kept.size("a/b"), kept.names("a")) == (b"other", 5, ["b"])
    assert kept.claim("a/c", b"mine")
    assert not kept.claim("a/c", b"yours")
    assert kept.read("a/c") == b"mine"
    for at, data in ((0, b"12"), (2, b"345"), (4, b"6"), (0, b"789"), (3, b"")):
        kept.append("log/d", at, data)
    assert kept.read("log/d") == b"789"
    with pytest.raises(RunError, match="expected at least 9"):
        kept.append("log/d", 9, b"0")
    kept.move("a/b", "quarantine/b")
    assert (kept.names("a"), kept.read("quarantine/b")) == (["c"], b"other")
    kept.remove("a/c")
    kept.remove("a/c")
    assert kept.names("a") == []
    if isinstance(kept, LocalFiles):
        kept.close()


def test_only_one_of_two_simultaneous_drivers_gets_the_lease(tmp_path: Path) -> None:
    class Slow(RemoteFiles):
        """Files of a driver that looks, and writes only after another has."""

        def write(self, name: str, data: bytes) -> None:
            if not others:
                others.append(Lease(appending(tmp_path)))
            super().write(name, data)

    others: list[Lease] = []
    late = Lease(Slow(pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem()), ""))
    assert late.epoch == others[0].epoch == 1
    late.check()
    with pytest.raises(FencedError, match="at the same time"):
        others[0].check()
    assert Lease(appending(tmp_path)).epoch == 2
    with pytest.raises(FencedError, match="lease 2"):
        late.check()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_driver_on_another_machine_resumes_from_the_url(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if elsewhere:  # what is at file:// is no file of this machine
        here = pafs.LocalFileSystem()
        system = SimpleNamespace(from_uri=lambda url: (NotAppending(here), url.removeprefix("file://")))
        kinds = {name: getattr(pafs, name) for name in ("LocalFileSystem", "FileSelector", "FileType")}
        monkeypatch.setattr(files, "pafs", SimpleNamespace(FileSystem=system, **kinds))
    shared = tmp_path / "shared"
    site = Site(tmp_path, seed=8, files=6)
    site.lines.sort(key=lambda line: int(line.partition("\t")[0]))
    settings: dict[str, Any] = {
        "checkpoint": f"file://{shared}/checkpoint",
        "results": f"file://{shared}/results",
        "placement": "local",
    }
    cut = 35
    for name, lines in (("first", site.lines[:cut]), ("second", site.lines[cut:])):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        live = api.query(QUERY).start({STREAM: "push:"}, **settings)
        assert isinstance(live.checkpoint, RemoteFiles if elsewhere else LocalFiles)
        live.streams[STREAM].send_lines(lines)
        if name == "second":
            live.streams[STREAM].end()
            assert live.wait(60)
        live.stop()
        assert not [*Path.cwd().iterdir()]
    found = [text for _, text in read_units(files_at(settings["results"]))]
    assert found == site.expected()


class CountingFiles(RemoteFiles):
    """Files that know how many bytes were sent to where they are."""

    bytes_written = 0

    def write_object(self, name: str, data: bytes) -> None:
        self.bytes_written += len(data)
        super().write_object(name, data)


def counting(root: Path) -> CountingFiles:
    return CountingFiles(cast("pafs.FileSystem", NotAppending(pafs.LocalFileSystem())), str(root))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("made", [LocalFiles, appending, not_appending])
def test_a_file_equals_its_appends_and_truncations(
    made: Callable[[Path], Files], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "COMPACTED_OBJECTS", 4)
    monkeypatch.setattr(parts, "SHORT_OBJECT_BYTES", 60)
    monkeypatch.setattr(parts, "CACHED_TAILS", 2)
    rng = Random(f"appended {seed}")
    kept, expected = made(tmp_path), dict[str, bytes]()
    for _ in range(150):
        name = rng.choice(["a/one", "a/two", "b/three"])
        before = expected.get(name, b"")
        match rng.randrange(12):
            case 0:
                kept.remove(name)
                expected.pop(name, None)
            case 1:
                expected[name] = rng.randbytes(rng.randrange(20))
                kept.write(name, expected[name])
            case 2:
                if isinstance(kept, LocalFiles):
                    kept.close()
                kept = made(tmp_path)  # another process continues
            case chosen:
                at = rng.randrange(len(before) + 1) if chosen == 3 else len(before)
                data = rng.randbytes(rng.randrange(20))
                kept.append(name, at, data)
                expected[name] = before[:at] + data
        for reader in (kept, made(tmp_path)):
            start = rng.randrange(30)
            assert reader.read(name, start) == (expected[name][start:] if name in expected else None)
            assert reader.size(name) == (len(expected[name]) if name in expected else None)
        assert {f"a/{each}" for each in kept.names("a")} == {each for each in expected if each.startswith("a/")}
    for name in expected:
        kept.remove(name)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
    if isinstance(kept, LocalFiles):
        kept.close()


def test_pushed_input_is_logged_on_a_store_without_append(tmp_path: Path) -> None:
    written = []
    for number in (300, 1200):
        files = counting(tmp_path / str(number))
        log = InputLog(files, "log", Lease(files))
        for t in range(1, number + 1):
            log.append(pa.Table.from_batches([encode_events([(t, t, "<urn:s>", "<urn:p>", "<urn:o>")])]), t)
        assert files.bytes_written < 3 * log.end
        written.append(files.bytes_written)
        objects = [file for file in (tmp_path / str(number)).rglob("*") if file.is_file()]
        assert len(objects) < number / 256 + 256 + 5
        found = read_log(not_appending(tmp_path / str(number)), "log", 0, log.end)
        assert [t for chunk in found for t in chunk.events["t"].to_pylist()] == [*range(1, number + 1)]
    assert written[1] < 5 * written[0]


def test_uncommitted_results_are_written_again_on_a_store_without_append(tmp_path: Path) -> None:
    files = counting(tmp_path)
    out = SegmentSink(files, 1)
    out.resume({})
    for t in range(1, 400):
        out.write(make_units("q", 1, [Report(t, t, t, ("a",), ())]))
    assert files.bytes_written < 3 * sum(out.lengths.values())
    SegmentSink(files, 2).resume(out.lengths)
    assert [key.t for key, _ in read_units(not_appending(tmp_path))] == [*range(1, 400)]


def test_forgetting_removes_every_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SEGMENT_BYTES", 10_000)
    files = not_appending(tmp_path)
    log = InputLog(files, "log", Lease(files))
    for t in range(1, 101):
        log.append(pa.Table.from_batches([encode_events([(t, t, "<urn:s>", "<urn:p>", "<urn:o>")])]), t)
    before = len([*tmp_path.rglob("*")])
    log.forget(log.end)
    assert len([*tmp_path.rglob("*")]) < before / 5


def test_a_missing_object_is_detected_by_readers(tmp_path: Path) -> None:
    files = not_appending(tmp_path)
    log = InputLog(files, "log", Lease(files))
    ends = [
        log.append(pa.Table.from_batches([encode_events([(t, t, "<urn:s>", "<urn:p>", "<urn:o>")])]), t)
        for t in range(1, 6)
    ]
    (gone,) = [file for file in tmp_path.rglob("*") if file.name == f"{ends[1]:020d}"]
    gone.unlink()
    with pytest.raises(DataError, match=f"bytes from {ends[1]} to {ends[2]}"):
        InputLog(files, "log", Lease(files), ends[1])
    assert InputLog(files, "log", Lease(files), ends[2]).end == ends[4]  # committed input is not needed


def test_readers_are_not_disturbed_by_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "COMPACTED_OBJECTS", 4)
    files = not_appending(tmp_path)
    for at in range(4):
        files.append("a/one", at, b"%d" % at)

    class Slow(RemoteFiles):
        """Files of a reader that has looked what there is, and reads when it is gone."""

        def read_object(self, name: str, start: int = 0) -> bytes:
            if files.size("a/one") == 4:
                files.append("a/one", 4, b"4")
            return super().read_object(name, start)

    slow = Slow(cast("pafs.FileSystem", NotAppending(pafs.LocalFileSystem())), str(tmp_path))
    assert (slow.read("a/one") or b"")[:4] == b"0123"
    assert slow.read("a/one") == b"01234"

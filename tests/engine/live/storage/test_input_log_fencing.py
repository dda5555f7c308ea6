"""A driver that has lost its lease: whatever it does, its successor loses nothing of the log that it has found."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from hydrograph.live.storage.input_log import InputLog, log_end, read_log
from hydrograph.live.storage.lease import FencedError, Lease
from hydrograph.streams.schema import encode_events
from tests.support.live_faults import DeadError, MemoryFiles


def row(number: int, name: str = "<urn:s>") -> pa.Table:
    return pa.Table.from_batches([encode_events([(number, number, name, "<urn:p>", "<urn:o>")])])


def times(files: MemoryFiles) -> list[int]:
    return [t for chunk in read_log(files, "log", 0, log_end(files, "log")) for t in chunk.events["t"].to_pylist()]


class Asleep(Lease):
    """A lease whose holder does something else before it looks whether it still has it."""

    before: Callable[[], None] = staticmethod(lambda: None)

    def check(self) -> None:
        self.before()
        super().check()


def test_a_fenced_log_accepts_no_further_appends() -> None:
    files = MemoryFiles()
    lease = Asleep(files)
    older, successors = InputLog(files, "log", lease), list[InputLog]()
    older.append(row(1), 1)
    lease.before = lambda: successors.append(InputLog(files, "log", Lease(files))) if not successors else None
    with pytest.raises(FencedError):  # its frame is intact, and the successor has read it
        older.append(row(2), 2)
    (newer,) = successors
    assert times(files) == [1, 2]
    written = dict(files.data)
    for number in (3, 4):
        with pytest.raises(FencedError, match="another driver has taken over"):
            older.append(row(number, "<urn:a-longer-name>"), number)
        with pytest.raises(FencedError):
            older.forget(older.end)
    assert files.data == written
    newer.append(row(5), 5)
    assert [t for chunk in newer.read(0, newer.end) for t in chunk.events["t"].to_pylist()] == [1, 2, 5]
    assert InputLog(files, "log", Lease(files)).number == 5


@pytest.mark.parametrize("taken_over", ["never", "before it looks", "after it has looked"])
@pytest.mark.parametrize("left", ["nothing", "half", "whole"])
def test_a_failed_append_truncates_no_intact_frame(left: str, taken_over: str) -> None:
    class Failing(MemoryFiles):
        """Files that fail once, and leave something."""

        fails_now = False

        def append(self, name: str, at: int, data: bytes) -> None:
            if not self.fails_now:
                super().append(name, at, data)
                return
            self.fails_now = False
            super().append(name, at, data[: {"nothing": 0, "half": len(data) // 2, "whole": len(data)}[left]])
            raise DeadError(name)

    files = Failing()
    lease = Asleep(files)
    older, successors = InputLog(files, "log", lease), list[InputLog]()
    older.append(row(1), 1)
    files.fails_now = True
    with pytest.raises(DeadError):
        older.append(row(2), 2)
    found = [1, 2] if left == "whole" else [1]

    def take_over() -> None:
        if not successors:
            successors.append(InputLog(files, "log", Lease(files)))

    if taken_over == "never":
        older.append(row(3, "<urn:a-longer-name>"), 3)
        assert times(files) == [*found, 3]
        assert [t for chunk in older.read(0, older.end) for t in chunk.events["t"].to_pylist()] == [*found, 3]
        return
    if taken_over == "before it looks":
        lease.before = take_over
    else:
        append = files.append

        def late(name: str, at: int, data: bytes) -> None:
            files.append = append  # type: ignore[method-assign]
            take_over()
            append(name, at, data)

        files.append = late  # type: ignore[method-assign]
    with pytest.raises(FencedError):
        older.append(row(3, "<urn:a-longer-name>"), 3)
    assert times(files) == found
    (newer,) = successors
    newer.append(row(4), 4)
    assert times(files) == [*found, 4]
    assert InputLog(files, "log", Lease(files)).number == 4

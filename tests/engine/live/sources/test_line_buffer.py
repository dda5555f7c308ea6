"""Lines and elements that never end: rejected once, at the price of their limit, and what follows is read."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.errors import DataError
from hydrograph.live.sources import decoder
from hydrograph.live.sources.decoder import Decoder, LineBuffer
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.source import PartitionSpec
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri
from hydrograph.streams import files as lines
from hydrograph.streams.elements import ElementPiece
from hydrograph.streams.event_time import GENERATED
from hydrograph.streams.files import Overlong
from hydrograph.streams.formats import messages, turtle
from tests.support.waiting import until

LIMIT = 2000
PIECE = 1 << 16


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lines, decoder, messages, turtle):
        monkeypatch.setattr(module, "ELEMENT_LIMIT", LIMIT)


def opened(tmp_path: Path, bad: str = "skip") -> Decoder:
    log = LocalFiles(tmp_path / "log")
    return Decoder(PartitionSpec(stream=Iri("urn:s"), url="push:", log=log, bad=bad), 0)


def line(time: object, o: str = "<urn:o>") -> bytes:
    return f"{time}\t<urn:s> <urn:p> {o} .\n".encode()


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


def taken(decoder: Decoder, data: bytes, size: int) -> tuple[list[int], int]:
    """Return the times of rows, and how much was rejected, when data comes in pieces and then ends."""
    found = [decoder.lines(piece) for piece in pieces(data, size)]
    found.append(decoder.closed())
    return [row[0] for rows, _ in found for row in rows], sum(rejected for _, rejected in found)


LONG = line(2, f'"{"x" * 3 * LIMIT}"')
GROUP = b"".join(line("2:1", f"<urn:o{n}>") for n in range(200))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [1, 7, 500, 10**6])
@pytest.mark.parametrize(
    ("data", "times", "rejected"),
    [
        (line(1) + LONG + line(3), [1, 3], 1),
        (line(1) + LONG[:-1], [1], 1),
        (line("1:1") + LONG + line("1:1"), [1, 1], 1),
        (line(1) + GROUP + line(3), [1, 3], 1),
        (line(1) + GROUP, [1], 1),
        (GROUP + line("2:2") + line("2:2"), [2, 2], 1),
        (line("1:1") + GROUP + GROUP.replace(b"2:1", b"2:2") + line(3), [1, 3], 2),
        (line("2:1") + b"2:1\t" + LONG[2:] + line("2:1") + line(3), [3], 1),
        (b"2:1\t" + LONG[2:] + line("2:1") + line("2:2") + line("2:1"), [2, 2], 1),
        (line(1) + b"\n# " + b"x" * LIMIT + b"\n" + line(3), [1, 3], 1),
        (line(1, f'"{"x" * (LIMIT - 100)}"') + line(2), [1, 2], 0),
    ],
)
def test_what_is_too_long_is_rejected_once(
    tmp_path: Path, size: int, data: bytes, times: list[int], rejected: int
) -> None:
    assert taken(opened(tmp_path), data, size) == (times, rejected)


@pytest.mark.usefixtures("small")
def test_where_none_may_be_it_is_an_error(tmp_path: Path) -> None:
    for data in (LONG, GROUP):
        with pytest.raises(
            DataError, match=r"line .*: expected a line or an element of at most 2000 bytes, got a longer"
        ):
            taken(opened(tmp_path, "fail"), data, 100)
        with pytest.raises(DataError, match="expected a line or an element of at most 2000 bytes"):
            opened(tmp_path).payload(line(1) + data)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", [Decoder.cut, Decoder.closed, Decoder.rest])
@pytest.mark.parametrize("begun", [LONG[:-1], GROUP[:-1], GROUP])
def test_a_new_connection_knows_nothing_of_what_was_too_long(
    tmp_path: Path, begun: bytes, end: Callable[[Decoder], tuple[list[object], int]]
) -> None:
    decoder = opened(tmp_path)
    assert decoder.lines(begun) == ([], 1)
    assert end(decoder) == ([], 0)
    assert [row[0] for row in decoder.lines(line("2:1") + line(3))[0]] == [2, 3]


@given(
    st.lists(st.sampled_from([line(1), line("1:1"), line("1:2"), b"\n", b"# c\n", b"broken\n", b"2\t<urn:\r\n"])),
    st.integers(1, 200),
)
def test_pieces_do_not_matter(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    whole, many = LineBuffer(), LineBuffer()
    number, ready = 0, []
    for piece in pieces(data, size):
        more, number = many.add(piece, number)
        ready += more
    expected, last = whole.add(data, 0)
    assert (ready, number) == (expected, last)
    assert (many.group, many.length) == (whole.group, whole.length)
    assert [each for each, _ in ready + many.whole(number)[0]] == [*range(1, len(parts) + 1)]


def test_memory_does_not_grow_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "ELEMENT_LIMIT", 1 << 20)
    holds, piece, found = LineBuffer(), b"x" * PIECE, []
    tracemalloc.start()
    try:
        for _ in range(512):  # 32 times the limit
            found += holds.add(piece, 0)[0]
            assert holds.length <= (1 << 20) + PIECE
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert [each for _, each in found] == [Overlong("x" * lines.SHOWN)]


def test_each_line_of_an_element_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, group = [], decoder.element_group

    def noted(each: lines.Line) -> str | None:
        looked.append(1)
        return group(each)

    monkeypatch.setattr(decoder, "element_group", noted)
    holds, data = LineBuffer(), line("1:1") * 5000
    for piece in pieces(data, 100):
        assert holds.add(piece, 0)[0] == []
    assert len(looked) == 5000
    assert len(holds.whole(0)[0]) == 5000


NAMED = f'<urn:g%d> {GENERATED} "%d" .\n'


def graphs(name: str, t: int, size: int = 1) -> bytes:
    """Return an element of `size` triples at `t`, and begins the next one."""
    triples = [f'<urn:s> <urn:p> "{n} {"x" * 50}"' for n in range(size)]
    head = NAMED % (t, t)
    if name == "nquads":
        text = head + "".join(f"{each} <urn:g{t}> .\n" for each in triples)
    elif name == "trig":
        text = f"{head}<urn:g{t}> {{ {' . '.join(triples)} }}\n"
    elif name == "messages":
        text = f"{head}{''.join(f'{each} .{chr(10)}' for each in triples)}MESSAGE\n"
    else:
        return b"".join(line(f"{t}:{t}", each.split(" ", 2)[2]) for each in triples)
    return text.encode()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["tnt", "nquads", "trig", "messages"])
def test_an_element_that_is_too_long_is_rejected_once_and_the_next_is_there(tmp_path: Path, name: str) -> None:
    log = LocalFiles(tmp_path / "log")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        port = server.getsockname()[1]
        source = open_partition(Iri("urn:s"), f"tcp://127.0.0.1:{port}?format={name}&end=close", log, bad="skip")
        assert isinstance(source, LoggedPartition)
        source.resume(Lease(log), 0)
        source.start(lambda: None)
        connection, _ = server.accept()
        version = b'VERSION "1.2-messages"\n' if name == "messages" else b""
        connection.sendall(version + graphs(name, 1) + graphs(name, 2, 100) + graphs(name, 3))
        connection.close()
        until(source.has_ended)
        chunks = [*source.read(0, source.end())]
    times = {t for chunk in chunks for t in chunk.events["t"].to_pylist()}
    assert times == {1, 3}
    assert sum(chunk.rejected for chunk in chunks) == 1
    source.stop()


@pytest.mark.usefixtures("small")
def test_what_is_lost_behind_an_element_that_was_too_long_is_counted_too() -> None:
    counts: list[int] = []
    told = decoder.PendingElements(lambda _, rejected: counts.append(rejected))
    long = [(1, 1, "<urn:s>", "<urn:p>", f'"{"x" * LIMIT}"')]
    assert not told.add(ElementPiece(1, 1, (), goes_on=True), long)
    assert not told.add(ElementPiece(1, 1, (), goes_on=True), long)
    told.lose(1)  # it is known already
    assert told.add(ElementPiece(2, 1, (), goes_on=True), [(2, 2, "<urn:s>", "<urn:p>", "<urn:o>")])
    told.lose(begun=True)
    told.end()
    assert counts == [2]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["turtle", "messages"])
def test_what_can_not_be_taken_up_again_ends_its_connection(tmp_path: Path, name: str) -> None:
    log = LocalFiles(tmp_path / "log")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}?format={name}&end=close"
        source = open_partition(Iri("urn:s"), url, log, bad="skip")
        assert isinstance(source, LoggedPartition)
        source.resume(Lease(log), 0)
        source.start(lambda: None)
        connection, _ = server.accept()
        if name == "turtle":
            connection.sendall(b"<urn:s> <urn:p> <urn:o> .\n" * 200)
        else:
            connection.sendall(b'VERSION "1.2-messages"\n<urn:s> <urn:p> "' + b"x" * 3 * LIMIT + b'" .\n')
        again, _ = server.accept()
        again.sendall(f'<urn:s> {GENERATED} "7" .\n'.encode())
        again.close()
        until(source.has_ended)
        connection.close()
        chunks = [*source.read(0, source.end())]
    assert source.failure is None
    assert [t for chunk in chunks for t in chunk.events["t"].to_pylist()] == [7]
    assert sum(chunk.rejected for chunk in chunks) == 1
    source.stop()

"""What comes through sockets, pipes and by hand, in any format: logged as soon as it is whole, and only then."""

from __future__ import annotations

import io
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hydrograph import api
from hydrograph.cli.options import with_options
from hydrograph.errors import DataError, UsageError
from hydrograph.live.sources.decoder import Feed
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.push import LiveStream
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.step.records import ResultUnit
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri
from hydrograph.streams import graph_elements as datasets
from hydrograph.streams.elements import StreamElement
from hydrograph.streams.event_time import GENERATED, EventTime
from hydrograph.streams.format_registry import FORMATS, format_named
from tests.support.waiting import until

STREAM = "urn:stream"
ELEMENTS = [
    StreamElement(t, 500 * t, ((f"<urn:s{t}>", "<urn:p>", "_:b"), ("_:b", "<urn:q>", f'"{t} \\u00e4\\n"@en')))
    for t in range(1, 9)
]
SINGLE = [StreamElement(t, 500 * t, ((f"<urn:s{t}>", "<urn:p>", f"<urn:o{t}>"),)) for t in range(1, 9)]
STREAMED = [each.name for each in FORMATS if not each.one_each]
GOES_ON = {"nquads", "trig", "messages"}
"""Formats in which an element ends where the next one begins."""
AT_ONCE = {"jsonld"}
"""Formats of one document, of which a parser tells nothing before it has all of it."""


def elements(name: str) -> list[StreamElement]:
    return SINGLE if format_named(name).only_triples else ELEMENTS


def text(name: str, given: list[StreamElement]) -> bytes:
    out = io.BytesIO()
    write = format_named(name).write
    assert write is not None
    write(out, given)
    return out.getvalue()


def parts(name: str) -> list[bytes]:
    """Return what has to come for each element: bytes that end where it does."""
    given = elements(name)
    ends = [len(text(name, given[:number])) for number in range(1, len(given) + 1)]
    whole = text(name, given)
    return [whole[start:end] for start, end in zip([0, *ends], [*ends[:-1], len(whole)], strict=False)]


@contextmanager
def received(tmp_path: Path, url: str, bad: str = "fail") -> Iterator[LoggedPartition]:
    log = LocalFiles(tmp_path / "log")
    source = open_partition(Iri(STREAM), url, log, bad=bad)
    assert isinstance(source, LoggedPartition)
    source.resume(Lease(log), 0)
    source.start(lambda: None)
    try:
        yield source
    finally:
        source.stop()


def rows(source: LoggedPartition) -> list[tuple[int, str, str]]:
    tables = [chunk.events for chunk in source.read(0, source.end()) if chunk.events.num_rows]
    found = pa.concat_tables(tables).to_pylist() if tables else []
    return [(row["t"], row["p"], row["o"].partition("x")[0] if row["o"][0] == "_" else row["o"]) for row in found]


def times(source: LoggedPartition) -> list[int]:
    return sorted({t for t, _, _ in rows(source)})


def rejected(source: LoggedPartition) -> int:
    return sum(chunk.rejected for chunk in source.read(0, source.end()))


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(20)
        yield made


def url(server: socket.socket, *options: str) -> str:
    return f"tcp://127.0.0.1:{server.getsockname()[1]}?{'&'.join(options)}"


@pytest.mark.parametrize("name", STREAMED)
def test_elements_are_logged_when_they_have_come(name: str, tmp_path: Path, server: socket.socket) -> None:
    given = elements(name)
    with received(tmp_path, url(server, f"format={name}", "end=close")) as source:
        connection, _ = server.accept()
        for number, part in enumerate(parts(name), 1):
            connection.sendall(part[:7])
            connection.sendall(part[7:])
            there = 0 if name in AT_ONCE else number - 1 if name in GOES_ON else number
            until(lambda: len(times(source)) >= there)  # noqa: B023 - called in this round
        connection.close()
        until(source.has_ended)
        assert times(source) == [element.t for element in given]
        assert len(rows(source)) == sum(len(element.triples) for element in given)
        assert rejected(source) == 0
        assert source.failure is None


@pytest.mark.parametrize("name", sorted({*STREAMED} - {"jsonld"}))
def test_a_line_that_is_cut_is_taken_up_and_what_was_not_whole_is_counted(
    name: str, tmp_path: Path, server: socket.socket
) -> None:
    given = parts(name)
    head = b'VERSION "1.2-messages"\n' if name == "messages" else b""
    with received(tmp_path, url(server, f"format={name}")) as source:
        connection, _ = server.accept()
        connection.sendall(given[0] + given[1] + given[2] + given[3][: len(given[3]) - 5])
        until(lambda: times(source)[:2] == [500, 1000])
        time.sleep(0.05)  # what has not been read when a line is reset is gone
        reset(connection)
        connection, _ = server.accept()
        if name == "jelly":  # a stream states its kind at its beginning
            connection.sendall(text(name, elements(name)[3:]))
        else:
            connection.sendall(head + b"".join(given[3:]))
        connection.close()
        until(lambda: times(source)[-1:] == [4000])
        assert times(source) == [500 * t for t in range(1, 9)]
        assert len(rows(source)) == sum(len(element.triples) for element in elements(name))
        assert rejected(source) == 1


GROUP = [f"{t}:{t}\t<urn:s> <urn:p> <urn:o{n}> .\n".encode() for t in (1, 2, 3) for n in range(3)]


@pytest.mark.parametrize(
    ("sent", "whole", "lost", "by_reset"),
    [
        (b"".join(GROUP[:6]), [1, 1, 1, 2, 2, 2], 0, False),
        (b"".join(GROUP[:5]), [1, 1, 1], 1, True),
        (b"".join(GROUP[:5]) + GROUP[5][:9], [1, 1, 1], 1, False),
        (b"".join(GROUP[:5]) + GROUP[5][:2], [1, 1, 1], 1, False),
        (b"".join(GROUP[:6]) + GROUP[6][:9], [1, 1, 1, 2, 2, 2], 1, False),
        (b"".join(GROUP[:6]) + GROUP[6][:9], [1, 1, 1, 2, 2, 2], 1, True),
        (b"".join(GROUP[:5]) + GROUP[5][:-1], [1, 1, 1, 2, 2, 2], 0, False),
        (b"7\t<urn:s> <urn:p> <urn:o> .\n8\t<urn:s> <urn:p> <urn:o> .\n", [7, 8], 0, True),
        (b"7\t<urn:s> <urn:p> <urn:o> .\n8\t<urn:s> <urn:p> <ur", [7], 1, False),
        (b"7\t<urn:s> <urn:p> <urn:o> .\n8\t<urn:s> <urn:p> <ur", [7], 1, True),
    ],
)
def test_half_an_element_is_none(
    sent: bytes, whole: list[int], lost: int, by_reset: bool, tmp_path: Path, server: socket.socket
) -> None:
    with received(tmp_path, url(server)) as source:
        connection, _ = server.accept()
        connection.sendall(sent)
        if by_reset:
            until(
                lambda: [t for t, _, _ in rows(source)] == [t for t in whole if t != 2 or not lost or len(whole) == 3]
            )
            time.sleep(0.05)
        (reset if by_reset else socket.socket.close)(connection)
        connection, _ = server.accept()
        connection.sendall(b"9\t<urn:s> <urn:p> <urn:o> .\n")
        until(lambda: 9 in times(source))
        connection.close()
        assert [t for t, _, _ in rows(source)] == [*whole, 9]
        assert rejected(source) == lost


def test_what_can_not_be_understood_ends_a_connection_and_not_the_query(tmp_path: Path, server: socket.socket) -> None:
    with received(tmp_path, url(server, "format=trig", "end=close"), bad="skip") as source:
        connection, _ = server.accept()
        connection.sendall(text("trig", ELEMENTS[:3]) + b"this is { no TriG .\n" * 3)
        again, _ = server.accept()
        again.sendall(text("trig", ELEMENTS[2:]))
        again.close()
        until(source.has_ended)
        assert (times(source), rejected(source)) == ([500 * t for t in range(1, 9)], 1)
        connection.close()


def test_a_broken_stream_stops_the_query_where_none_may_be(tmp_path: Path, server: socket.socket) -> None:
    with received(tmp_path, url(server, "format=trig")) as source:
        connection, _ = server.accept()
        connection.sendall(text("trig", ELEMENTS) + b"this is { no TriG .\n" * 3)
        until(lambda: source.failure is not None)
        with pytest.raises(DataError, match="tcp://127"):
            source.end()
        connection.close()


@pytest.mark.parametrize("name", ["trig", "ndjsonld", "jelly", "messages"])
def test_standard_input_has_any_format(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as given, open(writing, "wb", buffering=0) as out:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", given)
        with received(tmp_path, f"-?format={name}") as source:
            *most, last = parts(name)
            for part in most:
                out.write(part)
            until(lambda: len(times(source)) >= len(most) - 1)
            assert not source.has_ended()
            out.write(last)
            out.close()
            until(source.has_ended)
            assert times(source) == [element.t for element in ELEMENTS]


def test_a_stop_does_not_wait_for_more(tmp_path: Path, server: socket.socket) -> None:
    with received(tmp_path, url(server, "format=nquads")) as source:
        connection, _ = server.accept()
        connection.sendall(text("nquads", ELEMENTS[:2]))
        until(lambda: times(source) == [500])
    assert not any(thread.name.startswith("source tcp") for thread in threading.enumerate())
    assert (times(source), rejected(source)) == ([500], 1)
    connection.close()


def test_what_is_known_of_graphs_does_not_grow_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "REMEMBERED", 20)
    made: list[Any] = []
    graphs = datasets._Graphs

    def noted(times: EventTime) -> Any:
        made.append(graphs(times))
        return made[-1]

    monkeypatch.setattr(datasets, "_Graphs", noted)
    lines = [
        line
        for t in range(1000)
        for line in (f'<urn:g{t}> {GENERATED} "{t}" .', f"<urn:s> <urn:p> _:b{t} <urn:g{t}> .")
    ]
    lines += [f'<urn:x{t}> {GENERATED} "{t}" .' for t in range(1000)]
    lines += [f"<urn:s> <urn:p> <urn:o> <urn:never{t}> ." for t in range(100)]
    reading, writing = os.pipe()
    os.set_blocking(writing, True)
    with open(reading, "rb") as given:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", given)
        with received(tmp_path, "-?format=nquads", bad="skip") as source:
            with open(writing, "wb") as out:  # noqa: PTH123
                out.write("".join(f"{line}\n" for line in lines).encode())
                out.flush()
                until(lambda: rejected(source) == 80)
                (kept,) = made
                assert max(len(kept.numbers), len(kept.waiting)) <= 20
                assert len(kept.known) <= 40
            until(source.has_ended)
            assert times(source) == [*range(1000)]
            assert rejected(source) == 100


@pytest.mark.parametrize("name", [each.name for each in FORMATS])
def test_a_program_sends_texts_of_any_format(name: str, tmp_path: Path) -> None:
    with received(tmp_path, f"push:?format={name}&time=prov:generatedAtTime") as source:
        stream = LiveStream(STREAM, source)
        if format_named(name).one_each:
            for t in range(1, 9):
                stream.send(f'<urn:s{t}> <urn:p> [ <urn:q> "x" ] ; {GENERATED} {500 * t} .')
        else:
            given = elements(name)
            stream.send(text(name, given[:5]))
            stream.send(text(name, given[5:]))
            assert len(rows(source)) == sum(len(element.triples) for element in given)
        assert times(source) == [500 * t for t in range(1, 9)]
        before = source.end()
        with pytest.raises(DataError):
            stream.send(b"\x07 this is nothing <")
        assert source.end() == before


def test_a_program_sends_timed_n_triples_too(tmp_path: Path) -> None:
    with received(tmp_path, "push:") as source:
        stream = LiveStream(STREAM, source)
        stream.send("1:1\t<urn:s> <urn:p> <urn:o> .\n1:1\t<urn:s> <urn:p> <urn:o2> .\n")
        assert [t for t, _, _ in rows(source)] == [1, 1]
        with pytest.raises(DataError, match="push:, line 4"):
            stream.send("2\t<urn:s> <urn:p> <urn:o> .\n3\t<urn:s> <urn:p>\n")
        with pytest.raises(UsageError, match="a text and triples"):
            stream.send("4\t<urn:s> <urn:p> <urn:o> .\n", "<urn:s> <urn:p> <urn:o> .")
        assert [t for t, _, _ in rows(source)] == [1, 1]


def test_files_alone_are_no_stream(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can be streamed"):
        open_partition(Iri(STREAM), "push:?format=parquet", LocalFiles(tmp_path))


def test_sent_documents_are_answered(tmp_path: Path) -> None:
    query = (
        "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s STEP 1s] { WINDOW <urn:w> { ?s <urn:p> ?o } }"
    )
    answers = []
    for name in ("trig", "jsonld", "nquads"):
        units: list[ResultUnit] = []
        live = api.query(query).start(
            {STREAM: f"push:?format={name}"}, checkpoint=tmp_path / name, on_unit=units.append
        )
        for element in ELEMENTS:
            live.streams[STREAM].send(text(name, [element]))
        live.streams[STREAM].end()
        assert live.wait(30)
        answers.append([unit.text for unit in units])
    assert answers[0] == answers[1] == answers[2]
    assert sum("urn:s" in line for line in answers[0]) == 5


def test_a_feed_hands_on_what_its_listener_raises() -> None:
    reading, writing = os.pipe()
    feed = Feed(reading, lambda: False)

    def fail() -> None:
        raise DataError("no")

    feed.waiting = fail
    assert feed.read(5) == b""
    assert isinstance(feed.failure, DataError)
    os.close(writing)
    os.close(reading)


def test_options_for_all_streams_reach_urls_with_options() -> None:
    assert with_options("tcp://h:1?end=close", {"format": "trig", "time": None}) == "tcp://h:1?end=close&format=trig"
    assert with_options("in", {"format": "trig", "time": None}) == "in?format=trig"
    assert with_options("in?format=nquads", {"format": "trig"}) == "in?format=nquads"
    assert with_options("in", {"format": None}) == "in"

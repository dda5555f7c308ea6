"""A source that listens: several may send at once, none keeps out others, and their elements stay whole."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from hydrograph import api
from hydrograph.errors import DataError, RunError
from hydrograph.live.sources import socket as connections
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.step.records import ResultUnit
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri
from tests.support.waiting import until

STREAM = "urn:stream"
QUERY = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"
LINE = b"100\t<urn:s> <urn:p> <urn:o> .\n"


def free_port(host: str = "127.0.0.1", family: socket.AddressFamily = socket.AF_INET) -> int:
    with socket.create_server((host, 0), family=family) as taken:
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def listening(
    tmp_path: Path, *options: str, bad: str = "skip", partition: int = 0
) -> Iterator[tuple[LoggedPartition, int]]:
    log, port = LocalFiles(tmp_path / "log"), free_port()
    url = f"tcp://127.0.0.1:{port}?{'&'.join(('listen=true', *options))}"
    source = open_partition(Iri(STREAM), url, log, bad=bad, number=partition)
    assert isinstance(source, LoggedPartition)
    source.resume(Lease(log), 0)
    source.start(lambda: None)
    try:
        yield source, port
    finally:
        source.stop()


def connected(port: int, host: str = "127.0.0.1") -> socket.socket:
    made: list[socket.socket] = []

    def attempt() -> bool:
        try:
            made.append(socket.create_connection((host, port), 5.0))
        except ConnectionRefusedError:
            return False
        return True

    until(attempt)
    return made[0]


def events(source: LoggedPartition) -> pa.Table:
    return pa.concat_tables([chunk.events for chunk in source.read(0, source.end())], promote_options="default")


def there(source: LoggedPartition) -> int:
    return sum(chunk.events.num_rows for chunk in source.read(0, source.end()))


def test_one_that_is_silent_does_not_keep_out_others(tmp_path: Path) -> None:
    with listening(tmp_path) as (source, port), connected(port), connected(port) as half, connected(port) as other:
        half.sendall(LINE[:9])
        other.sendall(LINE)
        until(lambda: there(source) == 1)
        half.sendall(LINE[9:])
        until(lambda: there(source) == 2)


@pytest.mark.parametrize("partition", [0, 2])
def test_elements_of_several_are_logged_whole_and_numbered_once(tmp_path: Path, partition: int) -> None:
    with listening(tmp_path, partition=partition) as (source, port):

        def send(name: int) -> None:
            text = "".join(
                f"{t}:{name}\t_:b <urn:p{name}> {'_:b' if n % 2 else f'<urn:o{n}>'} .\n"
                for t in range(50)
                for n in range(3)
            ).encode()
            with connected(port) as connection:
                for at in range(0, len(text), 37):
                    connection.sendall(text[at : at + 37])

        threads = [threading.Thread(target=send, args=(name,)) for name in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: there(source) == 5 * 50 * 3)
        found = events(source)
        elements: dict[int, list[tuple[int, str, str]]] = {}
        for row in found.to_pylist():
            elements.setdefault(row["seq"], []).append((row["t"], row["p"], row["s"]))
            assert row["o"] == row["s"] or row["o"][0] == "<"
        assert len(elements) == len({s for each in elements.values() for _, _, s in each}) == 250
        assert all(len(each) == 3 and len(set(each)) == 1 for each in elements.values())
        seqs = found["seq"].to_pylist()
        assert seqs == sorted(seqs)
        assert {seq >> 52 for seq in seqs} == {partition}
        for name in range(5):  # of each the order is kept
            times = [t for each in elements.values() for t, p, _ in each if p == f"<urn:p{name}>"]
            assert times == sorted(times)


def test_what_one_after_another_sends_is_what_replay_reads(tmp_path: Path) -> None:
    lines = [f"{t}\t<urn:s> <urn:p> _:b .\n# comment\n" for t in range(0, 6000, 250)]
    file = tmp_path / "all.tnt"
    file.write_text("".join(lines))
    with api.query(QUERY).over(str(file), placement="local") as run:
        expected = [report.json("query") for report in run.reports()]
    port, units = free_port(), list[ResultUnit]()
    live = api.query(QUERY).start(
        {STREAM: f"tcp://127.0.0.1:{port}?listen=true"},
        checkpoint=tmp_path / "checkpoint",
        on_unit=units.append,
        idle=1.0,
    )
    seen = 0
    for part in (lines[:9], lines[9:17], lines[17:]):
        with connected(port) as connection:
            connection.sendall("".join(part).encode())
        seen += len(part)
        until(lambda: live.loop.progress.triples >= seen)  # noqa: B023 - called in this round
    until(lambda: len(units) >= len(expected))
    live.stop()
    assert [unit.text for unit in units] == expected


def test_the_stream_ends_when_one_is_closed_and_no_other_is_open(tmp_path: Path) -> None:
    with listening(tmp_path, "end=close") as (source, port):
        first, second = connected(port), connected(port)
        for each in (first, second):
            each.sendall(LINE)
        until(lambda: there(source) == 2)
        first.close()
        second.sendall(LINE)
        until(lambda: there(source) == 3)
        assert not source.has_ended()
        second.close()
        until(source.has_ended)


def test_others_wait_where_as_many_are_open_as_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    with listening(tmp_path) as (source, port):
        first, second, third = connected(port), connected(port), connected(port)
        third.sendall(LINE)
        until(lambda: "2 connections are open" in str(source.trouble))
        assert there(source) == 0
        first.close()
        until(lambda: there(source) == 1)
        until(lambda: source.trouble is None or "2 connections" in source.trouble)
        second.close()
        third.close()


def test_what_one_sends_that_can_not_be_understood_does_not_end_another(tmp_path: Path) -> None:
    with listening(tmp_path, "format=trig") as (source, port), connected(port) as good, connected(port) as bad:
        bad.sendall(b"this is { no TriG .\n" * 3)
        until(lambda: sum(chunk.rejected for chunk in source.read(0, source.end())) == 1)
        time_of = "<http://www.w3.org/ns/prov#generatedAtTime>"
        good.sendall(f"<urn:g> {time_of} 5 . <urn:g> {{ <urn:s> <urn:p> <urn:o> }}\n".encode())
        good.close()
        until(lambda: there(source) == 1)
        assert source.failure is None


def test_after_a_failure_the_address_is_free_and_no_thread_left(tmp_path: Path) -> None:
    with listening(tmp_path, bad="fail") as (source, port), connected(port) as silent:
        with connected(port) as connection:
            connection.sendall(b"garbage\n")
            until(lambda: source.failure is not None)
        with pytest.raises(DataError, match="expected an event time"):
            source.end()
        socket.create_server(("127.0.0.1", port)).close()
        silent.close()
    assert not any(thread.name.startswith("source tcp") for thread in threading.enumerate())


def test_an_address_that_somebody_has_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"tcp://127.0.0.1:{taken.getsockname()[1]}?listen=true"
        live = api.query(QUERY).start({STREAM: url}, checkpoint=tmp_path / "checkpoint")
        with pytest.raises(RunError, match=r"cannot listen on .*: Address already in use"):
            live.wait(20)


def test_an_address_of_version_6_is_listened_at(tmp_path: Path) -> None:
    try:
        port = free_port("::1", socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    log = LocalFiles(tmp_path / "log")
    source = open_partition(Iri(STREAM), f"tcp://[::1]:{port}?listen=true", log)
    assert isinstance(source, LoggedPartition)
    source.resume(Lease(log), 0)
    source.start(lambda: None)
    with connected(port, "::1") as connection:
        connection.sendall(LINE)
        until(lambda: there(source) == 1)
    source.stop()


def test_the_other_machine_is_asked_whether_it_still_lives() -> None:
    with socket.socket() as made:
        connections.keep_alive(made)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

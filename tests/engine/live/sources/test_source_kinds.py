"""Sources: what comes in by any road is what replay reads from a file, and can be read again."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hydrograph import api
from hydrograph.errors import DataError, UsageError
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.source import PartitionReader
from hydrograph.live.step.records import ResultUnit
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.input_log import InputLog
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.streams.sources import events_as_arrow, open_stream

STREAM = "urn:stream"
QUERY = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"
LINES = [f"{t}\t<urn:s{t % 7}> <urn:p> {'_:b' if t % 5 == 0 else f'<urn:o{t % 3}>'} .\n" for t in range(0, 9000, 250)]
GROUPS = [f"{t}:{t}\t<urn:s> <urn:p> <urn:o{n}> .\n" for t in range(0, 4000, 500) for n in range(3)]


def replayed(file: Path) -> list[str]:
    with api.query(QUERY).over(str(file), placement="local") as run:
        return [report.json("query") for report in run.reports()]


def lived(url: str, checkpoint: Path, work: Callable[[], None] = lambda: None) -> list[str]:
    units: list[ResultUnit] = []
    live = api.query(QUERY).live({STREAM: url}, checkpoint=checkpoint, on_unit=units.append)
    live.start()
    work()
    assert live.wait(30)
    return [unit.text for unit in units]


def rows_of(source: PartitionReader) -> pa.Table:
    return pa.concat_tables([chunk.events for chunk in source.read(0, source.end())])


def opened(directory: Path, log: LocalFiles, known: int = 0) -> PartitionReader:
    source = open_partition(Iri(STREAM), str(directory), log)
    source.resume(Lease(log), known)
    return source


def test_a_directory_is_read_as_replay_reads_it(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    for number in range(3):
        (inside / f"{number}.tnt").write_text("".join(LINES[number * 12 : (number + 1) * 12]))
    expected = replayed(inside)
    (inside / "_END").touch()
    assert lived(str(inside), tmp_path / "checkpoint") == expected


def test_a_directory_keeps_the_order_in_which_files_were_seen(tmp_path: Path) -> None:
    (tmp_path / "b.tnt").write_text(LINES[0])
    log = LocalFiles(tmp_path / "log")
    first = opened(tmp_path, log)
    assert first.end() == 1
    (tmp_path / "a.tnt.gz").write_bytes(gzip.compress(LINES[1].encode()))
    assert first.end() == 2
    again = opened(tmp_path, log, known=2)
    assert rows_of(again).equals(rows_of(first))
    assert rows_of(again).column("t").to_pylist() == [0, 250]
    (tmp_path / "b.tnt").unlink()
    with pytest.raises(DataError, match="is gone"):
        rows_of(again)


@pytest.mark.parametrize("lines", [LINES, GROUPS], ids=["lines", "groups"])
def test_a_socket_that_is_cut_loses_nothing(tmp_path: Path, lines: list[str]) -> None:
    file = tmp_path / "all.tnt"
    file.write_text("".join(lines))
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        half = len(lines) // 2 // 3 * 3
        for part in (lines[:half], lines[half:]):
            connection, _ = server.accept()
            with connection:
                for at in range(0, len(data := "".join(part).encode()), 100):
                    connection.sendall(data[at : at + 100])

    threading.Thread(target=serve, daemon=True).start()
    units: list[ResultUnit] = []
    live = api.query(QUERY).start(
        {STREAM: f"tcp://127.0.0.1:{port}"}, checkpoint=tmp_path / "checkpoint", on_unit=units.append, idle=1.0
    )
    expected = replayed(file)
    for _ in range(300):
        if live.wait(0.1) or len(units) >= len(expected):
            break
    live.stop()
    server.close()
    assert [unit.text for unit in units] == expected


def test_sent_elements_are_there_after_a_restart(tmp_path: Path) -> None:
    settings = {"checkpoint": tmp_path / "checkpoint", "results": tmp_path / "results"}
    for start in (0, 5000):
        live = api.query(QUERY).start({STREAM: "push:"}, **settings)
        stream = live.streams[STREAM]
        for t in range(start, start + 5000, 500):
            stream.send(t, f"<urn:s> <urn:p> <urn:o{t}> .", Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:always")))
        if start:
            stream.end()
            assert live.wait(30)
        else:
            live.stop()
    file = tmp_path / "all.tnt"
    lines = [f"{t}:1\t<urn:s> <urn:p> <urn:{o}> .\n" for t in range(0, 10_000, 500) for o in (f"o{t}", "always")]
    file.write_text("".join(lines))
    assert [text for _, text in read_units(LocalFiles(tmp_path / "results"))] == replayed(file)


def test_what_can_not_be_read_is_counted(tmp_path: Path) -> None:
    live = api.query(QUERY).start({STREAM: "push:"}, checkpoint=tmp_path / "checkpoint")
    stream = live.streams[STREAM]
    stream.send_lines(["0\t<urn:s> <urn:p> <urn:o> .", "nonsense", "1500\t<urn:s> <urn:p> <urn:o> ."])
    with pytest.raises(DataError):
        stream.send(5, "<urn:s> <urn:p>")
    stream.end()
    assert live.wait(30)
    status = live.status()
    assert (status["used"], status["rejected"], status["late_dropped"]) == (2, 1, 0)


def test_a_line_that_nobody_answers_is_tried_again_and_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    live = api.query(QUERY).start({STREAM: f"tcp://127.0.0.1:{port}?end=close"}, checkpoint=tmp_path / "checkpoint")
    for _ in range(100):
        if live.status()["troubles"]:
            break
        assert not live.wait(0.05)
    assert live.status()["troubles"] == [f"tcp://127.0.0.1:{port}: Connection refused"]
    with socket.create_server(("127.0.0.1", port)) as server:
        connection, _ = server.accept()
        connection.close()
        assert live.wait(30)
    assert live.status()["troubles"] == []


def test_other_formats_come_through_a_socket(tmp_path: Path) -> None:
    tnt = tmp_path / "all.tnt"
    tnt.write_text("".join(line for line in LINES if "_:" not in line))
    quads = tmp_path / "all.nq"
    from hydrograph.cli.main import main

    main(["convert", str(tnt), str(quads)])
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(quads.read_bytes())

    threading.Thread(target=serve, daemon=True).start()
    url = f"tcp://127.0.0.1:{server.getsockname()[1]}?format=nquads&end=close"
    assert lived(url, tmp_path / "checkpoint") == replayed(quads)
    server.close()


def test_the_triples_of_a_query_are_the_stream_of_another(tmp_path: Path) -> None:
    file = tmp_path / "all.tnt"
    file.write_text("".join(LINES))
    window = "FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s STEP 1s] WHERE { WINDOW <urn:w> { ?s ?p ?o } }"
    first = api.query(f'CONSTRUCT {{ ?s <urn:seen> "a\\tb"@en . _:b <urn:of> ?o }} {window}')
    stream, directory = tmp_path / "made.tnt", tmp_path / "results"
    with first.over(str(file), placement="local") as run:
        run.write(stream, "tnt")
    live = first.start({STREAM: "push:"}, checkpoint=tmp_path / "first", results=directory)
    live.streams[STREAM].send_lines(LINES)
    live.streams[STREAM].end()
    assert live.wait(30)
    count = "SELECT ?p (COUNT(DISTINCT ?s) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s STEP 1s] "
    second = api.query(f"{count} {{ WINDOW <urn:w> {{ ?s ?p ?o }} }} GROUP BY ?p")
    with second.over(str(stream), placement="local") as run:
        expected = [report.json("query") for report in run.reports()]
    units: list[ResultUnit] = []
    live = second.start(
        {STREAM: f"results:{directory}"}, checkpoint=tmp_path / "second", on_unit=units.append, idle=0.3
    )
    for _ in range(200):
        if len(units) >= len(expected) or live.wait(0.05):
            break
    live.stop()
    assert [unit.text for unit in units] == expected


def again_at(directory: Path) -> InputLog:
    files = LocalFiles(directory)
    return InputLog(files, "log", Lease(files))


def test_the_log_is_read_again_and_cut_where_it_is_torn(tmp_path: Path) -> None:
    file = tmp_path / "all.tnt"
    file.write_text("".join(LINES))
    table = events_as_arrow(open_stream(str(file), name=STREAM)).read_all()
    files = LocalFiles(tmp_path / "log")
    log = InputLog(files, "log", Lease(files))
    ends = [log.append(table.slice(at, 6), at + 6, rejected=at) for at in range(0, 36, 6)]
    again = again_at(tmp_path / "log")
    assert (again.end, again.number) == (ends[-1], 36)
    assert pa.concat_tables([chunk.events for chunk in again.read(0, ends[-1])]).equals(table)
    assert [chunk.rejected for chunk in again.read(ends[0], ends[2])] == [6, 12]
    segment = max((tmp_path / "log" / "log").iterdir(), key=lambda file: file.stat().st_size)
    segment.write_bytes(segment.read_bytes()[:-3])
    (tmp_path / "log" / "log" / f"{again.end:020d}.00000002.log").unlink()
    torn = again_at(tmp_path / "log")
    assert torn.end == ends[-2]
    torn.append(table.slice(30, 6), 36)
    assert pa.concat_tables([chunk.events for chunk in torn.read(0, torn.end)]).equals(table)
    with pytest.raises(DataError, match="can be read up to"):
        list(again_at(tmp_path / "log").read(0, ends[-1] + 7))


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("gopher://host", "no source for"),
        ("tcp://host", "expected tcp://host:port"),
        ("tcp://host:99999", "expected tcp://host:port, got tcp://host:99999: port out of range"),
        ("tcp://host:abc", "expected tcp://host:port, got tcp://host:abc: port could not"),
        ("tcp://[::1:9000", "expected tcp://host:port"),
        ("tcp://host:9000?listen", "expected options as name=value"),
        ("tcp://host:9000?listen=yes", "expected listen=false or true, got listen=yes"),
        ("tcp://host:9000?end=", "expected end=never or close, got end="),
        ("nowhere", "expected a directory"),
        ("push:?format=nonsense", "no format named"),
    ],
)
def test_wrong_urls_are_refused(tmp_path: Path, url: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        open_partition(Iri(STREAM), url, LocalFiles(tmp_path))


def test_standard_input_that_is_closed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match="standard input is closed"):
        open_partition(Iri(STREAM), "-", LocalFiles(tmp_path))


def test_no_thread_is_left_behind_a_directory(tmp_path: Path) -> None:
    """Else it may still run when Python ends, and DuckDB complains then."""
    (tmp_path / "in").mkdir()
    source = opened(tmp_path / "in", LocalFiles(tmp_path / "log"))
    woken = threading.Event()
    source.start(woken.set)
    assert woken.wait(10)
    assert any(thread.name.startswith("source ") for thread in threading.enumerate())
    source.stop()
    assert not any(thread.name.startswith("source ") for thread in threading.enumerate())

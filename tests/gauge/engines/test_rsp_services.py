"""An engine behind RSP Services: a real server on this machine that speaks the interface, asked over the network."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pyoxigraph as ox
import pytest

from hydrograph.errors import DataError, QueryError, UnsupportedError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.engines.oxigraph import IncrementalOxigraph
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.protocol import Answer
from hydrograph_gauge.engines.rsp_services import EVENT_TIME, rows_of
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, run_session
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import AsFastAsTaken
from tests.support.judge_answers import outcome_of

STREAM = Iri("http://example.org/s")
TEXT = """PREFIX : <http://example.org/>
SELECT ?o ?v ?room FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s] WHERE { WINDOW :w { ?o :value ?v } ?o :in ?room }"""
ELEMENTS = [
    Element.of(300 * n, n, Triple(Iri(f"urn:o{n % 3}"), Iri("http://example.org/value"), Literal(f'"{n}"\n')))
    for n in range(20)
]
ROOM = Triple(Iri("urn:o1"), Iri("http://example.org/in"), Iri("urn:room"))


class Server(ThreadingHTTPServer):
    """A store with windows behind RSP Services."""

    def __init__(self, folder: Path) -> None:
        """Start without streams."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine = IncrementalOxigraph()
        self.folder = folder
        self.streams: set[str] = set()
        self.queries: set[str] = set()
        self.observers: dict[str, list[str]] = {}
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_PUT(self) -> None:
        kind, name, body = self._read()
        if kind == "streams":
            self.server.streams.add(name)
            return self._say(201)
        if name in self.server.queries:
            return self._say(409, f"{name} is there already")
        try:
            self.server.engine.register(name, body.decode())
        except UnsupportedError as error:
            return self._say(501, str(error))
        except QueryError as error:
            return self._say(500 if b"INTERNAL" in body else 400, str(error))
        self.server.queries.add(name)
        return self._say(201)

    def do_POST(self) -> None:
        kind, name, body = self._read()
        engine = self.server.engine
        with self.server.lock:
            if kind == "kb":
                file = self.server.folder / "kb.nt"
                file.write_bytes(body)
                engine.load(str(file), None)
            elif kind == "queries":
                self.server.observers.setdefault(name.removesuffix("/observers"), []).append(body.decode())
            elif name not in self.server.streams:
                return self._say(404, f"no stream {name}")
            else:
                triples = tuple(body.decode().splitlines())
                self._push(list(engine.send(name, int(self.headers[EVENT_TIME]), triples)))
        return self._say(200)

    def do_DELETE(self) -> None:
        kind, name, _ = self._read()
        with self.server.lock:
            if kind == "streams":
                self.server.streams.discard(name)
                self._push(list(self.server.engine.end()))
            else:
                self.server.queries.discard(name)
                self.server.observers.pop(name, None)
                self.server.engine.unregister(name)
        self._say(200)

    def _push(self, answers: list[object]) -> None:
        for answer in answers:
            if not isinstance(answer, Answer):
                continue
            bindings = [{name: json_of(text) for name, text in row.items()} for row in answer.rows]
            body = json.dumps({"head": {"vars": []}, "results": {"bindings": bindings}}).encode()
            for observer in self.server.observers.get(answer.query, []):
                request = urllib.request.Request(observer, body, {EVENT_TIME: str(answer.t)})
                urllib.request.urlopen(request, timeout=10).close()

    def _read(self) -> tuple[str, str, bytes]:
        _, kind, *rest = self.path.partition("?")[0].split("/")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return kind, unquote("/".join(rest)), body

    def _say(self, status: int, words: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(words.encode())))
        self.end_headers()
        self.wfile.write(words.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def json_of(text: str) -> dict[str, str]:
    term = next(iter(ox.parse(f"<urn:s> <urn:p> {text} .".encode(), format=ox.RdfFormat.N_TRIPLES))).object
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    assert isinstance(term, ox.Literal)
    return {"type": "literal", "value": term.value, "datatype": term.datatype.value}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


def task(text: str, static: dict[str | None, str]) -> SessionInput:
    return SessionInput(
        {"q 1/2": EngineQuery(text, ("o", "v", "room"))}, {STREAM: ELEMENTS}, {STREAM: AsFastAsTaken()}, static
    )


def rooms(folder: Path) -> str:
    file = folder / "rooms.nt"
    file.write_text("<urn:o1> <http://example.org/in> <urn:room> .\n")
    return str(file)


def test_answers_come_over_the_network(address: str, tmp_path: Path) -> None:
    file = rooms(tmp_path)
    found = run_session(
        registry.start_command(f"rsp-services:{address}?settle=0.5"), task(TEXT, {None: file}), Limits(60)
    )
    assert found.outcomes == {}
    due = evaluate_reports(parse(TEXT), {STREAM: ELEMENTS}, StaticData(frozenset({ROOM})))
    total = outcome_of(due, found.blocks["q 1/2"])
    assert total.windows == total.right
    assert total.non_empty > 4


UNSUPPORTED = "SELECT ?o FROM NAMED WINDOW <urn:w> ON <urn:s> [ELEMENTS 3] WHERE { WINDOW <urn:w> { ?o ?p ?q } }"
BROKEN = "SELECT ?o FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 3s WHERE { WINDOW <urn:w> { ?o ?p ?q } }"


@pytest.mark.parametrize(
    ("asked", "options", "verdict", "words"),
    [
        (UNSUPPORTED, "", Verdict.NOT_SUPPORTED, "501 only time windows"),
        (BROKEN, "", Verdict.SYNTAX_ERROR, "PUT /queries/q%201%2F2: 400 line 1, column"),
        (f"{BROKEN} # INTERNAL", "", Verdict.RUNTIME_ERROR, "500 line 1, column"),
        (f"{BROKEN} # INTERNAL", "?syntax=column+%5Cd", Verdict.SYNTAX_ERROR, "500 line 1, column"),
        (UNSUPPORTED, "?syntax=windows&unsupported=$^", Verdict.SYNTAX_ERROR, "501 only time windows"),
    ],
)
def test_a_query_that_is_refused(address: str, asked: str, options: str, verdict: Verdict, words: str) -> None:
    """The words are the engine's, also where the text is none that could be read here."""
    name = f"rsp-services:{address}{options}"
    found = run_session(registry.start_command(name), task(asked, {}), Limits(60)).outcomes["q 1/2"]
    assert (found.verdict, found.phase) == (verdict, Phase.REGISTRATION)
    assert words in found.words


def test_nothing_is_left_at_the_engine(server: Server, address: str) -> None:
    for _ in range(2):  # the second run finds the names free
        found = run_session(registry.start_command(f"rsp-services:{address}?settle=0.1"), task(TEXT, {}), Limits(60))
        assert found.outcomes["q 1/2"].verdict is Verdict.NO_ANSWER
        assert (server.queries, server.streams, server.observers) == (set(), set(), {})


def test_nothing_is_left_after_a_failure(server: Server, address: str) -> None:
    """The engine answers something else than what was asked for, so the run is over before its end."""
    asked = SessionInput(
        {"q": EngineQuery(TEXT, ())}, {STREAM: ELEMENTS}, {STREAM: AsFastAsTaken()}, {None: rooms(server.folder)}
    )
    found = run_session(registry.start_command(f"rsp-services:{address}?settle=0.1"), asked, Limits(60))
    assert found.outcomes["q"].verdict is Verdict.RUNTIME_ERROR
    assert (server.queries, server.streams) == (set(), set())


def test_what_an_ended_run_has_left_is_replaced(server: Server, address: str) -> None:
    server.queries.add("q 1/2")
    file = rooms(server.folder)
    found = run_session(
        registry.start_command(f"rsp-services:{address}?settle=0.5"), task(TEXT, {None: file}), Limits(60)
    )
    assert found.outcomes == {}


def test_nobody_at_the_address() -> None:
    found = run_session(registry.start_command("rsp-services:http://127.0.0.1:9"), task(TEXT, {}), Limits(60)).outcomes[
        "q 1/2"
    ]
    assert found.verdict is Verdict.RUNTIME_ERROR
    assert "http://127.0.0.1:9 does not answer" in found.words


def test_terms_of_results() -> None:
    typed = {"type": "typed-literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
    said = {"type": "literal", "value": 'a"b', "xml:lang": "en"}
    row = {"x": {"type": "uri", "value": "urn:x"}, "b": {"type": "bnode", "value": "b0"}, "n": typed, "s": said}
    assert rows_of(json.dumps({"results": {"bindings": [row]}}).encode()) == (
        {"x": "<urn:x>", "b": "_:b0", "n": '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', "s": '"a\\"b"@en'},
    )
    with pytest.raises(DataError, match="expected SPARQL results"):
        rows_of(b"<results/>")

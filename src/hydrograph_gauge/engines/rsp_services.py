"""An engine behind RSP Services, the REST interface of C-SPARQL and others.

    python -m hydrograph_gauge.engines.rsp_services http://localhost:8175

Streams are put to `/streams/NAME`, queries to `/queries/NAME`; static data is posted to `/kb`, elements to streams.
The engine posts its answers to an observer here, as SPARQL results in JSON. Event times go in the header
`Event-Time`, in milliseconds, both ways; engines that go by the clock have no use for them.

The engine outlives this client, so its queries and streams are deleted at the end.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from hydrograph.errors import DataError, QueryError, RunError
from hydrograph.language import parse
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Literal
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph_gauge.engines.adapter import ForeignQueryError, RefusalReason, Replies, classify_refusal, serve
from hydrograph_gauge.engines.protocol import Answer, Finished

EVENT_TIME = "Event-Time"
_LOOK = 0.02  # seconds between two looks for answers
_SETTLE = 2.0  # seconds without an answer after which no more is expected
_PATIENCE = 60.0
_BAD_REQUEST = 400
_CONFLICT = 409
_NOT_IMPLEMENTED = 501


class RspServices:
    """Client of an engine, with a small server that receives its answers."""

    def __init__(self, url: str) -> None:
        """Listen for answers.

        Behind the address, `?settle=SECONDS` is the time to wait for the last ones, and `syntax=` and `unsupported=`
        are regular expressions that tell the engine's words for such refusals where its status does not.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise RunError(f"expected an address such as http://localhost:8175, got {url!r}")
        self._base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        given = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self._settle = float(given.get("settle", _SETTLE))
        self._syntax, self._unsupported = given.get("syntax"), given.get("unsupported")
        self._came: queue.SimpleQueue[Answer | RunError] = queue.SimpleQueue()
        self._streams: set[str] = set()
        self._queries: dict[str, None] = {}
        self._reads_any = False
        """Whether a query is registered whose streams are unknown."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _observer(self._came))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def load(self, file: str, graph: str | None) -> None:
        """Post static data."""
        where = "/kb" if graph is None else f"/kb?graph={quote(graph, safe='')}"
        self._ask("POST", where, Path(file).read_bytes(), "application/n-triples")

    def register(self, name: str, text: str) -> None:
        """Put the streams of a query, the query, and an observer of it."""
        try:
            streams = [window.stream.value for window in parse(text).windows]
        except QueryError:
            streams = []  # whether the text is right is for the engine to say
            self._reads_any = True
        for stream in streams:
            self._put_stream(stream)
        path = _query_path(name)
        try:
            self._put_query(path, text.encode())
        except _RefusedError as refused:
            raise ForeignQueryError(self._why(refused), str(refused)) from None
        self._queries[name] = None
        port = self._server.server_address[1]
        self._ask("POST", f"{path}/observers", f"http://127.0.0.1:{port}/{quote(name, safe='')}".encode(), "text/plain")

    def _put_stream(self, stream: str) -> None:
        if stream not in self._streams:
            self._ask("PUT", f"/streams/{quote(stream, safe='')}")
            self._streams.add(stream)

    def _put_query(self, path: str, text: bytes) -> None:
        try:
            self._ask("PUT", path, text, "text/plain")
        except _RefusedError as refused:
            if refused.status != _CONFLICT:
                raise
            self._ask("DELETE", path)  # of a run that was ended before it could clean up
            self._ask("PUT", path, text, "text/plain")

    def _why(self, refused: _RefusedError) -> RefusalReason:
        found = classify_refusal(str(refused), self._syntax, self._unsupported)
        if found == "error" and refused.status == _NOT_IMPLEMENTED:
            return "unsupported"
        return "syntax" if found == "error" and refused.status == _BAD_REQUEST else found

    def unregister(self, name: str) -> None:
        """Delete a query."""
        self._queries.pop(name, None)
        self._ask("DELETE", _query_path(name))

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Post an element to its stream."""
        if self._reads_any:
            self._put_stream(stream)
        if stream in self._streams:
            body = "".join(f"{triple}\n" for triple in triples).encode()
            self._ask("POST", f"/streams/{quote(stream, safe='')}", body, "application/n-triples", t)
        return self.tick()

    def end(self) -> Replies:
        """Delete the streams, which ends them, and wait until nothing more comes."""
        for stream in sorted(self._streams):
            self._ask("DELETE", f"/streams/{quote(stream, safe='')}")
            self._streams.remove(stream)
        last = time.monotonic()
        while time.monotonic() - last < self._settle:
            for answer in self.tick():
                last = time.monotonic()
                yield answer
            time.sleep(_LOOK)

    def due(self) -> float | None:
        """Look for answers again soon."""
        return _LOOK

    def tick(self) -> Replies:
        """Return the answers that have arrived."""
        while not self._came.empty():
            answer = self._came.get()
            if isinstance(answer, RunError):
                raise answer
            yield answer
            yield Finished(query=answer.query)

    def close(self) -> None:
        """Delete remaining queries and streams, as after a run that was aborted."""
        for path in [*map(_query_path, self._queries), *(f"/streams/{quote(each, safe='')}" for each in self._streams)]:
            with suppress(RunError):
                self._ask("DELETE", path)
        self._server.shutdown()
        self._server.server_close()

    def _ask(self, method: str, path: str, body: bytes = b"", kind: str = "text/plain", t: int | None = None) -> bytes:
        headers = {"Content-Type": kind} | ({} if t is None else {EVENT_TIME: str(t)})
        request = urllib.request.Request(self._base + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as response:
                said: bytes = response.read()
                return said
        except urllib.error.HTTPError as error:
            with error:
                words = error.read().decode("utf-8", "replace").strip() or error.reason
            raise _RefusedError(error.code, f"{method} {path}: {error.code} {words}") from None
        except OSError as error:
            raise RunError(f"{self._base} does not answer: {error}") from None


def _query_path(name: str) -> str:
    return f"/queries/{quote(name, safe='')}"


class _RefusedError(RunError):
    """The engine said no."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def _observer(came: queue.SimpleQueue[Answer | RunError]) -> type[BaseHTTPRequestHandler]:
    """Return a handler that takes answers, each posted to the name of its query."""

    class Observer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            name = unquote(self.path.lstrip("/"))
            given = self.headers.get(EVENT_TIME)
            try:
                came.put(Answer(query=name, rows=rows_of(body), t=None if given is None else int(given)))
                status = 200
            except (DataError, ValueError) as error:
                came.put(RunError(f"an answer that is none: {error}"))
                status = 400
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Observer


def rows_of(body: bytes) -> tuple[dict[str, str], ...]:
    """Return the rows of SPARQL results in JSON, terms as in N-Triples, or raise DataError."""
    try:
        found: dict[str, Any] = json.loads(body)
        bindings = found["results"]["bindings"]
        return tuple({name: _term(each) for name, each in row.items()} for row in bindings)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise DataError(f"expected SPARQL results in JSON, got {body[:80]!r}: {error}") from None


def _term(given: dict[str, str]) -> str:
    match given["type"]:
        case "uri":
            return f"<{given['value']}>"
        case "bnode":
            return f"_:{given['value']}"
        case "literal" | "typed-literal" if "xml:lang" in given:
            return term_text(Literal.tagged(given["value"], given["xml:lang"]))
        case "literal" | "typed-literal":
            return term_text(Literal(given["value"], given.get("datatype", XSD_STRING)))
        case other:
            raise DataError(f"expected uri, bnode or literal, got {other!r}")


if __name__ == "__main__":
    with closing(RspServices(sys.argv[1])) as services:
        serve(services)

"""Metrics endpoint in the text format of Prometheus, on the loopback address only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_ABOUT = {
    "batch": ("counter", "batches committed"),
    "triples": ("counter", "triples read since the start of this process"),
    "restarts": ("counter", "restarts of the Spark streaming query since the start of this process"),
    "triples_per_second": ("gauge", "triples read per second, recently"),
}
_ABOUT_QUERY = {
    "reports": ("counter", "reports emitted"),
    "watermark": ("gauge", "event time up to which the input is complete, in milliseconds"),
    "lag_ms": ("gauge", "event time between the newest element and the last report"),
    "used": ("counter", "elements on time for all of their windows"),
    "outside": ("counter", "elements in no window"),
    "late_partial": ("counter", "elements late for some of their windows"),
    "late_dropped": ("counter", "elements late for all of their windows"),
    "rejected": ("counter", "elements that could not be parsed"),
    "quarantined": ("gauge", "elements held back because of an implausible event time"),
    "state_rows": ("gauge", "rows of the window state in memory"),
}


def metrics_text(status: Mapping[str, Any]) -> str:
    """Return a status in the text format of Prometheus; shared figures have the name of the founding query."""
    shared = {str(status["query"]): status}
    lines = [line for key, about in _ABOUT.items() for line in _lines(key, *about, shared)]
    lines += [line for key, about in _ABOUT_QUERY.items() for line in _lines(key, *about, status["queries"])]
    full = "hydrograph_step_milliseconds"
    lines += [f"# HELP {full} milliseconds of each step of the last batch", f"# TYPE {full} gauge"]
    label, spent = _label(status["query"]), status["milliseconds"]
    lines += [f'{full}{{{label},step="{step}"}} {value}' for step, value in spent.items()]
    return "\n".join(lines) + "\n"


def _lines(key: str, kind: str, about: str, by_query: Mapping[str, Mapping[str, Any]]) -> list[str]:
    full = f"hydrograph_{key}" + ("_total" if kind == "counter" else "")
    known = {name: each[key] for name, each in by_query.items() if each.get(key) is not None}
    values = [f"{full}{{{_label(name)}}} {value}" for name, value in known.items()]
    return [f"# HELP {full} {about}", f"# TYPE {full} {kind}", *values] if values else []


def _label(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'query="{escaped}"'


class MetricsServer:
    """HTTP server that answers `GET /metrics` on the loopback address."""

    def __init__(self, status: Callable[[], Mapping[str, Any]], port: int) -> None:
        """Listen on a port; 0 takes a free one."""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path != "/metrics":
                    self.send_error(404)
                    return
                body = metrics_text(status()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = int(self.server.server_address[1])
        threading.Thread(target=self.server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Stop the server."""
        self.server.shutdown()
        self.server.server_close()

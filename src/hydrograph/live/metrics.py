"""What Prometheus asks for, on this machine only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hydrograph.live.progress import STEPS

_ABOUT = {
    "batch": ("counter", "batches worked off"),
    "triples": ("counter", "triples taken since the start of this process"),
    "restarts": ("counter", "times that Spark had to be asked again to read, since the start of this process"),
    "triples_per_second": ("gauge", "triples taken per second, lately"),
}
_ABOUT_QUERY = {
    "reports": ("counter", "reports given out"),
    "watermark": ("gauge", "event time up to which everything is known, in milliseconds"),
    "lag_ms": ("gauge", "event time between the newest element and the last report"),
    "used": ("counter", "elements that counted everywhere"),
    "outside": ("counter", "elements in no window"),
    "late_partial": ("counter", "elements that came too late for some of their windows"),
    "late_dropped": ("counter", "elements that came too late for all of their windows"),
    "rejected": ("counter", "elements that could not be read"),
    "quarantined": ("gauge", "elements whose time is not believed yet"),
    "state_rows": ("gauge", "rows in memory"),
}


def metrics_text(status: Mapping[str, Any]) -> str:
    """Return a status in the text format of Prometheus: what queries share under the name they were started with."""
    shared = {str(status["query"]): status}
    lines = [line for key, about in _ABOUT.items() for line in _lines(key, *about, shared)]
    lines += [line for key, about in _ABOUT_QUERY.items() for line in _lines(key, *about, status["queries"])]
    full = "hydrograph_step_milliseconds"
    lines += [f"# HELP {full} milliseconds of each step of the last batch", f"# TYPE {full} gauge"]
    label, spent = _label(status["query"]), status["milliseconds"]
    lines += [f'{full}{{{label},step="{step}"}} {spent[step]}' for step in STEPS if step in spent]
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
    """Answers `GET /metrics` on the loopback address."""

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
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

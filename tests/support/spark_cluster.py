"""A small Spark cluster on this machine, from the installed package: a master, and workers that join and leave."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from hydrograph.errors import RunError
from hydrograph.runtime.java import find_java

_HOST = "127.0.0.1"
_PATIENCE = 60.0


@dataclass(slots=True)
class Cluster:
    """A master and its workers, below one directory; a context manager."""

    root: Path
    workers: list[subprocess.Popen[bytes]] = field(init=False, default_factory=list)
    _master: subprocess.Popen[bytes] = field(init=False)
    _port: int = field(init=False)
    _page: int = field(init=False)

    def __enter__(self) -> Self:
        """Start the master."""
        self._port, self._page = _free_port(), _free_port()
        self._master = self._start(
            "master.Master", "--host", _HOST, "--port", str(self._port), "--webui-port", str(self._page)
        )
        self._until(lambda: self.alive() is not None, "the master to answer")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everybody."""
        for process in (*self.workers, self._master):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @property
    def url(self) -> str:
        """What `--master` is given."""
        return f"spark://{_HOST}:{self._port}"

    def join(self) -> subprocess.Popen[bytes]:
        """Let one more worker of one core and 1 GiB join; return it when the master knows it."""
        known = self.alive() or 0
        work = str(self.root / f"work{len(self.workers)}")
        worker = self._start(
            *("worker.Worker", "--host", _HOST, "--cores", "1", "--memory", "1g", "--work-dir", work),
            *("--webui-port", str(_free_port()), self.url),
        )
        self.workers.append(worker)
        self._until(lambda: (self.alive() or 0) > known, "the worker to join")
        return worker

    def leave(self, worker: subprocess.Popen[bytes]) -> None:
        """Let a worker leave at once, with the executors that it runs."""
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def alive(self) -> int | None:
        """Return how many workers the master believes to be there; None while it does not answer."""
        return None if (said := self._said()) is None else int(said["aliveworkers"])

    def executors(self) -> int:
        """Return how many cores the applications that run have."""
        said = self._said()
        return 0 if said is None else int(said["coresused"])

    def _said(self) -> dict[str, int] | None:
        try:
            with urllib.request.urlopen(f"http://{_HOST}:{self._page}/json/", timeout=5) as answer:
                found: dict[str, int] = json.load(answer)
        except OSError:
            return None  # it is just starting
        return found

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "JAVA_HOME": str(find_java()),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": _HOST,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
        said = (self.root / f"{name}-{time.monotonic_ns()}.log").open("wb")
        with said:
            # A group of its own: the executors of a worker leave with it.
            return subprocess.Popen(
                command, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _until(self, happens: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + _PATIENCE
        while not happens():
            if time.monotonic() > until:
                logs = "\n".join(path.read_text()[-1000:] for path in sorted(self.root.glob("*.log")))
                raise RunError(f"waited {_PATIENCE:.0f} s for {what}\n{logs}")
            time.sleep(0.2)


def _free_port() -> int:
    with socket.create_server((_HOST, 0)) as server:
        return int(server.getsockname()[1])

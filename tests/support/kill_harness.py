"""Kill harness: real processes killed at failpoints, over a growing directory; the results are compared with replay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from hydrograph import api
from hydrograph.errors import UsageError
from hydrograph.live.failpoints import VARIABLE
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.status import read_status
from hydrograph.live.storage.files import LocalFiles

STRUCK = "hydrograph: struck"
"""Message of a driver that kills another process."""
STREAM = "http://example.org/visits"
QUERY = """
PREFIX : <http://example.org/>
REGISTER ISTREAM :rooms AS
SELECT ?a ?b ?room FROM NAMED WINDOW :w ON :visits [RANGE 4s STEP 1s]
WHERE { WINDOW :w { ?a :detectedAt ?room . ?b :detectedAt ?room FILTER(STR(?a) < STR(?b)) } }
"""


@dataclass(slots=True)
class Site:
    """A query, its directory and what its drivers leave."""

    root: Path
    seed: int
    files: int = 24
    kills: int = field(init=False, default=0)
    ready: list[float] = field(init=False, default_factory=list)
    """Seconds that each driver took from its start until it answered; those that died before that are not in it."""
    lines: list[str] = field(init=False, default_factory=list)
    _given: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Draw the stream; files are given out one by one."""
        rng = Random(self.seed)
        for number in range(self.files * 10):
            t = number * 120 + rng.randrange(-150, 150)
            who, where = rng.randrange(6), rng.randrange(3)
            names = [f"<http://example.org/{name}>" for name in (f"p{who}", "detectedAt", f"r{where}")]
            self.lines.append(f"{max(0, t)}\t{' '.join(names)} .\n")
        (self.root / "in").mkdir()
        (self.root / "query.rq").write_text(QUERY)

    def give(self, number: int) -> None:
        """Let so many files appear."""
        for _ in range(number):
            if self._given < self.files:
                part = self.root / "in" / f"_{self._given:04d}.tnt"
                part.write_text("".join(self.lines[self._given * 10 : (self._given + 1) * 10]))
                part.rename(part.with_name(part.name[1:]))
                self._given += 1
        if self._given == self.files:
            (self.root / "in" / "_END").touch()

    @property
    def given(self) -> int:
        """How many files there are."""
        return self._given

    @property
    def begun(self) -> int:
        """The number of the last batch that has been begun; 0 before the first."""
        files = (self.root / "checkpoint" / "batches").glob("*.begin")
        return max((int(file.name.partition(".")[0]) for file in files), default=0)

    def answers(self, pid: int) -> bool:
        """Tell whether a driver runs and has said so in its status."""
        try:
            return int(read_status(str(self.root / "checkpoint"))["pid"]) == pid
        except UsageError:
            return False  # no driver has run here yet

    def await_answer(self, driver: subprocess.Popen[str]) -> None:
        """Note how long a driver takes until it answers; nothing if it ends before."""
        started = time.monotonic()
        while not self.answers(driver.pid):
            if driver.poll() is not None:
                return
            time.sleep(0.1)
        self.ready.append(time.monotonic() - started)

    def command(self, *options: str, stream: str = "in") -> list[str]:
        """Return the command of a driver."""
        return [
            *(
                sys.executable,
                "-m",
                "hydrograph",
                "run",
                "--follow",
                "-f",
                "query.rq",
                "--stream",
                f"{STREAM}={stream}",
            ),
            *("--checkpoint", "checkpoint", "--results", "results", "--lateness", "300", *options),
        ]

    def driver(
        self, fail: str | None = None, *options: str, stream: str = "in", first: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a driver; `fail` is the failpoint, `first` are further environment variables."""
        environment = {**os.environ, **(first or {}), **({VARIABLE: fail} if fail else {})}
        return subprocess.Popen(
            self.command(*options, stream=stream),
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        fail: str | None = None,
        *options: str,
        once: bool = False,
        stream: str = "in",
        first: Mapping[str, str] | None = None,
        patience: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a driver until it dies, or the stream ends; `once` ends it after some seconds if it does neither."""
        started = self.driver(fail, *(options or ("--placement", "local")), stream=stream, first=first)
        watch = threading.Thread(target=self.await_answer, args=(started,))
        watch.start()
        try:
            out, err = started.communicate(timeout=20 if once else patience)
        except subprocess.TimeoutExpired:
            started.terminate()
            out, err = started.communicate(timeout=30)
        watch.join()
        ran = subprocess.CompletedProcess(started.args, started.returncode, out, err)
        if ran.returncode == -signal.SIGKILL:
            self.kills += 1
        return ran

    def found(self) -> list[str]:
        """Return the units that stand."""
        return [text for _, text in read_units(LocalFiles(self.root / "results"))]

    def expected(self) -> list[str]:
        """Return what replay gives."""
        recorded = self.root / "all.tnt"
        recorded.write_text("".join(self.lines))
        query = api.query(QUERY)
        with query.over({STREAM: str(recorded)}, placement="local") as run:
            return [report.json(query.algebra.name or "query") for report in run.reports()]

    def lost_and_doubled(self) -> tuple[int, int]:
        """Return how many units are missing, and how many stand more than once or should not stand at all."""
        found, expected = Counter(self.found()), Counter(self.expected())
        return (expected - found).total(), (found - expected).total()

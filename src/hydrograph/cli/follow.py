"""Live part of `hydrograph run`: a query on unbounded streams, until they end or it is stopped."""

from __future__ import annotations

import signal
import sys
import tempfile
import time as clock
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import click

from hydrograph import api
from hydrograph.cli.options import Decorator, option_group
from hydrograph.errors import UsageError
from hydrograph.live.metrics import MetricsServer
from hydrograph.live.query import LiveQuery
from hydrograph.live.settings import Driver, ProgressTracking
from hydrograph.live.step.records import ResultUnit
from hydrograph.streams.static_graphs import StaticGraphs

_LINE_EVERY = 0.5
"""Seconds between two updates of the status line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOptions:
    """The options of `--follow`."""

    checkpoint: str | None
    results: str | None
    lateness: int
    idle: float | None
    max_ahead: int | None
    metrics: int | None
    driver: str
    progress: str
    sync: bool


def _option(name: str, text: str, **how: Any) -> Decorator:
    return click.option(f"--{name}", help=f"With --follow: {text}", **how)


_OPTIONS = (
    click.option("--follow", is_flag=True, help="Run until the streams end, on live sources."),
    _option("checkpoint", "directory from which a restart resumes.", metavar="DIR|URL"),
    _option("results", "directory that gets every report exactly once.", metavar="DIR|URL"),
    _option("lateness", "how long to wait for late elements.", type=int, default=0, metavar="MS"),
    _option("idle", "seconds of silence after which a stream is not waited for.", type=float, metavar="S"),
    _option("max-ahead", "hold back elements further in the future than this.", type=int, metavar="MS"),
    _option("metrics", "serve Prometheus metrics on this port of this machine.", type=int, metavar="PORT"),
    _option(
        "driver",
        "what reads the sources; spark is Structured Streaming.",
        type=click.Choice([each.value for each in Driver]),
        default=Driver.LOOP.value,
    ),
    _option(
        "progress",
        "whether Spark commits its own progress after the batches, or with each.",
        type=click.Choice([each.value for each in ProgressTracking]),
        default=ProgressTracking.ASYNC.value,
    ),
    _option("sync", "flush each write to the disk; survives a power failure.", is_flag=True),
)


def _follow(*, follow: bool, **options: Any) -> FollowOptions | None:
    if follow:
        return FollowOptions(**options)
    defaults = {"lateness": 0, "driver": Driver.LOOP, "progress": ProgressTracking.ASYNC, "sync": False}
    for name, value in options.items():
        if value != defaults.get(name):
            raise UsageError(f"--{name.replace('_', '-')} is for live queries: add --follow")
    return None


follow_options = option_group("follow", _OPTIONS, _follow)
"""Adds the options of live queries; the command gets `FollowOptions`, or None without `--follow`."""


def follow_query(
    query: api.Query,
    follow: FollowOptions,
    streams: Sequence[tuple[str, str]],
    static: StaticGraphs,
    *,
    t0: int | None,
    bad: str,
    **where: Any,
) -> None:
    """Run a live query; reports go to standard output too, unless `--results` is given.

    `where` is the placement, Spark's master and its memory.
    """
    if bad not in ("fail", "skip"):
        raise UsageError(f"expected fail or skip for the broken input of a live query, got {bad}")
    with ExitStack() as stack:
        checkpoint = follow.checkpoint
        if checkpoint is None:
            checkpoint = stack.enter_context(tempfile.TemporaryDirectory(prefix="hydrograph-checkpoint-"))
            click.echo("hydrograph: no --checkpoint: after a restart the query starts from scratch", err=True)
        live = query.live(
            streams,
            static,
            checkpoint=checkpoint,
            results=follow.results,
            lateness=follow.lateness,
            idle=follow.idle,
            max_ahead=follow.max_ahead,
            on_unit=None if follow.results is not None else _print,
            t0=t0,
            bad=bad,
            sync=follow.sync,
            driver=follow.driver,
            progress=follow.progress,
            **where,
        )
        if follow.metrics is not None:
            server = MetricsServer(live.status, follow.metrics)
            stack.callback(server.close)
            click.echo(f"hydrograph: metrics on http://127.0.0.1:{server.port}/metrics", err=True)
        _until_over(live)


def _print(unit: ResultUnit) -> None:
    sys.stdout.write(f"{unit.text}\n")
    sys.stdout.flush()


def _until_over(live: LiveQuery) -> None:
    """Run in the background, show the status, and stop in good order on SIGTERM."""
    terminated = False

    def terminate(*_: object) -> None:
        nonlocal terminated
        terminated = True

    before = signal.signal(signal.SIGTERM, terminate)
    shown = sys.stderr.isatty()
    notices = _Notices()
    try:
        live.launch()
        while not live.wait(_LINE_EVERY if shown else 0.1) and not terminated:
            notices.print(live.paused, live.restarts)
            if shown:
                click.echo(f"\r\x1b[2K{status_line(live.status())}", err=True, nl=False)
    finally:
        signal.signal(signal.SIGTERM, before)
        if shown:
            click.echo("\r\x1b[2K", err=True, nl=False)
        live.stop()
        notices.print(live.paused, live.restarts)  # it may have ended right after it resumed
    if live.had_ended:
        click.echo(
            "hydrograph: this checkpoint's streams have ended; use a new --checkpoint to start over",
            err=True,
        )
    status = live.status()
    if shown or any(status[name] for name in ("late_partial", "late_dropped", "rejected", "quarantined")):
        click.echo(f"hydrograph: {status_line(status)}", err=True)


class _Notices:
    """Notices on standard error: the query waits for disk space, resumes, or Spark was restarted."""

    paused = False
    restarts = 0

    def print(self, pause: str | None, restarts: Sequence[str]) -> None:
        """Print what has changed since the last call."""
        for reason in restarts[self.restarts :]:
            click.echo(f"hydrograph: {reason}", err=True)
            self.restarts += 1
        if pause is not None and not self.paused:
            click.echo(f"hydrograph: paused: {pause}; it resumes by itself when there is space", err=True)
        elif pause is None and self.paused:
            click.echo("hydrograph: there is space again, the query has resumed", err=True)
        self.paused = pause is not None


def status_line(status: dict[str, Any]) -> str:
    """Return a status as one line."""
    late = status["late_partial"] + status["late_dropped"]
    spent = status["milliseconds"]
    lag = "-" if status["lag_ms"] is None else f"{status['lag_ms']} ms"
    return (
        f"{status['query']}: {status['reports']} reports, {status['triples_per_second']:,.0f} triples/s, lag {lag}, "
        f"{late} late, {status['rejected']} rejected, {status['quarantined']} quarantined, "
        f"{status['state_rows']:,} rows, last batch {sum(spent.values()) - spent.get('wait', 0.0):.1f} ms"
    )


def age(status: dict[str, Any]) -> float:
    """Return how many seconds ago a status was written."""
    return max(0.0, clock.time() - float(status["written"]))

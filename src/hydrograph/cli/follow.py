"""`hydrograph run --follow`: a query on unbounded streams, until they end or somebody stops it."""

from __future__ import annotations

import signal
import sys
import tempfile
import time as clock
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

import click

from hydrograph import api
from hydrograph.errors import UsageError
from hydrograph.live.metrics import MetricsServer
from hydrograph.live.query import LiveQuery
from hydrograph.live.settings import Driver, Tracking
from hydrograph.live.step.units import Unit
from hydrograph.streams.static import StaticGraphs

F = TypeVar("F", bound=Callable[..., Any])
_LINE_EVERY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """What is asked for with `--follow`."""

    checkpoint: str | None
    results: str | None
    lateness: int
    idle: float | None
    max_ahead: int | None
    metrics: int | None
    driver: str
    progress: str
    sync: bool


def follow_options(function: F) -> F:
    """Add the options of live queries; they are given as one record, None without `--follow`."""
    options = [
        click.option("--follow", is_flag=True, help="Go on as data comes: streams are URLs or growing directories."),
        click.option("--checkpoint", metavar="DIR|URL", help="With --follow: where the query keeps its place."),
        click.option("--results", metavar="DIR|URL", help="With --follow: where units go, each exactly once."),
        click.option(
            "--lateness", type=int, default=0, metavar="MS", help="With --follow: wait so long for late data."
        ),
        click.option("--idle", type=float, metavar="S", help="With --follow: seconds of silence to wait for a stream."),
        click.option(
            "--max-ahead", type=int, metavar="MS", help="With --follow: hold back times further in the future."
        ),
        click.option("--metrics", type=int, metavar="PORT", help="With --follow: answer Prometheus on this machine."),
        click.option(
            "--driver",
            type=click.Choice([each.value for each in Driver]),
            default=Driver.LOOP.value,
            help="With --follow: who reads the sources; spark is Structured Streaming.",
        ),
        click.option(
            "--progress",
            type=click.Choice([each.value for each in Tracking]),
            default=Tracking.ASYNC.value,
            help="With --follow: whether Spark writes its own progress behind the batches, or with each.",
        ),
        click.option("--sync", is_flag=True, help="With --follow: wait for the disk; survives a loss of power."),
    ]

    def wrapped(**given: Any) -> Any:
        names = ("checkpoint", "results", "lateness", "idle", "max_ahead", "metrics", "driver", "progress", "sync")
        record = Follow(**{name: given.pop(name) for name in names})
        follows = given.pop("follow")
        if not follows and (said := _says(record)) is not None:
            raise UsageError(f"{said} is for live queries: say --follow")
        return function(**given, follow=record if follows else None)

    wrapped.__name__ = function.__name__
    wrapped.__doc__ = function.__doc__
    wrapped.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    result: Any = wrapped
    for option in reversed(options):
        result = option(result)
    return result  # type: ignore[no-any-return]


def _says(follow: Follow) -> str | None:
    """Return an option that makes sense only for live queries, if one is given."""
    given = {
        "--checkpoint": follow.checkpoint,
        "--results": follow.results,
        "--lateness": follow.lateness or None,
        "--idle": follow.idle,
        "--max-ahead": follow.max_ahead,
        "--metrics": follow.metrics,
        "--driver": None if follow.driver == Driver.LOOP else follow.driver,
        "--progress": None if follow.progress == Tracking.ASYNC else follow.progress,
        "--sync": follow.sync or None,
    }
    return next((name for name, value in given.items() if value is not None), None)


def live_streams(query: api.Query, options: Sequence[str]) -> list[tuple[str, str]]:
    """Return stream and URL for each `--stream [IRI=]URL`; a stream given twice has two partitions."""
    wanted = list(dict.fromkeys(window.stream.value for window in query.algebra.windows))
    given: list[tuple[str | None, str]] = [_named(option, wanted) for option in options]
    left = [name for name in wanted if name not in {name for name, _ in given}]
    unnamed = [url for name, url in given if name is None]
    if unnamed and len(unnamed) != len(left):
        raise UsageError(
            f"{len(unnamed)} streams are given without an IRI, but the query leaves {len(left)} to fill"
            f"{': ' + ', '.join(left) if left else ''}; write --stream IRI=URL"
        )
    filled = iter(left)
    return [(next(filled) if name is None else name, url) for name, url in given]


def _named(option: str, wanted: Sequence[str]) -> tuple[str | None, str]:
    for name in wanted:
        if option.startswith(f"{name}="):
            return name, option.removeprefix(f"{name}=")
    name, equals, url = option.partition("=")
    if equals and ":" in name and "?" not in name:
        return name, url
    return None, option


def with_options(url: str, options: Mapping[str, str | None]) -> str:
    """Return the URL of a stream with options that are given for all; those that it has itself win.

    >>> with_options("tcp://h:1?end=close&format=trig", {"format": "nquads", "time": "sosa:resultTime"})
    'tcp://h:1?end=close&format=trig&time=sosa%3AresultTime'
    """
    place, _, own = url.partition("?")
    said = dict(parse_qsl(own))
    more = [f"{name}={quote(value)}" for name, value in options.items() if value is not None and name not in said]
    parts = [*([own] if own else []), *more]
    return f"{place}?{'&'.join(parts)}" if parts else place


def follow_query(
    query: api.Query,
    follow: Follow,
    streams: Sequence[str],
    static: StaticGraphs,
    *,
    t0: int | None,
    bad: str,
    format_: str | None,
    time: str | None,
    placement: str,
    master: str | None,
    memory: str | None,
) -> None:
    """Run a live query; units go to standard output too, unless only results are asked for."""
    if bad not in ("fail", "skip"):
        raise UsageError(f"expected fail or skip for the broken input of a live query, got {bad}")
    with ExitStack() as stack:
        checkpoint = follow.checkpoint
        if checkpoint is None:
            checkpoint = stack.enter_context(tempfile.TemporaryDirectory(prefix="hydrograph-checkpoint-"))
            click.echo("hydrograph: without --checkpoint a restart begins anew", err=True)
        meant = {"format": format_, "time": time}
        pairs = [(name, with_options(url, meant)) for name, url in live_streams(query, streams)]
        live = query.live(
            pairs,
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
            placement=placement,
            driver=follow.driver,
            progress=follow.progress,
            master=master,
            memory=memory,
        )
        if follow.metrics is not None:
            server = MetricsServer(live.status, follow.metrics)
            stack.callback(server.close)
            click.echo(f"hydrograph: metrics on http://127.0.0.1:{server.port}/metrics", err=True)
        _until_over(live)


def _print(unit: Unit) -> None:
    sys.stdout.write(f"{unit.text}\n")
    sys.stdout.flush()


def _until_over(live: LiveQuery) -> None:
    """Run in the background, show how it does, and stop in good order when asked to."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True

    before = signal.signal(signal.SIGTERM, ask)
    shown = sys.stderr.isatty()
    news = _News()
    try:
        live.launch()
        while not live.wait(_LINE_EVERY if shown else 0.1) and not asked:
            news.look(live.paused, live.restarts)
            if shown:
                click.echo(f"\r\x1b[2K{live_line(live.status())}", err=True, nl=False)
    finally:
        signal.signal(signal.SIGTERM, before)
        if shown:
            click.echo("\r\x1b[2K", err=True, nl=False)
        live.stop()
        news.look(live.paused, live.restarts)  # it may have come to its end right after it went on
    if live.had_ended:
        click.echo(
            "hydrograph: the streams of this checkpoint had ended, nothing more is read: to begin anew choose another",
            err=True,
        )
    status = live.status()
    if shown or any(status[name] for name in ("late_partial", "late_dropped", "rejected", "quarantined")):
        click.echo(f"hydrograph: {live_line(status)}", err=True)


class _News:
    """Says when a query has to wait for a disk, when it goes on, and when Spark had to be asked again."""

    paused = False
    restarts = 0

    def look(self, words: str | None, restarts: Sequence[str]) -> None:
        """Say what is new."""
        for reason in restarts[self.restarts :]:
            click.echo(f"hydrograph: {reason}", err=True)
            self.restarts += 1
        if words is not None and not self.paused:
            click.echo(f"hydrograph: paused: {words}; it goes on by itself when there is room", err=True)
        elif words is None and self.paused:
            click.echo("hydrograph: there is room again, it goes on", err=True)
        self.paused = words is not None


def live_line(status: dict[str, Any]) -> str:
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

"""The same stream and queries on other engines of the testbed, each in a process of its own, with the player beside it.

Latency is that of `load`: from the hand-over of the first element behind a window to the line with its answer. One
that goes by the clock is asked once a step after its first element; its answers belong to the step that is nearest.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydrograph.errors import RunError
from hydrograph_gauge.engines.process import Engine, EngineStoppedError, Limits, started
from hydrograph_gauge.engines.protocol import (
    Answer,
    End,
    Ended,
    Failed,
    Finished,
    Load,
    Loaded,
    Register,
    Registered,
    Send,
)
from hydrograph_gauge.engines.registry import command
from hydrograph_gauge.engines.verdict import Verdict
from hydrograph_gauge.live_load.load import PREDICATES, QUERIES, STEP, STREAM, WARM, Measured, draws, kinds

ENGINES = ("oxigraph", "oxigraph-periodic")
_QUERY = "asked"
_PATIENCE = 60.0
"""Seconds for an engine to finish after the last element."""


@dataclass(frozen=True, slots=True)
class Part:
    """Elements that are handed over together; all of one instant are one."""

    start: int
    elements: tuple[Send, ...]


@dataclass(slots=True)
class Said:
    """What an engine said."""

    executions: list[tuple[float, int | None, int]] = field(default_factory=list)
    """When each had answered, of which close it was, and with how many rows."""
    failure: EngineStoppedError | None = None


def parts(rate: int, milliseconds: int) -> Iterator[Part]:
    """Return the stream as an engine is told it."""
    for drawn in draws(rate, milliseconds):
        by_time: dict[int, list[str]] = {}
        for t, s, p, o in zip(*(each.tolist() for each in (drawn.t, drawn.s, drawn.p, drawn.o)), strict=True):
            line = f"<urn:bench:n{s}> <urn:bench:{PREDICATES[p]}> <urn:bench:n{o}> ."
            by_time.setdefault(t, []).append(line)
        elements = tuple(Send(stream=STREAM, t=t, triples=tuple(lines)) for t, lines in by_time.items())
        yield Part(drawn.start, elements)


def measure_engine(name: str, query: str, rate: int, seconds: int) -> Measured:
    """Play the stream to one query on an engine, and note when its answers come."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-bench-") as directory:
        static = Path(directory) / "kinds.nt"
        lines = (f"<urn:bench:n{node}> <urn:bench:kind> <urn:bench:k{kind}> .\n" for node, kind in kinds(rate).items())
        static.write_text("".join(lines))
        files = [static] if query == "hybrid" else []
        return played_to(name, QUERIES[query], [*parts(rate, 1000 * seconds)], files)


def played_to(name: str, text: str, stream: Iterable[Part], static: Sequence[Path] = ()) -> Measured:
    """Play parts to an engine when they are due; return how soon it answered."""
    with started(command(name), Limits()) as engine:
        try:
            for file in static:
                _told(engine, Load(file=str(file)), Loaded)
            _told(engine, Register(query=_QUERY, text=text), Registered)
            said = Said()
            listener = threading.Thread(target=_listen, args=(engine, said), daemon=True)
            listener.start()
            measured, given, begin = _hand_over(engine, stream)
            listener.join(_PATIENCE)
        except EngineStoppedError as error:
            raise RunError(f"{name}: {error}") from error
        if said.failure is not None or listener.is_alive():
            raise RunError(f"{name}: {said.failure or f'not at its end {_PATIENCE:.0f} s after the last element'}")
    latencies = []
    for at, t, rows in said.executions:
        close = STEP * round(1000 * (at - begin) / STEP) if t is None else t
        measured.rows += rows
        if close in given and close > WARM["local"]:
            latencies.append(max(0.0, 1000 * (at - given[close])))
    measured.latencies, measured.reports = latencies, len(said.executions)
    return measured


def _hand_over(engine: Engine, stream: Iterable[Part]) -> tuple[Measured, dict[int, float], float]:
    measured = Measured()
    given: dict[int, float] = {}
    begin = time.monotonic()
    for part in stream:
        wait = begin + part.start / 1000 - time.monotonic()
        if wait > 0:
            threading.Event().wait(wait)
        measured.behind = max(measured.behind, -1000 * wait)
        if part.start % STEP == 0:
            given[part.start] = time.monotonic()
        for element in part.elements:
            engine.tell(element)
    measured.seconds = time.monotonic() - begin
    engine.tell(End())
    return measured, given, begin


def _told(engine: Engine, what: Load | Register, wanted: type[Loaded | Registered]) -> None:
    engine.tell(what)
    reply = engine.hear(_PATIENCE).reply
    if not isinstance(reply, wanted):
        raise EngineStoppedError(Verdict.RUNTIME_ERROR, f"expected {wanted.__name__.lower()}, got {reply}")


def _listen(engine: Engine, said: Said) -> None:
    """Hear an engine until it says that it has ended."""
    t: int | None = None
    rows = 0
    try:
        while True:
            heard = engine.hear()
            match heard.reply:
                case Answer() as answer:
                    t, rows = answer.t, rows + len(answer.rows)
                case Finished():
                    said.executions.append((heard.at, t, rows))
                    t, rows = None, 0
                case Failed() as failed:
                    said.failure = EngineStoppedError(Verdict.RUNTIME_ERROR, failed.words)
                case Ended():
                    return
                case other:
                    said.failure = EngineStoppedError(Verdict.RUNTIME_ERROR, f"unexpected reply {other.reply!r}")
    except EngineStoppedError as error:
        said.failure = error

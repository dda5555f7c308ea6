"""Base of an engine adapter in Python: reads commands, executes them, writes replies."""

from __future__ import annotations

import queue
import re
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import BinaryIO, Literal, Protocol, assert_never

from hydrograph.errors import DataError, HydrographError, QueryError, RunError, SyntaxQueryError, UnsupportedError
from hydrograph_gauge.engines.outcome import Origin
from hydrograph_gauge.engines.protocol import (
    Answer,
    End,
    Ended,
    Failed,
    Finished,
    Load,
    Loaded,
    Refused,
    Register,
    Registered,
    Reply,
    Send,
    Stop,
    Taken,
    Unregister,
    Unregistered,
    line_of,
    read_command,
)

Replies = Iterable[Answer | Finished | Failed | Taken]
_ROWS = 20_000
"""Rows of an answer in one line: a line of a million rows is taken for a flood."""
_NOTHING = b"\n"
_TAKEN = 500
"""Elements that are acknowledged together, while more are waiting."""


RefusalReason = Literal["syntax", "unsupported", "error"]
"""Reason of a refusal."""


class ForeignQueryError(QueryError):
    """Refusal of a query by a foreign engine, with its message."""

    def __init__(self, why: RefusalReason, words: str, origin: Origin | None = None) -> None:
        """Keep why."""
        super().__init__(words)
        self.why = why
        self.origin = origin


class AdapterError(RunError):
    """Failure of an adapter, which is not to be charged to the engine behind it."""


class EngineAdapter(Protocol):
    """Engine behind the protocol; the methods from `send` on may return answers."""

    def load(self, file: str, graph: str | None) -> None:
        """Load static data."""

    def register(self, name: str, text: str) -> None:
        """Register a query, or raise QueryError."""

    def unregister(self, name: str) -> None:
        """Forget a query."""

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Take an element."""

    def end(self) -> Replies:
        """Finish what is left."""

    def due(self) -> float | None:
        """Return in how many seconds `tick` wants to be called; None if it does not."""

    def tick(self) -> Replies:
        """Do what is due by the clock."""


class ReportedRows(Protocol):
    """Report of Hydrograph, with rows as terms in N-Triples."""

    @property
    def t(self) -> int:
        """Time of the report."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def rows(self) -> Sequence[Sequence[str | None]]:
        """Rows; None is unbound."""


def report_replies(query: str, report: ReportedRows) -> Replies:
    """Yield the replies for a report."""
    rows = [
        {name: term for name, term in zip(report.variables, row, strict=True) if term is not None}
        for row in report.rows
    ]
    for start in range(0, max(1, len(rows)), _ROWS):
        yield Answer(query=query, rows=tuple(rows[start : start + _ROWS]), t=report.t)
    yield Finished(query=query)


class Wake:
    """Wake-up call for `serve`: other threads call it when they have replies."""

    def __init__(self) -> None:
        """Start with nothing to do."""
        self.waiting: queue.Queue[bytes] = queue.Queue(maxsize=1_000)
        """Waiting commands. The queue is bounded: a client that is too fast is blocked."""

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be done."""
        return self.waiting.empty()

    def __call__(self) -> None:
        """Wake the engine; where commands are waiting it is awake."""
        with suppress(queue.Full):
            self.waiting.put_nowait(_NOTHING)


def serve(
    engine: EngineAdapter,
    source: BinaryIO = sys.stdin.buffer,
    target: BinaryIO = sys.stdout.buffer,
    *,
    wake: Wake | None = None,
    acknowledge: bool = True,
) -> None:
    """Execute commands until `stop` or the end of the input.

    Each element is acknowledged with the time at which the engine took it, unless the engine does that itself.
    """
    waiting = (wake or Wake()).waiting
    taken: list[float] = []
    number = 0
    threading.Thread(target=_read, args=(source, waiting), daemon=True).start()

    def say(replies: Iterable[Reply]) -> None:
        for reply in replies:
            target.write(line_of(reply))
        target.flush()

    while True:
        if taken and (waiting.empty() or len(taken) >= _TAKEN):
            say([Taken(n=number - len(taken), at=tuple(taken))])
            taken.clear()
        try:
            line = waiting.get(timeout=engine.due())
        except queue.Empty:
            line = _NOTHING
        if line == _NOTHING:
            try:
                say(engine.tick())
            except HydrographError as error:
                say([_failed(error)])
            continue
        if not line:
            return
        command = read_command(line)
        if isinstance(command, Stop):
            return
        if acknowledge and isinstance(command, Send) and command.n is not None:
            taken.append(time.time() * 1000)
            number = command.n + 1
        try:
            say(_done(engine, command))
        except HydrographError as error:
            say([_failed(error)])
            if isinstance(command, End):
                say([Ended()])  # otherwise the client would wait for ever


def _failed(error: HydrographError) -> Failed:
    """Return the reply for an error; what an adapter cannot read or do is its own failure."""
    return Failed(
        words=str(error), origin=Origin.ADAPTER if isinstance(error, AdapterError | DataError) else Origin.ENGINE
    )


def _read(source: BinaryIO, waiting: queue.Queue[bytes]) -> None:
    for line in source:
        waiting.put(line)
    waiting.put(b"")


def _done(engine: EngineAdapter, command: Load | Register | Unregister | Send | End) -> Iterable[Reply]:
    """Execute a command and yield its replies."""
    match command:
        case Load():
            engine.load(command.file, command.graph)
            yield Loaded()
        case Register():
            yield _registered(engine, command)
        case Unregister():
            engine.unregister(command.query)
            yield Unregistered(query=command.query)
        case Send():
            yield from engine.send(command.stream, command.t, command.triples)
        case End():
            yield from engine.end()
            yield Ended()
        case _:
            assert_never(command)


def _registered(engine: EngineAdapter, command: Register) -> Registered | Refused:
    try:
        engine.register(command.query, command.text)
    except ForeignQueryError as error:
        return Refused(query=command.query, why=error.why, words=str(error), origin=error.origin)
    except UnsupportedError as error:
        return Refused(query=command.query, why="unsupported", words=str(error))
    except SyntaxQueryError as error:
        return Refused(query=command.query, why="syntax", words=str(error))
    except QueryError as error:
        return Refused(query=command.query, why="error", words=str(error))
    return Registered(query=command.query)


def classify_refusal(words: str, syntax: str | None, unsupported: str | None) -> RefusalReason:
    """Return the reason of a refusal, by patterns of the engine's message.

    >>> classify_refusal("NOT EXISTS is not supported", "ParseException|Encountered", "not supported")
    'unsupported'
    """
    if unsupported is not None and re.search(unsupported, words):
        return "unsupported"
    return "syntax" if syntax is not None and re.search(syntax, words) else "error"

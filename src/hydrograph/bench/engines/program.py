"""The frame of an engine program in Python: reads commands, does them, writes replies."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterable
from typing import BinaryIO, Protocol, assert_never

from hydrograph.bench.engines.protocol import (
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
    Unregister,
    Unregistered,
    line_of,
    read_command,
)
from hydrograph.errors import HydrographError, QueryError, SyntaxQueryError, UnsupportedError

Answers = Iterable[Answer | Finished]


class Answering(Protocol):
    """What an engine does; answers may come from any of the last three."""

    def load(self, file: str, graph: str | None) -> None:
        """Load static data."""

    def register(self, name: str, text: str) -> None:
        """Register a query, or raise QueryError."""

    def unregister(self, name: str) -> None:
        """Forget a query."""

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Answers:
        """Take an element."""

    def end(self) -> Answers:
        """Finish what is left."""

    def due(self) -> float | None:
        """Return in how many seconds `tick` wants to be called; None if it does not."""

    def tick(self) -> Answers:
        """Do what the clock asks for."""


def serve(engine: Answering, source: BinaryIO = sys.stdin.buffer, target: BinaryIO = sys.stdout.buffer) -> None:
    """Do what the commands say until one says stop, or they end."""
    waiting: queue.Queue[bytes] = queue.Queue(maxsize=1_000)  # who sends faster than the engine works is held up
    threading.Thread(target=_read, args=(source, waiting), daemon=True).start()

    def say(replies: Iterable[Reply]) -> None:
        for reply in replies:
            target.write(line_of(reply))
        target.flush()

    while True:
        try:
            line = waiting.get(timeout=engine.due())
        except queue.Empty:
            try:
                say(engine.tick())
            except HydrographError as error:
                say([Failed(words=str(error))])
            continue
        if not line:
            return
        command = read_command(line)
        if isinstance(command, Stop):
            return
        try:
            say(_done(engine, command))
        except HydrographError as error:
            say([Failed(words=str(error))])


def _read(source: BinaryIO, waiting: queue.Queue[bytes]) -> None:
    for line in source:
        waiting.put(line)
    waiting.put(b"")


def _done(engine: Answering, command: Load | Register | Unregister | Send | End) -> Iterable[Reply]:
    """Do a command and return what is to say about it."""
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


def _registered(engine: Answering, command: Register) -> Registered | Refused:
    try:
        engine.register(command.query, command.text)
    except UnsupportedError as error:
        return Refused(query=command.query, why="unsupported", words=str(error))
    except SyntaxQueryError as error:
        return Refused(query=command.query, why="syntax", words=str(error))
    except QueryError as error:
        return Refused(query=command.query, why="error", words=str(error))
    return Registered(query=command.query)

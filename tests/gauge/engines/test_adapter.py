"""The frame of engine programs: errors end what they must, and other threads are heard at once."""

from __future__ import annotations

import io
import os
import threading

from hydrograph.errors import RunError
from hydrograph.runtime.reports import Report
from hydrograph_gauge.engines.adapter import Replies, Wake, report_replies, serve
from hydrograph_gauge.engines.protocol import (
    Answer,
    Command,
    End,
    Ended,
    Failed,
    Finished,
    Register,
    Registered,
    Reply,
    Send,
    Stop,
    line_of,
    read_reply,
)


class Engine:
    """Adapter that returns given replies, and fails at the end on demand."""

    def __init__(self, *, fails: bool = False) -> None:
        """Start with nothing to say."""
        self.fails = fails
        self.waiting: list[Answer | Finished] = []

    def load(self, file: str, graph: str | None) -> None:
        """Load nothing."""

    def register(self, name: str, text: str) -> None:
        """Take any query."""

    def unregister(self, name: str) -> None:
        """Forget nothing."""

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:  # noqa: ARG002
        """Answer at once."""
        yield Finished(query="q")

    def end(self) -> Replies:
        """Fail, or say what waits."""
        if self.fails:
            raise RunError("out of paper")
        return self.tick()

    def due(self) -> None:
        """Ask for no clock."""

    def tick(self) -> Replies:
        """Say what waits."""
        while self.waiting:
            yield self.waiting.pop(0)


def heard(engine: Engine, *commands: Command) -> list[Reply]:
    target = io.BytesIO()
    serve(engine, io.BytesIO(b"".join(map(line_of, commands))), target)
    return [read_reply(line) for line in target.getvalue().splitlines()]


def test_commands_are_answered_in_order() -> None:
    send = Send(stream="urn:s", t=1, triples=())
    found = heard(Engine(), Register(query="q", text="x"), send, End(), Stop())
    assert found == [Registered(query="q"), Finished(query="q"), Ended()]


def test_who_fails_at_the_end_has_ended() -> None:
    """Otherwise the testbed would wait until its limit of time."""
    assert heard(Engine(fails=True), End(), Stop()) == [Failed(words="out of paper"), Ended()]


def test_what_another_thread_says_is_passed_on_without_a_command() -> None:
    engine, wake = Engine(), Wake()
    commands, target = os.pipe(), os.pipe()
    with (
        os.fdopen(commands[0], "rb") as source,
        os.fdopen(commands[1], "wb", buffering=0) as tell,
        os.fdopen(target[0], "rb") as hear,
        os.fdopen(target[1], "wb", buffering=0) as out,
    ):
        thread = threading.Thread(target=serve, args=(engine, source, out), kwargs={"wake": wake})
        thread.start()
        engine.waiting.append(Finished(query="q"))
        wake()
        assert read_reply(hear.readline()) == Finished(query="q")
        tell.write(line_of(Stop()))
        thread.join(10)
        assert not thread.is_alive()


def test_waking_an_engine_that_has_enough_to_do_does_not_wait() -> None:
    wake = Wake()
    for _ in range(5_000):
        wake()
    assert wake.waiting.full()


def test_a_large_report_is_said_in_several_lines() -> None:
    report = Report(9, 0, 9, ("a", "b"), tuple((f"<urn:{n}>", None) for n in range(20_001)))
    *answers, finished = list(report_replies("q", report))
    assert [len(each.rows) for each in answers if isinstance(each, Answer)] == [20_000, 1]
    assert all(isinstance(each, Answer) and each.t == 9 and "b" not in each.rows[0] for each in answers)
    assert finished == Finished(query="q")

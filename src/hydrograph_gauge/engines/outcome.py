"""Outcome of a query on an engine: verdict, phase and message, and the blocks of its answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from hydrograph.temporal import Instant
from hydrograph_gauge.oracle.dataset import Row


class Verdict(StrEnum):
    """Outcomes that a report counts."""

    OK = "ok"
    NOT_ASKED = "not asked"
    """The engine's language or version cannot express the query: neither a success nor a failure."""
    WRONG = "wrong"
    NO_ANSWER = "no answer"
    SYNTAX_ERROR = "syntax error"
    NOT_SUPPORTED = "not supported"
    RUNTIME_ERROR = "runtime error"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    CRASH = "crash"


class Phase(StrEnum):
    """Phase of a run in which a verdict was reached."""

    REGISTRATION = "registration"
    EXECUTION = "execution"


class Origin(StrEnum):
    """Part to which a failure is attributed."""

    ENGINE = "engine"
    ADAPTER = "adapter"
    """The program between gauge and engine, or what it needs: files, options, versions."""
    TEXT = "text"
    """The query as the engine was asked it: its grammar has no such sentence."""


class OutputError(StrEnum):
    """Error in the output of an engine itself, for which the run was ended."""

    FLOOD = "flood"
    """It wrote more than it may."""
    GARBAGE = "garbage"
    """It wrote something that is not a reply, or an answer to another query."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict, the phase in which it was reached, and the engine's message."""

    verdict: Verdict
    phase: Phase
    words: str = ""
    output_error: OutputError | None = None
    """For the verdict RUNTIME_ERROR: the error in the output, if that is the cause."""
    origin: Origin | None = None
    """What failed; None for a query that was not asked, or is judged by its answers."""


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """Answer of one execution; `at` is its arrival in milliseconds since the stream was started."""

    at: float
    rows: Counter[Row]
    t: Instant | None = None
    """Time of the report that it answers, if the engine gives it."""

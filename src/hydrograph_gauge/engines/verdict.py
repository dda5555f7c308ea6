"""What became of a query on an engine, with the phase and the engine's own words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The outcomes that a report counts."""

    OK = "ok"
    WRONG = "wrong"
    NO_ANSWER = "no answer"
    SYNTAX_ERROR = "syntax error"
    NOT_SUPPORTED = "not supported"
    RUNTIME_ERROR = "runtime error"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    CRASH = "crash"


class Phase(StrEnum):
    """When it came to that."""

    REGISTRATION = "registration"
    EXECUTION = "execution"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict, when it fell, and what the engine said."""

    verdict: Verdict
    phase: Phase
    words: str = ""

"""Protocol between gauge and engine: JSON objects, one a line, commands to its input and replies from its output.

A program in any language takes part: it reads objects with `do`, and writes objects with `reply`. Terms are written as
in N-Triples.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import decode
from hydrograph_gauge.engines.outcome import Origin
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.validation import find_invalid_field


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Load(_Message):
    """Load a file of N-Triples as the static default graph, or as a named one; answered by `loaded`."""

    do: Literal["load"] = "load"
    file: str
    graph: str | None = None


class Register(_Message):
    """Register a query under a name; answered by `registered` or `refused`."""

    do: Literal["register"] = "register"
    query: str
    text: str


class Unregister(_Message):
    """Forget a query; no answer of it may follow `unregistered`."""

    do: Literal["unregister"] = "unregister"
    query: str


class Send(_Message):
    """Take one element of a stream: triples, each with its full stop, at a time in milliseconds."""

    do: Literal["send"] = "send"
    stream: str
    t: int
    triples: tuple[str, ...]
    n: int | None = None
    """Number of the element in the play, from 0: `taken` names it."""


class End(_Message):
    """No element will follow: finish the remaining work, and reply `ended`."""

    do: Literal["end"] = "end"


class Stop(_Message):
    """Leave at once."""

    do: Literal["stop"] = "stop"


Command: TypeAlias = Load | Register | Unregister | Send | End | Stop


class Loaded(_Message):
    """The static data is loaded."""

    reply: Literal["loaded"] = "loaded"


class Registered(_Message):
    """The query is registered."""

    reply: Literal["registered"] = "registered"
    query: str


class Unregistered(_Message):
    """The query is forgotten."""

    reply: Literal["unregistered"] = "unregistered"
    query: str


class Refused(_Message):
    """The query is refused, with the reason and the engine's message."""

    reply: Literal["refused"] = "refused"
    query: str
    why: Literal["syntax", "unsupported", "error"]
    words: str = ""
    origin: Origin | None = None
    """Who is to blame, if the reason does not tell."""


class Taken(_Message):
    """The engine has taken elements with consecutive numbers from `n` on; the times are Unix milliseconds.

    With a query, only that one has taken them: engines with a process for each query feed them independently.
    """

    reply: Literal["taken"] = "taken"
    n: int
    at: tuple[float, ...]
    query: str | None = None


class Answer(_Message):
    """Rows of one execution, each with the terms of its bound variables; `t` is the report's time if it is known."""

    reply: Literal["answer"] = "answer"
    query: str
    rows: tuple[dict[str, str], ...]
    t: int | None = None


class Finished(_Message):
    """One execution of a query is over, with or without rows."""

    reply: Literal["finished"] = "finished"
    query: str


class Ended(_Message):
    """All input has been processed."""

    reply: Literal["ended"] = "ended"


class Failed(_Message):
    """A query failed while it was running."""

    reply: Literal["failed"] = "failed"
    query: str | None = None
    words: str = ""
    origin: Origin = Origin.ENGINE


Reply: TypeAlias = Loaded | Registered | Unregistered | Refused | Taken | Answer | Finished | Ended | Failed

_Kind = TypeVar("_Kind")
_COMMANDS: TypeAdapter[Command] = TypeAdapter(Annotated[Command, Field(discriminator="do")])
_REPLIES: TypeAdapter[Reply] = TypeAdapter(Annotated[Reply, Field(discriminator="reply")])


def line_of(message: Command | Reply) -> bytes:
    """Return a message as its line."""
    return message.model_dump_json(exclude_none=True).encode() + b"\n"


def read_command(line: bytes) -> Command:
    """Return the command that a line holds, or raise DataError."""
    return _read(_COMMANDS, line)


def read_reply(line: bytes) -> Reply:
    """Return the reply that a line holds, or raise DataError."""
    return _read(_REPLIES, line)


def _read(adapter: TypeAdapter[_Kind], line: bytes) -> _Kind:
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        invalid = find_invalid_field(error)
        shown = line[:120].decode("utf-8", "replace").rstrip("\n")
        raise DataError(
            f"{invalid.place or 'the line'}: {invalid.message}, in {json.dumps(shown, ensure_ascii=False)}"
        ) from None


def rows_of(answer: Answer, variables: tuple[str, ...]) -> Counter[Row]:
    """Return the rows of an answer in the order of `variables`; raise DataError for an invalid term."""
    for row in answer.rows:
        if unknown := row.keys() - set(variables):
            raise DataError(f"answer of {answer.query}: no variable {sorted(unknown)[0]!r} is asked for")
    return Counter(tuple(_term(row[name]) if name in row else None for name in variables) for row in answer.rows)


_term = lru_cache(maxsize=200_000)(
    decode
)  # terms come again and again: large answers are held in a tenth of the memory

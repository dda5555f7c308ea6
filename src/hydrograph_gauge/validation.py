"""First complaint of pydantic about settings, records and messages, for one-sentence errors."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError


class InvalidField(NamedTuple):
    """Field that is not valid, and why."""

    place: str
    """Dotted path of the field; empty for the whole."""
    message: str
    value: object
    is_unknown: bool
    """Whether the model has no such field."""

    def __str__(self) -> str:
        """Return the place and the message."""
        return f"{self.place}: {self.message}" if self.place else self.message


def find_invalid_field(error: ValidationError) -> InvalidField:
    """Return the first invalid field of a validation error."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return InvalidField(place, message, first["input"], first["type"] == "extra_forbidden")

"""What a user may say about a world: read from a TOML file and from the command line, checked once at the door."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hydrograph.errors import UsageError
from hydrograph.temporal import HOUR, MINUTE, SECOND

_UNITS = {"": 1, "ms": 1, "s": SECOND, "m": MINUTE, "h": HOUR, "d": 24 * HOUR}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d|)")

_Settings = TypeVar("_Settings", bound="Settings")


def parse_length(value: object) -> object:
    """Return a length of time in ms; a bare number counts milliseconds.

    >>> parse_length("5m"), parse_length("1.5s"), parse_length("250")
    (300000, 1500, 250)
    """
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ValueError("expected a number with ms, s, m, h or d, such as 500ms")
    exact = float(found[1]) * _UNITS[found[2]]
    if exact != int(exact):
        raise ValueError("expected whole milliseconds")
    return int(exact)


def _pairs(value: object) -> object:
    """Return `["posts=1000", "gps=50"]` as a mapping; TOML gives one already."""
    if not isinstance(value, list | tuple):
        return value
    pairs = [str(item).partition("=") for item in value]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise ValueError(f"expected NAME=VALUE, got {wrong[0]}")
    return {name: number for name, _, number in pairs}


Length = Annotated[int, BeforeValidator(parse_length)]
"""A length of time in milliseconds, written with a unit if the user likes."""
Rates = Annotated[dict[str, float], BeforeValidator(_pairs)]
"""Numbers by name, on the command line as repeated NAME=VALUE."""


class Settings(BaseModel):
    """What every world asks; each world adds its own. The descriptions are the help of the command line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(default=1024, ge=-(2**63), lt=2**63, description="the same seed gives the same rows")
    faithful: bool = Field(default=False, description="keep the quirks of the original generator")


def read_settings(kind: type[_Settings], file: Path | None, given: Mapping[str, Any]) -> _Settings:
    """Return the settings of a world: those of the TOML file, overridden by those given; all others are defaults.

    Raise UsageError for an unknown name or a value that does not fit.
    """
    read: dict[str, Any] = {}
    if file is not None:
        try:
            read = tomllib.loads(file.read_text("utf-8"))
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from error
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{file}: {error}") from error
    try:
        return kind.model_validate({**read, **given})
    except ValidationError as error:
        raise UsageError(_sentence(kind, error)) from None


def _sentence(kind: type[Settings], error: ValidationError) -> str:
    """Return the first complaint in one line: what was expected, what was got, what is known."""
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"unknown setting {name!r}; known are {', '.join(sorted(kind.model_fields))}"
    said = first["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    return f"{name}: {said}, got {first['input']!r}" if name else said

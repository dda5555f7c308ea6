"""Settings of a world: read from a TOML file and from command-line options, and validated once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hydrograph.errors import UsageError
from hydrograph.language.duration import parse_duration
from hydrograph_gauge.validation import find_invalid_field

_Settings = TypeVar("_Settings", bound="Settings")


def parse_length(value: object) -> object:
    """Return a duration in ms; text is read as in queries, and a bare number counts milliseconds.

    >>> parse_length("5m"), parse_length("PT1.5S"), parse_length("250"), parse_length(250)
    (300000, 1500, 250, 250)
    """
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value.strip())
    except ValueError:
        raise ValueError("expected a duration such as 10s, 500ms or PT1.5S") from None


def _pairs(value: object) -> object:
    """Return `["posts=1000", "gps=50"]` as a mapping; TOML gives one already."""
    if not isinstance(value, list | tuple):
        return value
    pairs = [str(item).partition("=") for item in value]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise ValueError(f"expected NAME=VALUE, got {wrong[0]}")
    return {name: number for name, _, number in pairs}


Length = Annotated[int, BeforeValidator(parse_length)]
"""A duration in milliseconds, optionally written with a unit."""
Rates = Annotated[dict[str, float], BeforeValidator(_pairs)]
"""Numbers by name, on the command line as repeated NAME=VALUE."""


class Settings(BaseModel):
    """Settings of every world; each world adds its own. The descriptions are the help texts of the options."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(default=1024, ge=-(2**63), lt=2**63, description="the same seed gives the same rows")
    faithful: bool = Field(default=False, description="keep the quirks of the original generator")


def read_settings(kind: type[_Settings], file: Path | None, given: Mapping[str, Any]) -> _Settings:
    """Return the settings of a world: those given override those of the TOML file, which override the defaults.

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
    """Return the first validation error in one line."""
    name, message, value, is_unknown = find_invalid_field(error)
    if is_unknown:
        return f"unknown setting {name!r}; known are {', '.join(sorted(kind.model_fields))}"
    message = message[:1].lower() + message[1:]
    return f"{name}: {message}, got {value!r}" if name else message

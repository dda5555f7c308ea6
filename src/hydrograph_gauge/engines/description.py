"""How a program with lines of its own is described (TOML): how it is started, what it reads, what its lines mean."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hydrograph.errors import UsageError
from hydrograph_gauge.engines.program import Why

HERE = Path(__file__).with_name("descriptions")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Input(_Part):
    """What the program reads: a line for each triple, with {stream}, {t}, {s}, {p}, {o}; one for the end, if any."""

    triple: str
    terms: Literal["n-triples", "bare"] = "n-triples"
    """How terms are written: as in N-Triples, or IRIs and texts as they are."""
    element: str | None = None
    """A line after the triples of each element, with {stream} and {t}; None: the program is not told where one ends."""
    end: str | None = None


class Output(_Part):
    """What the program writes, as regular expressions that whole lines match."""

    row: str
    """A row; its first group holds the terms, in the order of SELECT."""
    separator: str = "\t"
    terms: Literal["n-triples", "bare"] = "n-triples"
    finished: str | None = None
    """The end of an execution, its first group the time of the report where it has one; None: each row is one."""
    ready: str | None = None
    """That the query stands; None: it does when the program runs."""
    refused: str | None = None
    """That the query is refused; its first group says why."""
    syntax: str | None = None
    """Found in the words of a refusal that is for the query's syntax."""
    unsupported: str | None = None
    """Found in the words of a refusal that is for something the program does not do."""

    @field_validator("row", "finished", "ready", "refused", "syntax", "unsupported")
    @classmethod
    def _is_regular(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"no regular expression: {error}") from None
        return text


class Description(_Part):
    """A program as an engine.

    In its command, {query} and {static} are paths, {graphs} is that of a file with a line for each static graph that
    the query may name (its IRI, a tab, its path), {files} that of what the user supplies, {here} that of descriptions.
    """

    name: str
    command: tuple[str, ...] = Field(min_length=1)
    dialect: str = "rspql"
    profile: str = "rspql"
    by_clock: bool = False
    eager: bool = False
    needs: tuple[str, ...] = ()
    """Patterns of files that must lie in FILES."""
    programs: tuple[str, ...] = ()
    """Programs that must be there; none of them comes with Hydrograph."""
    versions: Mapping[str, tuple[str, ...]] = {}
    """Commands that print the version of a part in their first line, by the part's name."""
    settle: float = 2.0
    """Seconds without a line after which nothing more is expected at the end."""
    input: Input
    output: Output

    @property
    def announces(self) -> bool:
        """Whether the program says of each execution that it is over, with or without rows."""
        return self.output.finished is not None

    @property
    def has_graphs(self) -> bool:
        """Whether the program is told the names of static graphs."""
        return any("{graphs}" in part for part in self.command)


def read_description(file: Path) -> Description:
    """Return a description, or raise UsageError that says what is wrong with it."""
    try:
        return Description.model_validate(tomllib.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        shipped = ", ".join(sorted(each.stem for each in HERE.glob("*.toml")))
        raise UsageError(f"{file}: no such description; shipped are {shipped}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: no TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def why_refused(words: str, syntax: str | None, unsupported: str | None) -> Why:
    """Return why an engine refuses a query, by patterns of its words.

    >>> why_refused("NOT EXISTS is not supported", "ParseException|Encountered", "not supported")
    'unsupported'
    """
    if unsupported is not None and re.search(unsupported, words):
        return "unsupported"
    return "syntax" if syntax is not None and re.search(syntax, words) else "error"

"""`hydrograph validate`: checks of a query's text without running it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import click

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.cli.options import QueryText, query_argument
from hydrograph.errors import QueryError, SyntaxQueryError, UnsupportedError
from hydrograph.language import dialect_of, parse
from hydrograph.language.describe import describe_profile, describe_window
from hydrograph.language.lint import Note, notes
from hydrograph.language.query_parser import SparqlParser
from hydrograph.windows.profile import Profile
from hydrograph.windows.profile import preset as profile_of


@dataclass(frozen=True, slots=True)
class ValidQuery:
    """A query that is valid, with its language and profile."""

    dialect: type[SparqlParser]
    profile: Profile
    query: ContinuousQuery
    notes: list[Note]

    def windows(self) -> list[str]:
        """Return the windows in words, as the profile reads them."""
        return [
            f"{describe_window(self.profile.windowing(window.definition))} over <{window.stream.value}>"
            for window in self.query.windows
        ]

    def described_profile(self) -> dict[str, str]:
        """Return the parts of the profile in words, with what the text sets itself; nothing without a window."""
        return describe_profile(self.profile.of(self.query)) if self.query.windows else {}


@click.command(name="validate")
@query_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(
    *,
    query_text: QueryText,
    as_json: bool,
) -> None:
    """Check the query in FILE without running it; exit code 0 if it is valid, 3 if not.

    Prints the language of the text, its windows and when it reports.
    """
    try:
        valid = _check(query_text.text, query_text.dialect, query_text.preset)
    except QueryError as error:
        if not as_json:
            raise
        click.echo(json.dumps(_error_object(error), ensure_ascii=False))
        sys.exit(error.exit_code)
    if as_json:
        click.echo(json.dumps(_object(valid), ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(valid)))


def _check(text: str, dialect: str | None, preset: str | None) -> ValidQuery:
    """Parse a text; raise QueryError if it is invalid."""
    language = dialect_of(text, dialect)
    query = parse(text, language.name)
    return ValidQuery(language, profile_of(preset or language.preset), query, notes(text, query))


def _lines(valid: ValidQuery) -> list[str]:
    """Return the result as text."""
    lines = [f"valid {valid.dialect.title}"]
    lines += [f"  {words}" for words in valid.windows()]
    profile = valid.described_profile()
    if profile:
        lines.append(f"  preset {valid.profile.name}")
    lines += [f"  {part}: {words}" for part, words in profile.items()]
    for note in valid.notes:
        lines.append(f"line {note.line}, column {note.column}: {note.message}{f'; {note.hint}' if note.hint else ''}")
    return lines


def _object(valid: ValidQuery) -> dict[str, Any]:
    """Return the result as JSON."""
    return {
        "valid": True,
        "dialect": valid.dialect.name,
        "preset": valid.profile.name,
        "windows": valid.windows(),
        "profile": valid.described_profile(),
        "notes": [note._asdict() for note in valid.notes],
    }


def _error_object(error: QueryError) -> dict[str, Any]:
    """Return an error as JSON; in our messages the hint follows the first semicolon."""
    syntax = error if isinstance(error, SyntaxQueryError) else None
    reason = str(error) if syntax is None else syntax.reason
    message, _, hint = reason.partition("; ")
    return {
        "valid": False,
        "kind": "unsupported" if isinstance(error, UnsupportedError) else "query",
        "line": None if syntax is None else syntax.line,
        "column": None if syntax is None else syntax.column,
        "message": message,
        "hint": hint or None,
    }

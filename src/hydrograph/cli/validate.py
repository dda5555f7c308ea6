"""`hydrograph validate`: whether a query is right, where it is not, and what its text decides."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import click

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.cli.texts import argument_text, text_argument
from hydrograph.errors import QueryError, SyntaxQueryError, UnsupportedError
from hydrograph.language import dialect_of, parse
from hydrograph.language.describe import habits, in_words
from hydrograph.language.lint import Note, notes
from hydrograph.language.sparql import SparqlParser
from hydrograph.windows.profile import Profile
from hydrograph.windows.profile import preset as profile_of


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known about a query that is right."""

    dialect: type[SparqlParser]
    profile: Profile
    query: ContinuousQuery
    notes: list[Note]

    def windows(self) -> list[str]:
        """Return the windows in words, as the profile reads them."""
        return [
            f"{in_words(self.profile.windowing(window.definition))} over <{window.stream.value}>"
            for window in self.query.windows
        ]

    def habits(self) -> dict[str, str]:
        """Return what the text leaves to the profile, and what it says itself; nothing where nothing streams."""
        return habits(self.profile.of(self.query)) if self.query.windows else {}


@click.command(name="validate")
@text_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(
    *,
    file: str | None,
    query_text: str | None,
    query_file: str | None,
    dialect: str | None,
    preset: str | None,
    as_json: bool,
) -> None:
    """Check the query in FILE without running it; exit code 0 if it is right, 3 if not.

    Says which language the text is written in, what its windows are and when it reports.
    """
    text = argument_text(file, query_text, query_file)
    try:
        found = _check(text, dialect, preset)
    except QueryError as error:
        if not as_json:
            raise
        click.echo(json.dumps(_error_object(error), ensure_ascii=False))
        sys.exit(error.exit_code)
    if as_json:
        click.echo(json.dumps(_object(found), ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(found)))


def _check(text: str, dialect: str | None, preset: str | None) -> Finding:
    """Parse a text; raise where it is wrong."""
    language = dialect_of(text, dialect)
    query = parse(text, language.name)
    return Finding(language, profile_of(preset or language.preset), query, notes(text, query))


def _lines(found: Finding) -> list[str]:
    """Return what is found as text."""
    lines = [f"valid {found.dialect.title}"]
    lines += [f"  {words}" for words in found.windows()]
    if found.habits():
        lines.append(f"  preset {found.profile.name}")
    lines += [f"  {habit}: {words}" for habit, words in found.habits().items()]
    for note in found.notes:
        lines.append(f"line {note.line}, column {note.column}: {note.message}{f'; {note.hint}' if note.hint else ''}")
    return lines


def _object(found: Finding) -> dict[str, Any]:
    """Return what is found as JSON."""
    return {
        "valid": True,
        "dialect": found.dialect.name,
        "preset": found.profile.name,
        "windows": found.windows(),
        "habits": found.habits(),
        "notes": [note._asdict() for note in found.notes],
    }


def _error_object(error: QueryError) -> dict[str, Any]:
    """Return an error as JSON: by the custom of our messages the hint stands behind the first semicolon."""
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

"""`hydrograph translate`: the same query in another language, and what that one can not keep."""

from __future__ import annotations

import json

import click

from hydrograph.cli.texts import argument_text, text_argument
from hydrograph.language import DIALECTS, dialect_of, parse
from hydrograph.language.translate_dialect import reword
from hydrograph.windows.profile import preset as profile_of


@click.command(name="translate")
@text_argument
@click.option("--to", "target", required=True, type=click.Choice(sorted(DIALECTS)), help="The language to write.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(
    *,
    file: str | None,
    query_text: str | None,
    query_file: str | None,
    dialect: str | None,
    preset: str | None,
    target: str,
    as_json: bool,
) -> None:
    """Print the query in FILE in another language.

    What the other language can not keep, such as when reports are made, is said on standard error; exit code 3 if it
    has no words for the query at all.
    """
    text = argument_text(file, query_text, query_file)
    language = dialect_of(text, dialect)
    profile = profile_of(preset or language.preset)
    reworded = reword(parse(text, language.name), target, profile)
    if as_json:
        found = {"dialect": language.name, "to": target, "text": reworded.text, "lost": reworded.lost}
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    click.echo(reworded.text, nl=False)
    for sentence in reworded.lost:
        click.echo(f"not kept: {sentence}", err=True)
    if reworded.lost and reworded.preset is not None:
        click.echo(f"in Hydrograph, --preset {reworded.preset} keeps the habits of this query", err=True)

"""`hydrograph translate`: the same query in another language, and what that one cannot express."""

from __future__ import annotations

import json

import click

from hydrograph.cli.options import QueryText, query_argument
from hydrograph.language import DIALECTS, dialect_of, parse
from hydrograph.language.translate_dialect import reword
from hydrograph.windows.profile import preset as profile_of


@click.command(name="translate")
@query_argument
@click.option("--to", "target", required=True, type=click.Choice(sorted(DIALECTS)), help="The language to write.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(
    *,
    query_text: QueryText,
    target: str,
    as_json: bool,
) -> None:
    """Print the query in FILE in another language.

    What the other language cannot express, such as when reports are made, is listed on standard error. Exit code 3 if
    it cannot express the query at all.
    """
    language = dialect_of(query_text.text, query_text.dialect)
    profile = profile_of(query_text.preset or language.preset)
    reworded = reword(parse(query_text.text, language.name), target, profile)
    if as_json:
        found = {"dialect": language.name, "to": target, "text": reworded.text, "lost": reworded.lost}
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    click.echo(reworded.text, nl=False)
    for sentence in reworded.lost:
        click.echo(f"not kept: {sentence}", err=True)
    if reworded.lost and reworded.preset is not None:
        click.echo(f"in Hydrograph, --preset {reworded.preset} keeps the profile of this query", err=True)

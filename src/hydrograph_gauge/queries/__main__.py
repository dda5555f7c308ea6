"""`python -m hydrograph_gauge.queries SET`: regenerate the texts of a set in other languages from its RSP-QL."""

from __future__ import annotations

from pathlib import Path

import click

from hydrograph_gauge.queries.query_sets import SETS, write_translations


@click.command()
@click.argument("name", type=click.Choice(SETS))
def main(name: str) -> None:
    """Translate the queries of the set NAME from RSP-QL to all other languages."""
    write_translations(Path(__file__).parent / name)


if __name__ == "__main__":
    main()

"""Section with the texts and features of the queries."""

from __future__ import annotations

from collections.abc import Iterator

from hydrograph_gauge.report.document import Block, Column, Queries, QueryText, Section, Table, section
from hydrograph_gauge.report.run_data import RunData, natural_key
from hydrograph_gauge.report.sections.measures import cut
from hydrograph_gauge.run_records import QueryRecord, Setting

LETTERS = 20_000
"""Characters of one query."""


def show_queries(run: RunData) -> Section | None:
    """Return features and texts; a query of several tests with one text is shown once."""
    unique: dict[tuple[str, str], QueryRecord] = {}
    for facts in run.facts.values():
        unique.setdefault((facts.query, facts.text), facts)
    found = sorted(unique.values(), key=lambda facts: natural_key(facts.query))
    return section("Queries", *_blocks(found)) if found else None


def _blocks(found: list[QueryRecord]) -> Iterator[Block]:
    names = list(dict.fromkeys(name for facts in found for name in facts.features))
    if names:
        columns = [Column(name, "number" if _is_number(found, name) else "text") for name in names]
        rows = tuple((facts.query, *(_plain(facts.features.get(name)) for name in names)) for facts in found)
        yield Table("Features of the queries.", (Column("query"), *columns), rows)
    yield Queries(tuple(_text(facts) for facts in found))


def _text(facts: QueryRecord) -> QueryText:
    texts = [("", cut(facts.text, LETTERS))]
    texts += [(f"for {engine}", cut(text, LETTERS)) for engine, text in facts.texts.items() if text != facts.text]
    return QueryText(facts.query, ", ".join(f"?{name}" for name in facts.variables), tuple(texts))


def _is_number(found: list[QueryRecord], name: str) -> bool:
    values = [facts.features.get(name) for facts in found]
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)


def _plain(value: Setting | None) -> str | float | None:
    return ("yes" if value else "no") if isinstance(value, bool) else value

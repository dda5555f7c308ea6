"""A page out of a few records, and what to look at in it: for the tests of the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from hydrograph_gauge.report.document import (
    Block,
    Choice,
    Document,
    Section,
    Series,
    Table,
)
from hydrograph_gauge.report.page import build_document
from hydrograph_gauge.report.run_data import collect_records
from hydrograph_gauge.run_records import (
    Key,
    OutcomeRecord,
    Provenance,
    Record,
    Setting,
    WindowRecord,
)

Kind = TypeVar("Kind")
BARE = Provenance(experiment="e", started="2026-01-01T00:00:00Z", seed=1)


def shown(records: Iterable[Record], origin: Provenance = BARE) -> Document:
    return build_document([collect_records(origin, records)])


def section(page: Document, title: str) -> Section:
    found = {each.title: each for each in page.parts[0].sections}
    return found[title]


def titles(page: Document) -> list[str]:
    return [each.title for each in page.parts[0].sections]


def blocks(found: Iterable[Block], kind: type[Kind]) -> Iterator[Kind]:
    """Yield the blocks of a kind, those that a choice hides included."""
    for block in found:
        if isinstance(block, kind):
            yield block
        if isinstance(block, Choice):
            for option in block.options:
                yield from blocks(option.blocks, kind)


def rows(table: Table) -> object:
    """Return the rows as a value that may equal anything."""
    return table.rows


def points(series: Series) -> object:
    """Return the points as a value that may equal anything."""
    return series.points


def key(engine: str = "a", query: str = "q1", test: str = "t", repetition: int = 0, **settings: Setting) -> Key:
    return Key(test=test, engine=engine, query=query, repetition=repetition, settings=settings)


def outcome(at: Key, verdict: str = "ok", phase: str = "execution", **more: object) -> OutcomeRecord:
    return OutcomeRecord.model_validate({"key": at, "verdict": verdict, "phase": phase, **more})


def window(at: Key, t: int, expected: int = 1, actual: int = 1, hits: int = 1, **more: object) -> WindowRecord:
    shares = {"precision": hits / actual if actual else 1, "recall": hits / expected if expected else 1}
    return WindowRecord.model_validate({"key": at, "t": t, "expected": expected, "actual": actual, **shares, **more})

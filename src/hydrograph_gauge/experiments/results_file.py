"""The file of results as a run goes on: what stands in it is not done again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from pathlib import Path

from hydrograph_gauge.results import (
    RESULTS,
    Absent,
    Excluded,
    Functional,
    Held,
    Key,
    Mismatch,
    Outcome,
    QueryFacts,
    Record,
    Sampled,
    Window,
    line_of,
    read,
)


def identity(key: Key) -> Hashable:
    """Return what two keys share if they mean the same."""
    return key.test, key.engine, key.query, key.repetition, tuple(sorted(key.settings.items()))


def compared_of(record: Mismatch) -> tuple[str, str, str, int]:
    """Return what the mismatches of all pairs of engines on one query share."""
    return record.test, record.query, str(dict(record.settings)), record.repetition


class Results:
    """The file of results: what is in it is known, and records are added whole."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of a run."""
        self.file = folder / RESULTS
        self.outcomes: dict[Hashable, Outcome] = {}
        """By `identity`."""
        self.facts: set[tuple[str, str]] = set()
        self.excluded: set[tuple[str, str]] = set()
        self.absent: set[tuple[str, str]] = set()
        self.functional: set[str] = set()
        self.held: set[Hashable] = set()
        self.compared: set[tuple[str, str, str, int]] = set()

    @classmethod
    def resume(cls, folder: Path, tests: Collection[str] = ()) -> Results:
        """Return what is written; a torn last line, and the windows of a query that has no outcome, are cut off.

        So is who was absent from `tests`: they are about to find out anew.
        """
        written = cls(folder)
        if not written.file.exists():
            return written
        records = list(read(folder))
        done = {identity(record.key) for record in records if isinstance(record, Outcome)}
        kept = [
            each
            for each in records
            if not (isinstance(each, Window | Sampled) and identity(each.key) not in done)
            and not (isinstance(each, Absent) and each.test in tests)
        ]
        partial = written.file.with_name(f".{RESULTS}.partial")
        with partial.open("w", encoding="utf-8") as out:
            out.writelines(map(line_of, kept))
        partial.replace(written.file)
        for record in kept:
            written._note(record)
        return written

    def add(self, records: Iterable[Record]) -> None:
        """Add records; those of a query end with its outcome."""
        with self.file.open("a", encoding="utf-8") as out:
            for record in records:
                out.write(line_of(record))
                self._note(record)

    def _note(self, record: Record) -> None:
        match record:
            case Outcome():
                self.outcomes[identity(record.key)] = record
            case QueryFacts():
                self.facts.add((record.test, record.query))
            case Excluded():
                self.excluded.add((record.test, record.query))
            case Absent():
                self.absent.add((record.test, record.engine))
            case Functional():
                self.functional.add(record.engine)
            case Held():
                self.held.add(identity(record.key))
            case Mismatch():
                self.compared.add(compared_of(record))
            case _:
                pass

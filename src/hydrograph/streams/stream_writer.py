"""Writer of recorded streams in any format: elements in canonical order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import duckdb

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import unskolem
from hydrograph.streams.elements import Format, StreamElement
from hydrograph.streams.formats import parquet
from hydrograph.streams.output_files import atomic_output
from hydrograph.streams.schema import BATCH
from hydrograph.temporal import Instant

_ROWS = "SELECT t, seq, s, p, o FROM read_parquet($file) ORDER BY t, seq, s, p, o"


def elements_of(files: Iterable[str], salt: str) -> Iterator[StreamElement]:
    """Return the elements of a recorded stream; blank nodes get back the labels they had, triples are sorted."""
    for number, ((t, seq), rows) in enumerate(groupby(_rows(files), key=lambda row: row[:2]), 1):
        triples = ((unskolem(s, salt, seq), p, unskolem(o, salt, seq)) for _, _, s, p, o in rows)
        yield StreamElement(number, t, tuple(dict.fromkeys(triples)))


def _rows(files: Iterable[str]) -> Iterator[tuple[Instant, int, str, str, str]]:
    # One file at a time: files are cut by time, and no time is in two of them.
    with duckdb.connect() as database:
        for file in files:
            reader = database.sql(_ROWS, params={"file": file}).to_arrow_reader(BATCH)
            assert reader is not None
            for part in reader:
                yield from zip(*(column.to_pylist() for column in part.columns), strict=True)


def write_elements(elements: Iterable[StreamElement], target: str, format_: Format) -> None:
    """Write elements to a file that appears when it is complete, to `-`, or where each is a file to a new directory."""
    assert format_.write is not None
    if not format_.one_each:
        with atomic_output(target) as out:
            format_.write(out, elements)
        return
    with parquet.staged(Path(target), force=False) as directory:
        for element in elements:
            name = f"{element.t}_{element.number:08d}{format_.endings[0]}"
            with (directory / name).open("wb") as file:
                format_.write(file, (element,))


@dataclass(slots=True)
class Written:
    """What was written: rows, elements, and how many elements a format of triples could not keep together."""

    rows: int = 0
    elements: int = 0
    split: int = 0


def write_stream(
    files: Iterable[str], salt: str, target: str, format_: Format, seen: Callable[[int], None] = lambda _: None
) -> Written:
    """Write the events of Parquet files in another format; `seen` is told the rows as they go."""
    counted = Written()

    def counting() -> Iterator[StreamElement]:
        for element in elements_of(files, salt):
            counted.rows += len(element.triples)
            counted.elements += 1
            counted.split += format_.only_triples and len(element.triples) > 1
            seen(len(element.triples))
            yield element

    try:
        write_elements(counting(), target, format_)
    except DataError as error:
        raise DataError(f"{target}: {error}") from None
    return counted

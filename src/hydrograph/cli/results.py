"""How answers are written: a format is a function and a line in `WRITERS`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.runtime.run import Run

Writer = Callable[[Run, str], Iterator[str]]


def json_lines(run: Run, name: str) -> Iterator[str]:
    """Return one JSON object for each report."""
    return (report.json(name) for report in run.reports())


def csv_lines(run: Run, name: str) -> Iterator[str]:
    """Return SPARQL CSV with the report's instant as the first column: values without their types."""
    del name
    yield from _table(run, ",", lambda text: "" if text is None else _value(text))


def tsv_lines(run: Run, name: str) -> Iterator[str]:
    """Return SPARQL TSV with the report's instant as the first column: terms as in Turtle."""
    del name
    yield "\t".join(["?t", *(f"?{variable}" for variable in run.plan.variables)])
    for report in run.reports():
        for row in report.rows:
            # Canonical texts hold no line break; a tab inside a literal has to be escaped.
            yield "\t".join([str(report.t), *(("" if text is None else text.replace("\t", "\\t")) for text in row)])


def digest_lines(run: Run, name: str) -> Iterator[str]:
    """Return instant, row count and order-free hash of each report."""
    del name
    return map(str, run.digests())


def _table(run: Run, delimiter: str, cell: Callable[[str | None], str]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="")

    def line(cells: list[str]) -> str:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(cells)
        return buffer.getvalue()

    yield line(["t", *run.plan.variables])
    for report in run.reports():
        for row in report.rows:
            yield line([str(report.t), *map(cell, row)])


def _value(text: str) -> str:
    match decode(text):
        case Iri(value):
            return value
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return lexical


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {"json": json_lines, "csv": csv_lines, "tsv": tsv_lines, "digest": digest_lines}
)

"""Result formats: JSON, SPARQL JSON, XML, CSV and TSV, and streams of triples; one record in `FORMATS` each.

All reports go to one file, which stays well-formed: each report is a line of its own (json, srj), rows name their
report in the column `t` (csv, tsv), reports are parts of one document (srx), or elements of a stream that can be
queried in turn (tnt, nquads, trig, …). Or each report is a document of its own in a directory, as the W3C defines them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from hydrograph.algebra.queries import Ask, Construct, Describe, Form
from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.runtime.reports import Report, ReportDigest, Row, term_json
from hydrograph.streams.elements import StreamElement, statement
from hydrograph.streams.files import atomic_output
from hydrograph.streams.format_registry import FORMATS as STREAMS
from hydrograph.streams.formats.parquet import staged

TEXT = "utf-8"
DIGEST = "digest"
"""Format of `write_digests`."""


@dataclass(frozen=True, slots=True)
class QueryResults:
    """The reports of a query as they are computed, with its name and form."""

    query: str
    """The name of the query."""
    form: Form
    variables: tuple[str, ...]
    reports: Iterable[Report]

    @property
    def are_triples(self) -> bool:
        """Whether the answers are triples and not solutions."""
        return isinstance(self.form, Construct | Describe)


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """How answers are written."""

    title: str
    ending: str
    stream: Callable[[IO[bytes], QueryResults], None]
    """Writes all reports to one file."""
    document: Callable[[QueryResults, Report], str] | None = None
    """Returns one report as a document of its own."""
    triples_only: bool = False
    solutions_only: bool = False


def write_answers(answers: QueryResults, format_: str, target: str | IO[bytes]) -> None:
    """Write all reports to a file that appears when it is complete, `-`, something open, or a directory: `name/`."""
    chosen = result_format(format_)
    _check(answers, format_, chosen)
    if not isinstance(target, str):
        chosen.stream(target, answers)
    elif target.endswith("/"):
        _write_documents(answers, format_, chosen, Path(target))
    else:
        with atomic_output(target) as out:
            chosen.stream(out, answers)


def write_digests(digests: Iterable[ReportDigest], target: str | IO[bytes]) -> None:
    """Write one line for each report: its time, row count and hash."""
    if isinstance(target, str):
        with atomic_output(target) as out:
            write_digests(digests, out)
        return
    for each in digests:
        target.write(f"{each}\n".encode())


def result_format(name: str) -> ResultFormat:
    """Return the format of this name, or raise UsageError."""
    if name not in FORMATS:
        raise UsageError(f"no result format named {name!r}; formats: {', '.join(FORMATS)}")
    return FORMATS[name]


def _check(answers: QueryResults, name: str, chosen: ResultFormat) -> None:
    if chosen.triples_only and not answers.are_triples:
        rows = ", ".join(known for known, each in FORMATS.items() if not each.triples_only)
        raise UsageError(f"{name} holds triples, as CONSTRUCT gives them; for this query choose {rows}")
    if chosen.solutions_only and answers.are_triples:
        triples = ", ".join(known for known, each in FORMATS.items() if each.triples_only)
        raise UsageError(f"{name} holds the answers of SELECT and ASK; for triples choose {triples}")


def _write_documents(answers: QueryResults, name: str, chosen: ResultFormat, target: Path) -> None:
    if chosen.document is None:
        alone = ", ".join(known for known, each in FORMATS.items() if each.document is not None)
        raise UsageError(f"{name} is no format for one report in a file; choose {alone}")
    with staged(target, force=False) as directory:
        before, again = None, 0
        for report in answers.reports:
            again = again + 1 if report.t == before else 0
            before = report.t
            stem = f"{report.t}_{again:04d}" if again else str(report.t)
            (directory / f"{stem}{chosen.ending}").write_bytes(chosen.document(answers, report).encode())


# Our own lines


def _json_lines(out: IO[bytes], answers: QueryResults) -> None:
    for report in answers.reports:
        out.write(report.json(answers.query).encode() + b"\n")


# SPARQL 1.1 Query Results JSON Format


def _srj_lines(out: IO[bytes], answers: QueryResults) -> None:
    for report in answers.reports:
        about = {"query": answers.query, "t": report.t, "open": report.open, "close": report.close}
        out.write((_dumped({**_srj(answers, report), "report": about}) + "\n").encode())


def _srj_document(answers: QueryResults, report: Report) -> str:
    return _dumped(_srj(answers, report)) + "\n"


def _srj(answers: QueryResults, report: Report) -> dict[str, object]:
    if isinstance(answers.form, Ask):
        return {"head": {}, "boolean": _truth(report)}
    bindings = [
        {name: term_json(text) for name, text in zip(report.variables, row, strict=True) if text is not None}
        for row in report.rows
    ]
    return {"head": {"vars": list(answers.variables)}, "results": {"bindings": bindings}}


def _dumped(found: object) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _truth(report: Report) -> bool:
    return bool(report.rows) and report.rows[0][0] is not None and report.rows[0][0].startswith('"true"')


# SPARQL Query Results XML Format

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _srx_stream(out: IO[bytes], answers: QueryResults) -> None:
    out.write(f'{_XML}<reports xmlns="urn:hydrograph:reports" query={quoteattr(answers.query)}>\n'.encode())
    for report in answers.reports:
        times = {"t": report.t, "open": report.open, "close": report.close}
        said = "".join(f' {name}="{value}"' for name, value in times.items() if value is not None)
        out.write(f"<report{said}>\n".encode())
        out.write("".join(_srx(answers, report)).encode())
        out.write(b"</report>\n")
    out.write(b"</reports>\n")


def _srx_document(answers: QueryResults, report: Report) -> str:
    return _XML + "".join(_srx(answers, report))


def _srx(answers: QueryResults, report: Report) -> Iterator[str]:
    yield '<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n<head>'
    if isinstance(answers.form, Ask):
        yield f"</head>\n<boolean>{str(_truth(report)).lower()}</boolean>\n</sparql>\n"
        return
    yield "".join(f"<variable name={quoteattr(name)}/>" for name in answers.variables)
    yield "</head>\n<results>\n"
    for row in report.rows:
        bound = zip(report.variables, row, strict=True)
        terms = (f"<binding name={quoteattr(name)}>{_xml_term(text)}</binding>" for name, text in bound if text)
        yield f"<result>{''.join(terms)}</result>\n"
    yield "</results>\n</sparql>\n"


def _xml_term(text: str) -> str:
    match decode(text):
        case Iri(value):
            return f"<uri>{_xml(value)}</uri>"
        case BlankNode(label):
            return f"<bnode>{_xml(label)}</bnode>"
        case Literal(lexical, datatype, language):
            kind = f" datatype={quoteattr(_xml_legal(datatype))}" if datatype != XSD_STRING else ""
            return f"<literal{f' xml:lang={quoteattr(language)}' if language else kind}>{_xml(lexical)}</literal>"


def _xml(text: str) -> str:
    return escape(_xml_legal(text), {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})


def _xml_legal(text: str) -> str:
    found = _NOT_IN_XML.search(text)
    if found is not None:
        raise DataError(f"an answer holds the character U+{ord(found[0]):04X}, which XML cannot hold; choose srj")
    return text


# SPARQL 1.1 Query Results CSV and TSV Formats


def _csv_stream(out: IO[bytes], answers: QueryResults) -> None:
    line = _CsvLine("\n")
    out.write(line(["t", *answers.variables]).encode())
    for report in answers.reports:
        out.write("".join(line([str(report.t), *map(_plain, row)]) for row in report.rows).encode())


def _csv_document(answers: QueryResults, report: Report) -> str:
    line = _CsvLine("\r\n")
    return line(answers.variables) + "".join(line(map(_plain, row)) for row in report.rows)


class _CsvLine:
    """Writes cells as a line of CSV."""

    def __init__(self, end: str) -> None:
        self._end = end
        self._buffer = io.StringIO(newline="")
        self._writer = csv.writer(self._buffer, lineterminator="\r\n")  # both are quoted inside of a cell

    def __call__(self, cells: Iterable[str]) -> str:
        self._buffer.seek(0)
        self._buffer.truncate()
        self._writer.writerow(list(cells))
        return self._buffer.getvalue().removesuffix("\r\n") + self._end


def _plain(text: str | None) -> str:
    """Return a term as CSV has it: its value, without its type."""
    if text is None:
        return ""
    match decode(text):
        case Iri(value):
            return value
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return lexical


def _tsv_stream(out: IO[bytes], answers: QueryResults) -> None:
    out.write(("\t".join(["?t", *(f"?{name}" for name in answers.variables)]) + "\n").encode())
    for report in answers.reports:
        out.write("".join(f"{report.t}\t{_tsv_row(row)}\n" for row in report.rows).encode())


def _tsv_document(answers: QueryResults, report: Report) -> str:
    head = "\t".join(f"?{name}" for name in answers.variables)
    return f"{head}\n" + "".join(f"{_tsv_row(row)}\n" for row in report.rows)


def _tsv_row(row: Row) -> str:
    # Canonical texts hold no line break; a tab inside a literal has to be escaped.
    return "\t".join("" if text is None else text.replace("\t", "\\t") for text in row)


# Triples


def _nt_stream(out: IO[bytes], answers: QueryResults) -> None:
    for report in answers.reports:
        scope = "" if report.open is None else f" [{report.open}, {report.close})"
        out.write(f"# report {report.t}{scope}\n{_nt_document(answers, report)}".encode())


def _nt_document(answers: QueryResults, report: Report) -> str:
    return "".join(f"{statement(triple)}\n" for triple in _triples(answers, report))


def _nquads_document(answers: QueryResults, report: Report) -> str:
    del answers
    return "".join(f"{statement((s, p, o), g or '')}\n" for s, p, o, g in _quads(report))


def _trig_document(answers: QueryResults, report: Report) -> str:
    del answers
    graphs: dict[str, list[str]] = {}
    for s, p, o, g in _quads(report):
        graphs.setdefault(g or "", []).append(f"  {statement((s, p, o))}\n")
    return "".join(f"{graph}{' ' if graph else ''}{{\n{''.join(lines)}}}\n" for graph, lines in graphs.items())


def _tnt_stream(out: IO[bytes], answers: QueryResults) -> None:
    for number, report in enumerate(answers.reports, 1):
        lines = (f"{report.t}:{number}\t{statement(triple)}\n" for triple in _triples(answers, report))
        out.write("".join(lines).encode())


def _as_elements(
    write: Callable[[IO[bytes], Iterable[StreamElement]], None],
) -> Callable[[IO[bytes], QueryResults], None]:
    """Return what writes each report as an element of a stream; an empty one is none."""

    def stream(out: IO[bytes], answers: QueryResults) -> None:
        numbered = enumerate((report for report in answers.reports if report.rows), 1)
        write(out, (StreamElement(number, report.t, _triples(answers, report)) for number, report in numbered))

    return stream


def _triples(answers: QueryResults, report: Report) -> tuple[tuple[str, str, str], ...]:
    if len(answers.variables) > _TRIPLE and any(row[_TRIPLE] is not None for row in report.rows):
        raise UsageError(
            "a stream of reports cannot keep the graphs of a CONSTRUCT: write a document for each report, "
            "as -t trig -o DIRECTORY/"
        )
    return tuple((s, p, o) for s, p, o, _ in _quads(report))


def _quads(report: Report) -> Iterator[tuple[str, str, str, str | None]]:
    for row in report.rows:
        s, p, o = row[:_TRIPLE]
        assert s is not None
        assert p is not None
        assert o is not None
        yield s, p, o, row[_TRIPLE] if len(row) > _TRIPLE else None


_TRIPLE = 3
_DOCUMENTS = {"nquads": _nquads_document, "trig": _trig_document}

FORMATS: Mapping[str, ResultFormat] = MappingProxyType(
    {
        "json": ResultFormat("a line of JSON for each report", ".json", _json_lines),
        "srj": ResultFormat("SPARQL JSON", ".srj", _srj_lines, _srj_document, solutions_only=True),
        "csv": ResultFormat("SPARQL CSV", ".csv", _csv_stream, _csv_document),
        "tsv": ResultFormat("SPARQL TSV", ".tsv", _tsv_stream, _tsv_document),
        "srx": ResultFormat("SPARQL XML", ".srx", _srx_stream, _srx_document, solutions_only=True),
        "nt": ResultFormat("N-Triples", ".nt", _nt_stream, _nt_document, triples_only=True),
        "tnt": ResultFormat("timed N-Triples", ".tnt", _tnt_stream, triples_only=True),
        **{
            each.name: ResultFormat(
                each.title, each.endings[0], _as_elements(each.write), _DOCUMENTS.get(each.name), triples_only=True
            )
            for each in STREAMS
            if each.write is not None and not each.only_triples and not each.one_each
        },
    }
)
"""The formats of answers; the streams among them can be read again."""

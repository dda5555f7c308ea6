"""Answers in every format: well-formed for several reports, and read back by others' parsers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest
import rdflib

import hydrograph
import hydrograph_gauge
from hydrograph.algebra.queries import Ask, Construct, Describe, Select
from hydrograph.cli.main import main
from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.runtime.reports import Report
from hydrograph.runtime.result_formats import FORMATS, QueryResults, write_answers
from hydrograph.streams.sources import events_as_arrow, open_stream

HOSTILE = ["", "a,b", 'say "hi"', "two\nlines", "\r", "\t", "</literal>&amp;", "é漢😀", "\\", " x "]
TERMS = [
    *(term_text(Literal(text)) for text in HOSTILE),
    term_text(Literal.tagged("x", "en")),
    '"5"^^<http://www.w3.org/2001/XMLSchema#integer>',
    "<http://example.org/a?b=c&d>",
    "_:b0",
]
ROWS = QueryResults(
    "q",
    Select((Variable("a"), Variable("b"))),
    ("a", "b"),
    [
        Report(5, 0, 5, ("a", "b"), tuple((term, None if n % 2 else "<urn:x>") for n, term in enumerate(TERMS))),
        Report(10, 5, 10, ("a", "b"), ()),
        Report(15, None, None, ("a", "b"), ((None, '"1"'),)),
    ],
)
SUBJECT = ("subject", "predicate", "object")
TRIPLES = QueryResults(
    "q",
    Construct(()),
    SUBJECT,
    [
        Report(5, 0, 5, SUBJECT, tuple(("_:s", "<urn:p>", term) for term in TERMS)),
        Report(10, 5, 10, SUBJECT, ()),
        Report(15, 10, 15, SUBJECT, (("<urn:s>", "<urn:p>", '"1"'),)),
    ],
)
TRUTHS = QueryResults(
    "q",
    Ask(),
    ("boolean",),
    [
        Report(5, 0, 5, ("boolean",), (('"true"^^<http://www.w3.org/2001/XMLSchema#boolean>',),)),
        Report(10, 5, 10, ("boolean",), (('"false"^^<http://www.w3.org/2001/XMLSchema#boolean>',),)),
    ],
)
W3C = {
    "srj": ox.QueryResultsFormat.JSON,
    "srx": ox.QueryResultsFormat.XML,
    "tsv": ox.QueryResultsFormat.TSV,
}


def written(answers: QueryResults, format_: str) -> bytes:
    out = io.BytesIO()
    write_answers(answers, format_, out)
    return out.getvalue()


def documents(answers: QueryResults, format_: str, directory: Path) -> dict[str, bytes]:
    write_answers(answers, format_, f"{directory}/out/")
    return {file.name: file.read_bytes() for file in sorted((directory / "out").iterdir())}


def rows_of(found: object) -> list[tuple[str | None, ...]]:
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    assert names == ["a", "b"]
    return [tuple(None if row[name] is None else text_of(row[name]) for name in names) for row in found]


def of_rdflib(text: str | None) -> rdflib.term.Node | None:
    match None if text is None else decode(text):
        case None:
            return None
        case Iri(value):
            return rdflib.URIRef(value)
        case BlankNode(label):
            return rdflib.BNode(label)
        case Literal(lexical, datatype, language):
            typed = None if language or datatype == XSD_STRING else rdflib.URIRef(datatype)
            return rdflib.Literal(lexical, lang=language, datatype=typed, normalize=False)


def text_of(term: object) -> str:
    match term:
        case ox.NamedNode():
            return term_text(Iri(term.value))
        case ox.BlankNode():
            return f"_:{term.value}"
        case ox.Literal():
            literal = (
                Literal.tagged(term.value, term.language) if term.language else Literal(term.value, term.datatype.value)
            )
            return term_text(literal)
    raise AssertionError(term)


@pytest.mark.parametrize("format_", W3C)
def test_a_document_for_each_report_is_what_the_w3c_defines(format_: str, tmp_path: Path) -> None:
    found = documents(ROWS, format_, tmp_path)
    assert list(found) == [f"10.{format_}", f"15.{format_}", f"5.{format_}"]
    for report in ROWS.reports:
        text = found[f"{report.t}.{format_}"]
        if format_ == "srx":  # pyoxigraph cuts spaces off, so another reader is asked
            read = rdflib.query.Result.parse(io.BytesIO(text), format="xml")
            assert [str(name) for name in read.vars or ()] == ["a", "b"]
            assert [tuple(map(row.get, read.vars or ())) for row in read.bindings] == [
                tuple(map(of_rdflib, row)) for row in report.rows
            ]
        else:
            assert rows_of(ox.parse_query_results(text, W3C[format_])) == list(report.rows)


def test_csv(tmp_path: Path) -> None:
    alone = list(csv.reader(io.StringIO(documents(ROWS, "csv", tmp_path)["5.csv"].decode(), newline="")))
    assert alone[0] == ["a", "b"]
    assert [row[0] for row in alone[1 : len(HOSTILE) + 1]] == HOSTILE
    table = list(csv.reader(io.StringIO(written(ROWS, "csv").decode(), newline="")))
    assert table[0] == ["t", "a", "b"]
    assert [row[1] for row in table[1 : len(HOSTILE) + 1]] == HOSTILE
    assert {row[0] for row in table[1:]} == {"5", "15"}


def test_all_reports_in_one_file() -> None:
    lines = [json.loads(line) for line in written(ROWS, "srj").splitlines()]
    assert [line["report"]["t"] for line in lines] == [5, 10, 15]
    assert [len(line["results"]["bindings"]) for line in lines] == [len(TERMS), 0, 1]
    tree = ElementTree.fromstring(written(ROWS, "srx"))
    assert [report.attrib for report in tree][1:] == [{"t": "10", "open": "5", "close": "10"}, {"t": "15"}]
    space = "{http://www.w3.org/2005/sparql-results#}"
    assert [len(report.findall(f".//{space}result")) for report in tree] == [len(TERMS), 0, 1]
    said = [binding.text or "" for binding in tree[0].findall(f".//{space}literal")]
    assert said[: len(HOSTILE)] == HOSTILE
    rows = written(ROWS, "tsv").decode().splitlines()
    assert len(rows) == 1 + len(TERMS) + 1
    assert all(row.count("\t") == 2 for row in rows)


def test_ask(tmp_path: Path) -> None:
    for format_, reader in list(W3C.items())[:2]:
        (tmp_path / format_).mkdir()
        found = documents(TRUTHS, format_, tmp_path / format_)
        truths = [ox.parse_query_results(found[f"{t}.{format_}"], reader) for t in (5, 10)]
        assert [bool(truth) for truth in truths] == [True, False]


@pytest.mark.parametrize(
    "format_", [name for name, each in FORMATS.items() if each.triples_only and each.ending != ".nt"]
)
def test_triples_are_a_stream_that_can_be_read_again(format_: str, tmp_path: Path) -> None:
    file = tmp_path / f"out.{FORMATS[format_].ending.rpartition('.')[2]}"
    write_answers(TRIPLES, format_, str(file))
    rows = events_as_arrow(open_stream(str(file), format=format_)).read_all().select(["t", "o"]).to_pylist()
    assert [row["t"] for row in rows] == [5] * len(TERMS) + [15]
    assert [row["o"] for row in rows[: len(TERMS) - 1]] == TERMS[:-1]


def test_messages_are_written_in_n_quads(tmp_path: Path) -> None:
    file = tmp_path / "out.nq"
    write_answers(TRIPLES, "messages", str(file))
    assert events_as_arrow(open_stream(str(file))).read_all().num_rows == len(TERMS) + 1
    assert file.read_text().startswith('VERSION "1.2-messages"\n')


def test_n_triples(tmp_path: Path) -> None:
    text = written(TRIPLES, "nt")
    assert [line for line in text.splitlines() if line.startswith(b"#")] == [
        b"# report 5 [0, 5)", b"# report 10 [5, 10)", b"# report 15 [10, 15)",
    ]  # fmt: skip
    assert len(list(ox.parse(text, format=ox.RdfFormat.N_TRIPLES))) == len(TERMS) + 1
    found = documents(TRIPLES, "nt", tmp_path)
    assert found["15.nt"] == b'<urn:s> <urn:p> "1" .\n'
    rows = events_as_arrow(open_stream(str(tmp_path / "out"))).read_all()
    assert rows["t"].to_pylist() == [*[5] * len(TERMS), 15]  # their names are the times of the reports


def test_graphs_of_construct(tmp_path: Path) -> None:
    names = (*SUBJECT, "graph")
    reports = [Report(5, 0, 5, names, (("<urn:s>", "<urn:p>", "_:b", "<urn:g>"), ("<urn:s>", "<urn:p>", "_:b", None)))]
    answers = QueryResults("q", Construct(()), names, reports)
    for format_, reader in (("trig", ox.RdfFormat.TRIG), ("nquads", ox.RdfFormat.N_QUADS)):
        (tmp_path / format_).mkdir()
        (text,) = documents(answers, format_, tmp_path / format_).values()
        assert sorted(str(quad.graph_name) for quad in ox.parse(text, format=reader)) == ["<urn:g>", "DEFAULT"]
    for format_ in ("trig", "nt", "tnt"):
        with pytest.raises(UsageError, match="cannot keep the graphs"):
            written(answers, format_)


def test_reports_at_one_instant_get_documents_of_their_own(tmp_path: Path) -> None:
    reports = [Report(5, None, None, ("a",), (("<urn:x>",),)) for _ in range(3)]
    found = documents(QueryResults("q", Select((Variable("a"),)), ("a",), reports), "csv", tmp_path)
    assert list(found) == ["5.csv", "5_0001.csv", "5_0002.csv"]


@pytest.mark.parametrize(
    ("answers", "format_", "words"),
    [
        (ROWS, "trig", "holds triples, as CONSTRUCT gives them; for this query choose json, srj, csv, tsv, srx"),
        (TRIPLES, "srx", "for triples choose nt, tnt, nquads, trig, messages"),
        (QueryResults("q", Describe(()), SUBJECT, []), "srj", "for triples choose"),
        (ROWS, "xls", "no result format named 'xls'; formats: json, srj"),
    ],
)
def test_wrong_formats(answers: QueryResults, format_: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        written(answers, format_)


def test_what_xml_can_not_hold() -> None:
    answers = QueryResults("q", Select((Variable("a"),)), ("a",), [Report(5, 0, 5, ("a",), (('"\x00"',),))])
    with pytest.raises(DataError, match="U\\+0000, which XML cannot hold; choose srj"):
        written(answers, "srx")


QUERY = """PREFIX : <http://example.org/>
CONSTRUCT { ?who :met [ :in ?room ] }
FROM NAMED WINDOW :w ON :building [RANGE PT10S STEP PT10S]
WHERE { WINDOW :w { :ann :detectedAt ?room . ?who :detectedAt ?room FILTER(?who != :ann) } }"""


def test_the_answers_of_one_query_are_the_stream_of_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    building = Path(hydrograph_gauge.__file__).parent / "workloads" / "rooms" / "building.tnt"
    meetings = tmp_path / "meetings.trig"
    main(["run", "-q", QUERY, "--stream", str(building), "--format", "trig", "-o", str(meetings)])
    with hydrograph.query(QUERY).over(building, placement="local") as run:
        run.write(tmp_path / "again.trig", "trig")
        run.write(f"{tmp_path}/each/", "nt")
        expected = {report.t: {row[0] for row in report.rows if "met" in str(row[1])} for report in run.reports()}
    assert (tmp_path / "again.trig").read_bytes() == meetings.read_bytes()
    assert any(expected.values())
    count = """PREFIX : <http://example.org/> SELECT ?who
        FROM NAMED WINDOW :w ON :m [RANGE PT10S STEP PT10S] WHERE { WINDOW :w { ?who :met ?x } }"""
    for location in (meetings, tmp_path / "each"):
        with hydrograph.query(count).over(location, t0=0, placement="local") as run:
            found = {report.t - 10_000: {row[0] for row in report.rows} for report in run.reports()}
        assert {t: rows for t, rows in found.items() if rows} == {t: rows for t, rows in expected.items() if rows}
    capsys.readouterr()

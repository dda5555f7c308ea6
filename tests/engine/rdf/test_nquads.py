"""Text to terms and back, judged by pyoxigraph where it can judge."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import parse_statement, parse_term, split_triple, term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Quad, Term, Triple
from hydrograph.rdf.vocab import XSD_INTEGER

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
IRIS = st.builds(lambda rest: Iri("urn:" + rest), st.text(st.sampled_from("abé漢😀$'();-&~?/"), max_size=8))
LABELS = st.from_regex(r"[_:0-9A-Za-zé][_:0-9A-Za-zé·.-]{0,5}[0-9A-Za-z]", fullmatch=True)
TAGS = st.from_regex(r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8}){0,2}", fullmatch=True)
LITERALS = (
    st.builds(Literal, TEXT)
    | st.builds(Literal.tagged, TEXT, TAGS)
    | st.builds(lambda text, iri: Literal(text, iri.value), TEXT, IRIS)
)
TERMS = IRIS | st.builds(BlankNode, LABELS) | LITERALS


@given(TERMS)
def test_a_term_survives_its_text(term: Term) -> None:
    assert parse_term(term_text(term)) == term


@given(IRIS, IRIS, IRIS | LITERALS)
def test_pyoxigraph_reads_the_same(s: Iri, p: Iri, o: Iri | Literal) -> None:
    line = f"{term_text(s)} {term_text(p)} {term_text(o)} ."
    (quad,) = ox.parse(line.encode(), format=ox.RdfFormat.N_TRIPLES, lenient=True)
    assert quad.subject == ox.NamedNode(s.value)
    match o:
        case Iri(value):
            assert quad.object == ox.NamedNode(value)
        case Literal(lexical, datatype, None):
            assert quad.object == ox.Literal(lexical, datatype=ox.NamedNode(datatype))
        case Literal(lexical, _, language):
            assert isinstance(quad.object, ox.Literal)
            assert (quad.object.value, quad.object.language) == (lexical, language)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (r'"\u00e9\U0001F600"', '"é😀"'),
        (r'"a\tb\bc\fd\'e"', '"a\tb\bc\fd\'e"'),
        (r'"\u0022\u005c\u000a\u000D"', r'"\"\\\n\r"'),
        (r'"\\u0041"', r'"\\u0041"'),
        ('"x"^^<http://www.w3.org/2001/XMLSchema#string>', '"x"'),
        ('"x"@EN-gb', '"x"@en-gb'),
        (r"<\u0075rn:\u00e9>", "<urn:é>"),
        ('"5" ^^ <urn:t>', '"5"^^<urn:t>'),
    ],
)
def test_canonical_texts(written: str, canonical: str) -> None:
    assert term_text(parse_term(written)) == canonical
    assert split_triple(f"<urn:s>\t<urn:p>{written}.")[2] == canonical


def test_statements() -> None:
    s, p, o, g = Iri("urn:s"), Iri("urn:p"), Literal("5", XSD_INTEGER), BlankNode("g")
    assert parse_statement(f"<urn:s><urn:p>{term_text(o)}.") == Triple(s, p, o)
    assert parse_statement(f" <urn:s>\t<urn:p> {term_text(o)} _:g . # end") == Quad(s, p, o, g)


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("", 1, "a subject"),
        ("<a> <urn:p> <urn:o> .", 1, "an absolute IRI"),
        ('<urn:s> "p" <urn:o> .', 9, "a predicate"),
        ("<urn:s> _:p <urn:o> .", 9, "a predicate"),
        ("<urn:s> <urn:p> 5 .", 17, "an object"),
        ('<urn:s> <urn:p> "a', 19, "end of the string"),
        (r'<urn:s> <urn:p> "\q" .', 18, "a legal character"),
        (r'<urn:s> <urn:p> "\ud800" .', 18, "a legal character"),
        ('<urn:s> <urn:p> "\ud800" .', 18, "a legal character"),
        (r"<urn:s> <urn:p\u0020> <urn:o> .", 15, "a legal character"),
        ("<urn:s> <urn:p q> <urn:o> .", 15, "a legal character"),
        (r"<urn:s> <urn:p> <\u0061> .", 17, "an absolute IRI"),
        ('<urn:s> <urn:p> "a"^^<b> .', 20, "datatype"),
        ('<urn:s> <urn:p> "a"@1 .', 20, "a language tag"),
        ("<urn:s> <urn:p> <urn:o>", 24, "'.'"),
        ("<urn:s> <urn:p> <urn:o> . x", 27, "the end of the line"),
    ],
)
def test_an_error_says_the_column_and_what_was_expected(line: str, column: int, expected: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_statement(line)
    assert str(caught.value).startswith(f"column {column}: expected ")
    assert expected in str(caught.value)


def test_a_message_shows_no_control_characters() -> None:
    with pytest.raises(DataError, match=r"\\x1b\[31m"):
        parse_statement("<urn:s> <urn:p> \x1b[31m .")


@given(st.text(alphabet='<>"\\_:@^.# \tuU0aé😀\x00', max_size=40))
def test_any_text_is_read_or_refused(line: str) -> None:
    try:
        statement = parse_statement(line)
    except DataError:
        return
    assert isinstance(statement, Triple | Quad)

"""Laws of stream formats: what is written is read again as the same elements, and as timed N-Triples give them."""

from __future__ import annotations

import gzip
import string
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from hydrograph.cli.convert import elements_of, write_elements, write_stream
from hydrograph.errors import DataError
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.rdf.vocab import RDF_TYPE, XSD
from hydrograph.streams.elements import Format, StreamElement
from hydrograph.streams.event_time import GENERATED, Texts, moment_text
from hydrograph.streams.format_registry import FORMATS, format_named, written_endings
from hydrograph.streams.sources import TNT, events_as_arrow, open_stream

Found = list[tuple[int, frozenset[Texts]]]

HOSTILE = (
    "", " ", "\t", "\n", "\r", "\r\n", '"', "'", '"""', "'''", "\\", "\\n", "MESSAGE", "@message .", "\nMESSAGE\n",
    "a\nMESSAGE\nb", '"""\nMESSAGE\n', "} <urn:g> {", "# no comment", "<urn:x>", "_:b0", '" .', "\x00", "\x7f",
    "\u0085", "\u2028", "\ufeff", "\ufffe", "😀", "e\u0301", "{}", '{"@id":1}', "]", "^^<urn:d>", "@en", "'; DROP",
)  # fmt: skip
_LETTERS = st.characters(codec="utf-8")
LEXICAL = st.one_of(st.sampled_from(HOSTILE), st.text(_LETTERS, max_size=12))
LANGUAGES = st.sampled_from(["en", "de-at", "zh-hant-tw", "message"])
DATATYPES = st.sampled_from([XSD + name for name in ("integer", "double", "dateTime", "boolean", "date")] + ["urn:d"])
IRIS = st.one_of(
    st.sampled_from(
        [RDF_TYPE, "urn:x", "http://example.org/a?b=c&d#e", "http://example.org/é漢😀", "a:b", "mailto:x@y"]
    ),
    st.text(string.ascii_letters + string.digits + "-._~/", max_size=8).map(lambda path: f"http://example.org/{path}"),
).map(Iri)
BLANKS = st.sampled_from(["b0", "b1", "a.b", "x-1", "0", "é"]).map(BlankNode)
LITERALS = st.one_of(
    LEXICAL.map(Literal),
    st.builds(Literal.tagged, LEXICAL, LANGUAGES),
    st.builds(Literal, LEXICAL, DATATYPES),
    st.integers().map(lambda number: Literal(str(number), XSD + "integer")),
)
TRIPLES = st.tuples(st.one_of(IRIS, BLANKS), IRIS, st.one_of(IRIS, BLANKS, LITERALS)).map(
    lambda terms: (term_text(terms[0]), term_text(terms[1]), term_text(terms[2]))
)
TIMES = st.one_of(st.integers(-5, 5), st.integers(-(10**13), 10**14), st.sampled_from([-(2**62), 2**62]))
STREAMS = st.lists(
    st.tuples(TIMES, st.lists(TRIPLES, min_size=1, max_size=5, unique=True)), min_size=1, max_size=5
).map(
    lambda found: [
        StreamElement(number, t, tuple(triples))
        for number, (t, triples) in enumerate(sorted(found, key=lambda e: e[0]), 1)
    ]
)
WRITERS = [each for each in FORMATS if each.write is not None]


def read(path: Path, format_: str | None = None, time: str | None = None) -> Found:
    """Return the elements at `path` in canonical order, blank nodes by the order in which sorted triples have them."""
    table = events_as_arrow(open_stream(str(path), format=format_, time=time)).read_all()
    return elements_in(table)


def elements_in(table: pa.Table) -> Found:
    rows = table.select(["t", "seq", "s", "p", "o"]).to_pylist()
    found: dict[tuple[int, int], set[Texts]] = {}
    for row in rows:
        found.setdefault((row["t"], row["seq"]), set()).add((row["s"], row["p"], row["o"]))
    return [(t, frozenset(triples)) for (t, _), triples in sorted(found.items(), key=lambda item: item[0])]


def same(left: Found, right: Found) -> bool:
    """Tell whether two streams are equal but for the labels of blank nodes."""
    return len(left) == len(right) and all(
        a[0] == b[0] and isomorphic(a[1], b[1]) for a, b in zip(left, right, strict=True)
    )


def isomorphic(left: frozenset[Texts], right: frozenset[Texts]) -> bool:
    """Tell whether two small graphs are equal but for the labels of blank nodes, by trying all ways."""
    if len(left) != len(right):
        return False
    ours, theirs = blanks_of(left), blanks_of(right)
    return len(ours) == len(theirs) and mapped(left, right, ours, theirs, {})


def blanks_of(triples: frozenset[Texts]) -> list[str]:
    return sorted({term for triple in triples for term in triple if term.startswith("_:")})


def mapped(
    left: frozenset[Texts], right: frozenset[Texts], ours: list[str], theirs: list[str], names: dict[str, str]
) -> bool:
    if not ours:
        return {tuple(names.get(term, term) for term in triple) for triple in left} == set(right)
    return any(
        mapped(left, right, ours[1:], [other for other in theirs if other != name], {**names, ours[0]: name})
        for name in theirs
    )


def expected(elements: list[StreamElement]) -> Found:
    return [(element.t, frozenset(element.triples)) for element in elements]


def target_of(directory: Path, format_: Format, packed: str = "") -> Path:
    return directory / ("stream" if format_.one_each else f"stream{written_endings(format_)[0]}{packed}")


@pytest.mark.parametrize("format_", [each for each in WRITERS if not each.only_triples], ids=lambda each: each.name)
@given(elements=STREAMS)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_again(format_: Format, elements: list[StreamElement]) -> None:
    with TemporaryDirectory() as directory:
        target = target_of(Path(directory), format_)
        write_elements(elements, str(target), format_)
        assert same(read(target), expected(elements))


@pytest.mark.parametrize("format_", [each for each in WRITERS if each.only_triples], ids=lambda each: each.name)
@given(elements=STREAMS)
@settings(max_examples=60, deadline=None)
def test_formats_of_triples_keep_triples_and_refuse_blank_nodes(format_: Format, elements: list[StreamElement]) -> None:
    with TemporaryDirectory() as directory:
        target = target_of(Path(directory), format_)
        if any("_:" in (s[:2], o[:2]) for element in elements for s, _, o in element.triples):
            with pytest.raises(DataError, match="blank nodes"):
                write_elements(elements, str(target), format_)
            assert not target.exists()
            return
        inside = [element for element in elements if abs(element.t) < 10**18]
        write_elements(inside, str(target), format_)
        triples = Counter((element.t, triple) for element in inside for triple in element.triples)
        assert Counter((t, triple) for t, graph in read(target) for triple in graph) == triples


@pytest.mark.parametrize("format_", WRITERS, ids=lambda each: each.name)
@given(elements=STREAMS)
@settings(max_examples=8, deadline=None)
def test_equal_to_timed_n_triples(format_: Format, elements: list[StreamElement]) -> None:
    """The way over Parquet, which `hydrograph convert` takes, from timed N-Triples and back."""
    from hydrograph.streams.formats import parquet, tnt

    if format_.only_triples:
        elements = [StreamElement(each.number, each.t, each.triples[:1]) for each in elements if abs(each.t) < 10**18]
        elements = [each for each in elements if "_" not in (each.triples[0][0][0], each.triples[0][2][0])]
    with TemporaryDirectory() as name:
        directory = Path(name)
        text = directory / "in.tnt"
        lines = [f"{each.t}:{each.number}\t{' '.join(triple)} .\n" for each in elements for triple in each.triples]
        text.write_text("".join(lines), newline="\n")
        stream = open_stream(str(text))
        manifest = parquet.write_arrow(events_as_arrow(stream), directory / "recorded", salt=stream.salt)
        files = parquet.paths(directory / "recorded", manifest)
        assert sum(len(each.triples) for each in elements_of(files, stream.salt)) == len(lines)
        target = target_of(directory, format_)
        written = write_stream(files, stream.salt, str(target), format_)
        assert written.rows == len(lines)
        again = open_stream(str(target))
        manifest = parquet.write_arrow(events_as_arrow(again), directory / "again", salt=again.salt)
        tnt.write_tnt(parquet.paths(directory / "again", manifest), again.salt, str(directory / "out.tnt"))
        assert same(read(directory / "out.tnt", TNT), read(text, TNT))
        assert same(read(target), read(text, TNT))


def long_string(text: str) -> str:
    """Return a term with its string in long quotes, in which ends of lines and some quotes stand as they are."""
    if not text.startswith('"'):
        return text
    literal = decode(text)
    assert isinstance(literal, Literal)
    inside = literal.lexical.replace("\\", "\\\\").replace("'", "\\'")
    return f"'''{inside}'''{text[text.rindex(chr(34)) + 1 :]}"


@given(elements=STREAMS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_logs_of_messages_in_trig(elements: list[StreamElement], data: st.DataObject) -> None:
    text = 'VERSION "1.2-messages"\n'
    for element in elements:
        graph = f"<urn:g{element.number}>"
        triples = [tuple(map(long_string, triple)) for triple in element.triples]
        space = data.draw(st.sampled_from(["\n", " ", " # MESSAGE\n", "\n\n"]))
        text += f"{graph} {GENERATED} {moment_text(element.t)} .{space}{graph} {{{space}"
        text += "".join(f"{s}{space}{p} {o}{space}.{space}" for s, p, o in triples)
        text += f"}}{space}{data.draw(st.sampled_from(['MESSAGE', 'message', '@message .', '@message.']))}{space}"
    with TemporaryDirectory() as directory:
        log = Path(directory) / "log.trig"
        log.write_text(text, "utf-8", newline="")
        assert same(read(log), expected(elements))


@pytest.mark.parametrize("packed", [".gz", ".zst"])
@pytest.mark.parametrize("format_", [each for each in WRITERS if not each.one_each], ids=lambda each: each.name)
def test_packed_files(tmp_path: Path, format_: Format, packed: str) -> None:
    elements = [
        StreamElement(1, 5, (("<urn:a>", "<urn:b>", '"é"@en'),)),
        StreamElement(2, 6, (("<urn:a>", "<urn:b>", "<urn:c>"),)),
    ]
    target = target_of(tmp_path, format_, packed)
    write_elements(elements, str(target), format_)
    assert read(target) == expected(elements)
    raw = target.read_bytes()
    plain = gzip.decompress(raw) if packed == ".gz" else zstandard.ZstdDecompressor().stream_reader(raw).read()
    bare = target_of(tmp_path, format_)
    bare.write_bytes(plain)
    assert read(bare) == expected(elements)
    target.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match="damaged"):
        read(target)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
@given(noise=st.binary(min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_noise_is_refused_in_one_line(format_: Format, noise: bytes) -> None:
    with TemporaryDirectory() as directory:
        file = Path(directory) / f"1{format_.endings[0]}"
        file.write_bytes(noise)
        with suppress(DataError):
            events_as_arrow(open_stream(str(file), format=format_.name)).read_all()
            return
        with pytest.raises(DataError) as caught:
            events_as_arrow(open_stream(str(file), format=format_.name)).read_all()
        assert str(file) in str(caught.value)
        assert str(caught.value).isprintable()  # so it is one line too


def test_an_empty_file_is_an_empty_stream(tmp_path: Path) -> None:
    for format_ in FORMATS:
        file = tmp_path / f"5{format_.endings[0]}"
        file.write_bytes(b"")
        if format_.name != "jsonld":  # an empty text is no JSON
            assert read(file, format_.name) == []


def test_written_text_does_not_depend_on_the_run(tmp_path: Path) -> None:
    """Parsers make up random labels for blank nodes without one; ours are numbered."""
    file = tmp_path / "1.ttl"
    file.write_text("<urn:a> <urn:b> [ <urn:c> [], [ <urn:d> 1 ] ] .")
    assert read(file) == read(file)
    assert len(blanks_of(read(file)[0][1])) == 3


def test_an_unknown_format() -> None:
    with pytest.raises(Exception, match="no format named 'csv'; formats: tnt, nquads, "):
        format_named("csv")

"""What a program sends: checked before it is acknowledged, and in the log when it is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph import api
from hydrograph.errors import DataError, UsageError
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.push import LiveStream
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.validate_rows import check_rows
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.encoding import term_id
from hydrograph.rdf.nquads import parse_term, term_text
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.streams.schema import EVENTS, Row, encode_events

STREAM = "urn:stream"
QUERY = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[LiveStream]:
    log = LocalFiles(tmp_path / "log")
    source = open_partition(Iri(STREAM), "push:", log)
    assert isinstance(source, LoggedPartition)
    source.resume(Lease(log), 0)
    source.start(lambda: None)
    yield LiveStream(STREAM, source)
    source.stop()


def logged(stream: LiveStream) -> list[tuple[int, str]]:
    source = stream.source
    return [(row["t"], row["s"]) for chunk in source.read(0, source.end()) for row in chunk.events.to_pylist()]


def table(*rows: Row) -> pa.Table:
    return pa.Table.from_batches([encode_events([*rows])])


GOOD = table((100, 1, "<urn:a>", "<urn:p>", "<urn:b>"), (100, 1, "_:b", "<urn:p>", '"5"@en'))


def changed(name: str, value: object, id_: int | None = None) -> pa.Table:
    """Return two rows of which the second has another value, with its id or with one that is given."""
    made = GOOD
    new = {name: value}
    if isinstance(value, str):
        new[f"{name}_id"] = term_id(value) if id_ is None else id_
    for column, each in new.items():
        values = pa.array([GOOD.column(column)[0].as_py(), each], EVENTS.field(column).type)
        made = made.set_column(EVENTS.get_field_index(column), EVENTS.field(column), values)
    return made


@pytest.mark.parametrize("name", ["t", "seq", "s", "p", "o", "s_id", "p_id", "o_id", "o_kind"])
def test_rows_without_a_value_are_refused(stream: LiveStream, name: str) -> None:
    with pytest.raises(DataError, match=f"row 2: expected a value for '{name}'"):
        stream.send_table(changed(name, None))
    assert logged(stream) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("s", "nonsense", "an IRI or a blank node"),
        ("s", '"5"', "an IRI or a blank node"),
        ("s", "<relative>", "an absolute IRI"),
        ("s", "<urn:a b>", "a legal character"),
        ("p", "_:b", "expected an IRI, got"),
        ("o", "", "an IRI, a blank node or a literal"),
        ("o", '"5', "a legal character or the end of the string"),
        ("o", '"5"@EN', 'the canonical text "5"@en'),
        ("o", '"\\u00e9"', 'the canonical text "é"'),
        ("o", '"5"^^<http://www.w3.org/2001/XMLSchema#string>', 'the canonical text "5"'),
        ("o", f"<urn:{'x' * 9000}>", "at most 8192 bytes in the IRI"),
        ("o", "<urn:a>\n", "expected"),
    ],
)
def test_texts_that_are_no_terms_are_refused(stream: LiveStream, name: str, text: str, complaint: str) -> None:
    with pytest.raises(DataError, match="row 2: expected") as raised:
        stream.send_table(changed(name, text))
    assert complaint in str(raised.value)
    assert logged(stream) == []


def test_an_id_that_is_not_that_of_its_term_is_refused(stream: LiveStream) -> None:
    with pytest.raises(DataError, match="row 2: expected the id 5 in 'p_id' to be that of the term, got <urn:q>"):
        stream.send_table(changed("p", "<urn:q>", 5))
    with pytest.raises(DataError, match="expected columns of the types"):
        stream.send_table(GOOD.set_column(0, "t", pa.array(["a", "b"])))
    assert logged(stream) == []


@given(st.text() | st.from_regex(r'\A(<[a-z]+:[^ ]*>|_:[a-z0-9.]*|"[^"]*"(@[a-zA-Z-]+|\^\^<[a-z:]*>)?)\Z'))
def test_a_text_is_taken_where_it_is_the_canonical_one_of_a_term(text: str) -> None:
    try:
        canonical = term_text(parse_term(text)) == text
    except DataError:
        canonical = False
    try:
        check_rows(changed("o", text))
        taken = True
    except DataError:
        taken = False
    assert taken == canonical


def test_rows_that_are_right_are_sent(stream: LiveStream) -> None:
    stream.send_table(GOOD)
    stream.send_table(GOOD.slice(0, 0))
    assert logged(stream) == [(100, "<urn:a>"), (100, "_:b")]


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ((2**70, "<urn:a> <urn:p> <urn:b> ."), DataError),
        ((-(2**63) - 1, "<urn:a> <urn:p> <urn:b> ."), DataError),
        ((100, '<urn:a> <urn:p> "\ud800" .'), DataError),
        (('100\t<urn:a> <urn:p> "\ud800" .',), DataError),
        ((100, Triple(Iri("a b"), Iri("urn:p"), Iri("urn:b"))), DataError),
        ((100, Triple(Iri("urn:a"), Iri("urn:p"), Literal("\ud800"))), DataError),
        ((True, "<urn:a> <urn:p> <urn:b> ."), UsageError),
        ((1.5, "<urn:a> <urn:p> <urn:b> ."), UsageError),
        ((1.5,), UsageError),
        ((None,), UsageError),
    ],
)
def test_what_can_not_be_an_element_is_refused_in_words(
    stream: LiveStream, what: tuple[Any, ...], error: type[Exception]
) -> None:
    with pytest.raises(error, match="expected"):
        stream.send(*what)
    assert logged(stream) == []


def rejected(stream: LiveStream) -> int:
    return sum(chunk.rejected for chunk in stream.source.read(0, stream.source.end()))


def test_the_last_element_of_sent_lines_is_in_the_log(stream: LiveStream) -> None:
    stream.send_lines([f"100:1\t<urn:{name}> <urn:p> <urn:o> ." for name in "ab"])
    assert logged(stream) == [(100, "<urn:a>"), (100, "<urn:b>")]
    stream.send_lines(["100:1\t<urn:c> <urn:p> <urn:o> .\n", "nonsense", "200\t<urn:d> <urn:p> <urn:\ud800> ."])
    assert logged(stream)[2:] == [(100, "<urn:c>")]
    assert rejected(stream) == 2
    seqs = [seq for chunk in stream.source.read(0, stream.source.end()) for seq in chunk.events["seq"].to_pylist()]
    assert seqs[0] == seqs[1] < seqs[2]


def test_lines_of_many_threads_stay_whole(stream: LiveStream) -> None:
    def send(name: int) -> None:
        for t in range(20):
            stream.send_lines([f"{t}:1\t<urn:{name}> <urn:p> <urn:o{n}> ." for n in range(3)])

    threads = [threading.Thread(target=send, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = pa.concat_tables([chunk.events for chunk in stream.source.read(0, stream.source.end())])
    elements: dict[int, list[str]] = {}
    for seq, s in zip(found["seq"].to_pylist(), found["s"].to_pylist(), strict=True):
        elements.setdefault(seq, []).append(s)
    assert len(elements) == 120
    assert all(len(each) == 3 and len(set(each)) == 1 for each in elements.values())


def test_a_driver_goes_on_behind_what_was_refused(tmp_path: Path) -> None:
    live = api.query(QUERY).start({STREAM: "push:"}, checkpoint=tmp_path / "checkpoint")
    hand = live.streams[STREAM]
    for wrong in (changed("s", "nonsense"), changed("t", None)):
        with pytest.raises(DataError):
            hand.send_table(wrong)
    hand.send(200, "<urn:a> <urn:p> <urn:b> .")
    hand.end()
    assert live.wait(30)
    assert live.status()["used"] == 1

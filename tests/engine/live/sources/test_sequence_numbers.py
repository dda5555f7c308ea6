"""The numbers of elements in directories: each once in its stream, in the order of the log, and as replay has them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph import api
from hydrograph.errors import DataError
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.sources.directory.sequence_numbers import FileNumbers, Numbering, number_rows
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.source import PARTITION_BITS, PartitionReader
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.encoding import term_id
from hydrograph.rdf.terms import Iri
from hydrograph.streams.formats import parquet
from hydrograph.streams.schema import encode_events
from hydrograph.streams.sources import events_as_arrow, open_stream

STREAM = "urn:s"
FOUR = "SELECT ?a FROM NAMED WINDOW <urn:w> ON <urn:s> [ELEMENTS 4 STEP 4] WHERE { WINDOW <urn:w> { ?a <urn:p> ?b } }"
SAME = (
    "SELECT ?a ?b FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s STEP 1s] "
    "WHERE { WINDOW <urn:w> { ?a <urn:p> ?b . ?c <urn:p> ?b FILTER(?a != ?c) } }"
)


def lines(name: str) -> str:
    return "".join(f"{100 * t}\t<urn:{name}{t}> <urn:p> _:b .\n" for t in range(1, 9))


def directory(place: Path, **files: str) -> Path:
    place.mkdir()
    for name, text in files.items():
        (place / f"{name}.tnt").write_text(text)
    (place / "_END").touch()
    return place


def converted(place: Path, text: str, target: Path) -> Path:
    """Write a text as Parquet; return the one file of it."""
    source = place / f"{target.stem}.tnt.source"
    source.write_text(text)
    written = place / f"{target.stem}.record"
    parquet.write_arrow(
        events_as_arrow(open_stream(str(source), name=STREAM, format="tnt")), written, salt=open_salt(source)
    )
    (part,) = written.glob("*.parquet")
    target.parent.mkdir(exist_ok=True)
    return part.rename(target)


def open_salt(source: Path) -> str:
    return open_stream(str(source), name=STREAM, format="tnt").salt


def lived(query: str, urls: Sequence[str], place: Path) -> list[str]:
    results = place / "results"
    live = api.query(query).start([(STREAM, url) for url in urls], checkpoint=place / "checkpoint", results=results)
    assert live.wait(30)
    return [text for _, text in read_units(LocalFiles(results))]


def replayed(query: str, location: Path) -> list[str]:
    with api.query(query).over(str(location), placement="local") as run:
        return [report.json("query") for report in run.reports()]


def opened(url: Path, log: Path, **given: int) -> PartitionReader:
    files = LocalFiles(log)
    source = open_partition(Iri(STREAM), str(url), files, number=given.get("partition", 0), shared=bool(given))
    source.resume(Lease(files), 0)
    return source


def events(source: PartitionReader) -> pa.Table:
    return pa.concat_tables([chunk.events for chunk in source.read(0, source.end())])


def test_elements_of_two_directories_are_counted_apart(tmp_path: Path) -> None:
    one, two = directory(tmp_path / "one", a=lines("x")), directory(tmp_path / "two", a=lines("z"))
    reports = lived(FOUR, [str(one), str(two)], tmp_path)
    assert [report.count('"urn:') for report in reports] == [4, 4, 4, 4]


def test_blank_nodes_of_two_directories_and_two_files_are_not_the_same(tmp_path: Path) -> None:
    one, two = directory(tmp_path / "one", a=lines("x"), b=lines("y")), directory(tmp_path / "two", a=lines("z"))
    assert not any('"urn:' in report for report in lived(SAME, [str(one), str(two)], tmp_path))


def test_parquet_files_that_come_one_after_another_are_counted_apart(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    for name in "xyz":
        converted(tmp_path, lines(name), inside / f"{name}.parquet")
    (inside / "_END").touch()
    (tmp_path / "same").mkdir()
    assert [report.count('"urn:') for report in lived(FOUR, [str(inside)], tmp_path)] == [4] * 6
    assert not any('"urn:' in report for report in lived(SAME, [str(inside)], tmp_path / "same"))


def test_a_parquet_file_has_the_numbers_of_the_text_it_was_made_of(tmp_path: Path) -> None:
    inside, texts = tmp_path / "in", directory(tmp_path / "texts", x=lines("x"), y=lines("y"))
    for name in "xy":
        converted(tmp_path, lines(name), inside / f"{name}.parquet")
    found, expected = (events(opened(place, tmp_path / f"{place.name}.log")) for place in (inside, texts))
    sorted_by = [("seq", "ascending"), ("s", "ascending")]
    columns = [name for name in found.column_names if name != "t_next"]
    assert found.select(columns).sort_by(sorted_by).equals(expected.select(columns).sort_by(sorted_by))


def test_a_recorded_stream_of_several_files_is_what_replay_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet.ranges, "__defaults__", (3,))
    text = tmp_path / "all.tnt"
    text.write_text(lines("x"))
    record = tmp_path / "record"
    given = open_stream(str(text), name=STREAM)
    assert len(parquet.write_arrow(events_as_arrow(given), record, salt=given.salt).files) > 1
    query = FOUR.replace("?a FROM", "?a ?b FROM")
    expected = replayed(query, record)
    (record / "another.tnt").write_text(lines("z"))  # replay does not see it either
    (record / "_END").touch()
    assert lived(query, [str(record)], tmp_path) == expected


def test_a_recorded_stream_is_a_partition_among_others(tmp_path: Path) -> None:
    text = tmp_path / "all.tnt"
    text.write_text(lines("x"))
    urls = []
    for name in ("one", "two"):
        given = open_stream(str(text), name=STREAM)
        parquet.write_arrow(events_as_arrow(given), tmp_path / name, salt=given.salt)
        (tmp_path / name / "_END").touch()
        urls.append(str(tmp_path / name))
    found = [events(opened(Path(url), tmp_path / f"{n}.log", partition=n)) for n, url in enumerate(urls)]
    assert not {*found[0]["o_id"].to_pylist()} & {*found[1]["o_id"].to_pylist()}
    assert [report.count('"urn:') for report in lived(FOUR, urls, tmp_path)] == [4, 4, 4, 4]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 9000), st.integers(1, 2**28 - 1)), unique=True, min_size=2
    ).map(sorted)
)
def test_places_are_in_order_and_never_the_same(elements: list[tuple[int, int, int]]) -> None:
    numbering = Numbering.of(shared=True, recorded=False)
    found = [FileNumbers.of(numbering, partition, file, "").base + number for partition, file, number in elements]
    assert all(before < after for before, after in pairwise(found))
    assert all(seq >> PARTITION_BITS == partition for seq, (partition, _, _) in zip(found, elements, strict=True))


def rows(*seqs: int) -> pa.Table:
    return pa.Table.from_batches([encode_events([(1, seq, f"_:e{seq}xaxb", "<urn:p>", "_:f") for seq in seqs])])


def test_numbers_that_are_too_large_for_a_file_are_given_anew_in_their_order() -> None:
    place = FileNumbers.of(Numbering(), 0, 2, "salt")
    found = number_rows(rows(7 << 40, 3, 7 << 40, 5 << 40), place)
    assert [seq - place.base for seq in found["seq"].to_pylist()] == [3, 1, 3, 2]
    assert found["s"].to_pylist() == [f"_:e{seq}xsaltxb" for seq in found["seq"].to_pylist()]
    assert {*found["o"].to_pylist()} == {f"_:e{place.base}xsaltxf"}
    for name in ("s", "o"):
        assert found[f"{name}_id"].to_pylist() == [term_id(text) for text in found[name].to_pylist()]
    with pytest.raises(DataError, match="expected less than 2 elements in a file"):
        number_rows(rows(1, 2, 3), FileNumbers(0, 2, ""))
    with pytest.raises(DataError, match="belong to other partitions"):
        number_rows(rows(1 << 52), FileNumbers.of(Numbering(recorded=True), 1, 0, ""))


def test_files_for_which_there_are_no_numbers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Numbering, "most_files", lambda *_, **__: 2)
    inside = directory(tmp_path / "in", a=lines("x"), b=lines("y"))
    source = opened(inside, tmp_path / "log", partition=1)
    assert source.end() == 2
    (inside / "c.tnt").write_text(lines("z"))
    with pytest.raises(DataError, match="expected at most 2 files"):
        source.end()


def test_a_directory_that_was_alone_keeps_its_numbers_beside_another(tmp_path: Path) -> None:
    inside = directory(tmp_path / "in", a=lines("x"), b=lines("y"))
    alone = opened(inside, tmp_path / "log")
    before = events(alone)
    beside = opened(inside, tmp_path / "log", partition=0)
    assert events(beside).equals(before)


def test_a_process_that_reads_for_the_driver_has_the_same_numbers(tmp_path: Path) -> None:
    inside = directory(tmp_path / "in", a=lines("x"), b=lines("y"))
    driver = opened(inside, tmp_path / "log", partition=0)
    expected = events(driver)
    reader = open_partition(Iri(STREAM), str(inside), LocalFiles(tmp_path / "log"))
    assert events(reader).equals(expected)

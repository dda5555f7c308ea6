"""Static graphs in every format give the same triples."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
import zstandard

from hydrograph.errors import DataError
from hydrograph.streams.static_graphs import read_dataset, read_graphs, read_static, static_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NT = r"""<urn:s> <urn:p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .
# a comment

<urn:s> <urn:p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> . # the same again
<urn:s> <urn:p> "\u00e9\t\"'; --"@EN .
_:b <urn:p> _:c .
"""


def triples(location: Path) -> set[tuple[str, ...]]:
    table = read_static(str(location))
    found = list(zip(*(table[name].to_pylist() for name in ("s", "p", "o")), strict=True))
    assert len(found) == len(set(found))
    return set(found)


def test_every_format_gives_the_same(tmp_path: Path) -> None:
    (tmp_path / "g.nt").write_text(NT)
    expected = triples(tmp_path / "g.nt")
    assert len(expected) == 3
    assert ("<urn:s>", "<urn:p>", '"é\t\\"\'; --"@en') in expected
    for name in ("a/g.ttl", "b/g.nq", "c/g.trig"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(NT)
        assert len(triples(tmp_path / name)) == 3
    (tmp_path / "g.nt.gz").write_bytes(gzip.compress(NT.encode()))
    (tmp_path / "g.nt.zst").write_bytes(zstandard.compress(NT.encode()))
    assert {row for row in triples(tmp_path / "g.nt.gz") if row[0][0] == "<"} == {
        row for row in expected if row[0][0] == "<"
    }
    assert len(triples(tmp_path / "g.nt.zst")) == 3
    pq.write_table(read_static(str(tmp_path / "g.nt")), tmp_path / "g.parquet")
    assert triples(tmp_path / "g.parquet") == expected


def test_blank_nodes_of_two_files_differ(tmp_path: Path) -> None:
    for name in ("one.nt", "two.ttl"):
        (tmp_path / name).write_text("_:b <urn:p> <urn:o> .")
    assert len(triples(tmp_path)) == 2


ANONYMOUS = """@prefix : <urn:> .
:a :r [ :q 1 ; :r ( 1 [ :q 2 ] ) ] , _:x .
_:x :q 3 .
:b :r [] , _:x , _:b0 .
"""


@pytest.mark.parametrize("name", ["g.ttl", "g.trig", "g.ttl.gz"])
def test_nodes_without_a_label_are_the_same_in_each_reading(tmp_path: Path, name: str) -> None:
    text = ANONYMOUS if ".ttl" in name else ANONYMOUS + ":g { :c :r [ :q 4 ] , _:x }"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    first, again = read_dataset(str(tmp_path / name)), read_dataset(str(tmp_path / name))
    assert first.keys() == again.keys()
    assert all(first[graph].equals(again[graph]) for graph in first)


def test_nodes_without_a_label_are_the_same_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(ANONYMOUS)
    program = (
        "import sys; from hydrograph.streams.static_graphs import read_static; "
        "print(read_static(sys.argv[1]).to_pylist())"
    )
    here = f"{read_static(str(tmp_path / 'g.ttl')).to_pylist()}\n"
    there = subprocess.run([sys.executable, "-c", program, str(tmp_path / "g.ttl")], capture_output=True, check=True)
    assert there.stdout.decode() == here


def test_a_label_is_one_node_in_its_file_and_no_other_there_or_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "one.ttl").write_text(ANONYMOUS)
    (tmp_path / "two.ttl").write_text(ANONYMOUS)
    one, two, both = triples(tmp_path / "one.ttl"), triples(tmp_path / "two.ttl"), triples(tmp_path)
    assert len(one) == len(two) == 13
    assert len(both) == 26
    of_a = {o for s, _, o in one if s == "<urn:a>"}
    of_b = {o for s, _, o in one if s == "<urn:b>"}
    assert len(of_a & of_b) == 1  # _:x
    assert len(of_b) == 3  # one without a label, and one whose label is none that we would give to it
    assert len({node for triple in one for node in triple if node[0] == "_"}) == 7


def test_named_graphs(tmp_path: Path) -> None:
    (tmp_path / "g.trig").write_text("<urn:s> <urn:p> 1 . <urn:g> { <urn:s> <urn:p> 2 }")
    dataset = read_dataset(str(tmp_path / "g.trig"))
    assert {graph: len(table) for graph, table in dataset.items()} == {"": 1, "<urn:g>": 1}


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("g.nt", "<urn:s> <urn:p> .\n", r"g\.nt, line 1, column 17"),
        ("g.ttl", "@prefix x: <urn:x> .\nx:a x:b [ .\n", r"g\.ttl, line 2, column"),
        ("g.rdf", "<rdf/>", "RDF/XML is not read"),
        ("g.txt", "", r"unknown format; known are \.nt"),
        ("g.nt.gz", "no gzip", "damaged"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=complaint):
        read_static(str(tmp_path / name))


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_static(str(tmp_path / "x.nt"))


@pytest.mark.spark
def test_spark_gives_the_same(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "one.nt").write_text(NT)
    (tmp_path / "two.nt").write_text(NT + "<urn:x><urn:y><urn:z>.")
    here = read_static(str(tmp_path)).to_pylist()
    there = static_on_spark(str(tmp_path), spark).toArrow().to_pylist()
    assert sorted(map(str, here)) == sorted(map(str, there))


def test_a_dataset_of_several_sources(tmp_path: Path) -> None:
    (tmp_path / "g.trig").write_text("<urn:s> <urn:p> 1 . <urn:g> { <urn:s> <urn:p> 2 }")
    (tmp_path / "g.ttl").write_text("<urn:s> <urn:p> 2 , 3 .")
    graphs = read_graphs([(None, str(tmp_path / "g.trig")), ("urn:g", str(tmp_path / "g.ttl"))])
    assert graphs.default is not None
    assert graphs.default.num_rows == 1
    assert graphs.named is not None
    assert {name: table.num_rows for name, table in graphs.named.items()} == {"<urn:g>": 2}
    assert graphs.quads().column("g").to_pylist() == ["<urn:g>"] * 2
    assert graphs.names().column("g").to_pylist() == ["<urn:g>"]
    assert read_graphs([(None, str(tmp_path / "g.ttl"))]).named is None


def test_a_dataset_cannot_be_one_named_graph(tmp_path: Path) -> None:
    (tmp_path / "g.trig").write_text("<urn:g> { <urn:s> <urn:p> 2 }")
    with pytest.raises(DataError, match="expected the triples of the graph <urn:x>, got named graphs"):
        read_graphs([("urn:x", str(tmp_path / "g.trig"))])

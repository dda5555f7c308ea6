"""Static named graphs, given as a dataset file or graph by graph, in both placements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hydrograph
from hydrograph.api import Static
from hydrograph.errors import QueryError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIG = """PREFIX : <urn:>
:a :q :b .
:g1 { :a :p 1 , 2 . }
:g2 { :a :p 2 . _:x :p 3 . }
"""
HEAD = "PREFIX : <urn:> SELECT {} FROM NAMED WINDOW :w ON :s [RANGE 10 STEP 10] "
JOINED = HEAD.format("?g ?o") + "WHERE {{ WINDOW :w {{ ?s :p ?x }} GRAPH {} {{ ?s :p ?o }} }}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "stream.tnt").write_text("3\t<urn:a> <urn:p> <urn:x> .\n")
    (tmp_path / "all.trig").write_text(TRIG)
    (tmp_path / "default.ttl").write_text("<urn:a> <urn:q> <urn:b> .")
    (tmp_path / "one.ttl").write_text("<urn:a> <urn:p> 1 , 2 .")
    (tmp_path / "two.ttl").write_text("<urn:a> <urn:p> 2 . _:x <urn:p> 3 .")
    return tmp_path


def statics(folder: Path) -> list[Static]:
    parts: dict[str | None, str] = {None: "default.ttl", "urn:g1": "one.ttl", "urn:g2": "two.ttl"}
    return [folder / "all.trig", {name: folder / file for name, file in parts.items()}]


def answers(
    folder: Path, text: str, static: Static | None, session: SparkSession | None = None
) -> list[tuple[str, ...]]:
    placement = "local" if session is None else "spark"
    with hydrograph.query(text).over(folder / "stream.tnt", static, placement=placement, session=session) as run:
        (report,) = run.reports()
    # integers as their digits, names as they are
    return [tuple(str(term).split("^")[0].strip('"') for term in row) for row in report.rows]


EVERY_GRAPH = [("<urn:g1>", "1"), ("<urn:g1>", "2"), ("<urn:g2>", "2")]


def test_a_variable_ranges_over_the_graphs(folder: Path) -> None:
    for static in statics(folder):
        assert answers(folder, JOINED.format("?g"), static) == EVERY_GRAPH


def test_one_graph_is_named(folder: Path) -> None:
    for static in statics(folder):
        assert answers(folder, JOINED.format(":g2").replace("?g ?o", "?o"), static) == [("2",)]
        assert answers(folder, JOINED.format(":none").replace("?g ?o", "?o"), static) == []


def test_from_named_chooses_and_from_merges(folder: Path) -> None:
    for static in statics(folder):
        chosen = JOINED.format("?g").replace("WHERE", "FROM NAMED :g1 WHERE")
        assert answers(folder, chosen, static) == EVERY_GRAPH[:2]
        merged = HEAD.format("?o") + "FROM :g2 WHERE { :a :p|:q ?o }"
        assert answers(folder, merged, static) == [("2",), ("<urn:b>",)]


def test_a_graph_without_triples_still_has_its_name(folder: Path) -> None:
    (folder / "empty.ttl").write_text("")
    static: Static = {"urn:g1": folder / "one.ttl", "urn:empty": folder / "empty.ttl"}
    assert answers(folder, HEAD.format("?g") + "WHERE { GRAPH ?g { } }", static) == [("<urn:empty>",), ("<urn:g1>",)]


def test_blank_nodes_of_two_graphs_differ_even_with_equal_file_names(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "g.ttl").write_text("_:b <urn:p> 1 .")
    static: Static = {f"urn:{name}": folder / name / "g.ttl" for name in ("one", "two")}
    shared = HEAD.format("?b") + "WHERE { GRAPH :one { ?b :p 1 } GRAPH :two { ?b :p 1 } }"
    assert answers(folder, shared, static) == []


def test_a_graph_named_by_a_blank_node_is_one(folder: Path) -> None:
    (folder / "blank.trig").write_text("_:g { <urn:a> <urn:p> 1 }")
    text = HEAD.format("?x") + "WHERE { GRAPH ?g { ?s :p ?o } BIND(isBlank(?g) && !isIRI(?g) AS ?x) }"
    assert answers(folder, text, folder / "blank.trig") == [("true",)]


def test_what_is_given_twice_counts_once(folder: Path) -> None:
    counted = HEAD.format("(COUNT(*) AS ?n)") + "WHERE { GRAPH :g1 { ?s :p ?o } }"
    (folder / "both.trig").write_text(TRIG + ":g1 { :a :p 1 }")
    assert answers(folder, counted, folder / "both.trig") == [("2",)]


def test_a_graph_that_nobody_gave_is_said(folder: Path) -> None:
    text = JOINED.format("?g").replace("WHERE", "FROM NAMED :g9 WHERE")
    with pytest.raises(UsageError, match=r"no static graph is given for <urn:g9>; given graphs: <urn:g1>, <urn:g2>"):
        answers(folder, text, folder / "all.trig")
    with pytest.raises(UsageError, match="no static graph is given for <urn:g9>"):
        answers(folder, HEAD.format("?o") + "FROM :g9 WHERE { ?s :p ?o }", {"urn:g1": folder / "one.ttl"})
    with pytest.raises(QueryError, match="GRAPH reads static named graphs, and none is given"):
        answers(folder, JOINED.format("?g"), folder / "default.ttl")
    assert answers(folder, HEAD.format("?o") + "FROM :g9 WHERE { ?s :q ?o }", folder / "default.ttl") == [("<urn:b>",)]


@pytest.mark.spark
def test_spark_gives_the_same(folder: Path, spark: SparkSession) -> None:
    for static in statics(folder):
        assert answers(folder, JOINED.format("?g"), static, spark) == EVERY_GRAPH

"""Sums are added as exact numbers only where neither data nor query has a float or a double."""

from __future__ import annotations

from pathlib import Path

import pytest

import hydrograph
from hydrograph.language import parse
from hydrograph.runtime.plan import makes_inexact
from hydrograph.streams.formats.parquet import write_arrow
from hydrograph.streams.sources import events_as_arrow, open_stream

START = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT5S STEP PT5S] WHERE"
DOUBLE = "^^<http://www.w3.org/2001/XMLSchema#double>"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording whose manifest declares that it has no floats and doubles."""
    folder = tmp_path_factory.mktemp("inexact")
    text = folder / "s.tnt"
    integer, decimal = (
        f'"{value}"^^<http://www.w3.org/2001/XMLSchema#{kind}>'
        for value, kind in (("1", "integer"), ("2.5", "decimal"))
    )
    text.write_text(f"1000\t<urn:a> <urn:v> {integer} .\n1001\t<urn:b> <urn:v> {decimal} .\n", "utf-8")
    stream = open_stream(str(text), name="urn:s")
    write_arrow(events_as_arrow(stream), folder / "s", salt=stream.salt)
    return folder / "s"


@pytest.mark.parametrize(
    ("what", "more", "answer"),
    [
        ("SUM(?v)", "", '"3.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
        ("SUM(xsd:double(?v))", "", f'"3.5E0"{DOUBLE}'),
        ("SUM(xsd:float(?v))", "", '"3.5E0"^^<http://www.w3.org/2001/XMLSchema#float>'),
        ("AVG(?v * 2e0)", "", f'"3.5E0"{DOUBLE}'),
        ("SUM(?d)", "BIND(?v + 0.5e0 AS ?d)", f'"4.5E0"{DOUBLE}'),
        ("SUM(?d)", "VALUES ?d { 1e0 2 }", f'"6.0E0"{DOUBLE}'),
        ("SUM(STRDT(STR(?v), xsd:double))", "", f'"3.5E0"{DOUBLE}'),
        ("SUM(?d)", "{ SELECT ?v (MAX(?u * 1e0) AS ?d) { ?a <urn:v> ?v, ?u } GROUP BY ?v }", f'"3.5E0"{DOUBLE}'),
    ],
)
def test_a_query_may_bring_doubles(recorded: Path, what: str, more: str, answer: str) -> None:
    text = f"{START} SELECT ({what} AS ?x) {WINDOW} {{ WINDOW <urn:w> {{ ?a <urn:v> ?v {more} }} }}"
    with hydrograph.query(text).over(recorded, placement="local") as run:
        assert [report.rows for report in run.reports()] == [((answer,),)]


@pytest.mark.parametrize("pattern", ["?a <urn:v> 1e0", "?a <urn:v> ?b FILTER(?b > 1.5)", "?a <urn:v>+ ?b"])
def test_what_is_matched_with_data_brings_nothing(pattern: str) -> None:
    query = parse(f"{START} SELECT * {WINDOW} {{ WINDOW <urn:w> {{ {pattern} }} }}")
    assert not makes_inexact(query.pattern)

"""Windows and reports from files, through the interface people use: both placements say the same, in every form."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from hydrograph import api
from hydrograph.errors import UsageError
from hydrograph.rdf.nquads import parse_statement
from hydrograph.rdf.terms import Iri, Quad, Triple
from hydrograph.runtime.reports import Report, digest
from hydrograph.streams.sources import open_stream
from hydrograph.windows.profile import Origin, ProfileOverrides
from hydrograph.windows.report import When
from hydrograph.windows.tick import Tick
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import StaticData, elements_of
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from tests.support.reported import as_expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

S, OTHER = "http://example.org/s", "http://example.org/other"
UNNAMED = "urn:hydrograph:stream"
"""The stream of a language that has no name for it."""
P = "<http://example.org/p>"
MIDDLE = '"1970-01-01T00:00:01.040Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
PATTERN = f"?a {P} ?b"
IN_W, IN_V = f"WINDOW <urn:w> {{ {PATTERN} }}", f"WINDOW <urn:v> {{ ?b {P} ?c }}"
TEXTS = {
    "C-SPARQL": f"SELECT ?a (COUNT(*) AS ?n) FROM STREAM <{S}> [RANGE 20ms STEP 10ms] {{ {PATTERN} }} GROUP BY ?a",
    "two streams": f"SELECT ?a ?c FROM STREAM <{S}> [RANGE 20ms STEP 10ms] FROM STREAM <{OTHER}> [RANGE TRIPLES 4] "
    f"{{ {PATTERN} . ?b {P} ?c }}",
    "SPARQLstream": f"SELECT ISTREAM ?a ?b FROM NAMED STREAM <{S}> [NOW - 15 MS SLIDE 10 MS] {{ {PATTERN} }}",
    "past": f"SELECT ?a ?b FROM NAMED STREAM <{S}> [NOW - 25 MS TO NOW - 10 MS SLIDE 10 MS] {{ {PATTERN} }}",
    "CQELS": f"SELECT ?a ?c {{ STREAM <{S}> [RANGE 9ms] {{ {PATTERN} }} STREAM <{OTHER}> [NOW] {{ ?b {P} ?c }} }}",
    "ELEMENTS": f"SELECT ?a ?b FROM NAMED WINDOW <urn:w> ON <{S}> [ELEMENTS 5 STEP 3] {{ {IN_W} }}",
    "closes": f"SELECT ?a ?c FROM NAMED WINDOW <urn:w> ON <{S}> [RANGE 20 STEP 10] "
    f"FROM NAMED WINDOW <urn:v> ON <{OTHER}> [RANGE 15 STEP 6] {{ {IN_W} {IN_V} }}",
    "clock": f"SELECT ?a ?now {{ STREAM <{S}> [RANGE 9ms] {{ {PATTERN} BIND(NOW() AS ?now) "
    f"FILTER(NOW() > {MIDDLE}) }} }}",
    "construct": f"CONSTRUCT {{ ?a <urn:q> [ <urn:r> ?b ] }} WHERE {{ STREAM <{S}> [RANGE 9ms] {{ {PATTERN} }} }}",
    "Strider": "STREAMING { WINDOW [20 MILLISECONDS] SLIDE [10 MILLISECONDS] BATCH [10 MILLISECONDS] } "
    f"REGISTER {{ QUERYID [q] REASONING [FALSE] SPARQL [ SELECT ?a ?b WHERE {{ {PATTERN} }} ] }}",
    "period": "REGISTER QUERY q COMPUTED EVERY 7ms AS SELECT ?a "
    f"FROM STREAM <{S}> [RANGE 20ms STEP 10ms] {{ {PATTERN} }}",
}


@pytest.fixture
def streams(tmp_path: Path) -> dict[str, str]:
    """Two streams whose elements of several triples share times and repeat, from 1000 ms on."""
    found = {}
    for name in (S, OTHER):
        rng = Random(name)
        lines = []
        for number in range(60):
            t = 1_003 + rng.randrange(90)
            for _ in range(rng.choice((1, 1, 2))):
                a, b = rng.sample("abcde", 2)
                lines.append(f"{t}:{number}\t<http://example.org/{a}> {P} <http://example.org/{b}> .\n")
        path = tmp_path / f"{name.rpartition('/')[2]}.tnt"
        path.write_text("".join(lines))
        found[name] = str(path)
    return {**found, UNNAMED: found[S]}


def reports(text: str, streams: dict[str, str], **options: object) -> list[Report]:
    query = api.query(text)
    wanted = {window.stream.value: streams[window.stream.value] for window in query.algebra.windows}
    with query.over(wanted, **options) as run:  # type: ignore[arg-type]
        return list(run.reports())


def oracle(text: str, streams: dict[str, str]) -> list[object]:
    query = api.query(text)
    elements = {Iri(name): elements_of(open_stream(path, name=name)) for name, path in streams.items()}
    return list(evaluate_reports(query.algebra, elements, profile=query.profile))


@pytest.mark.parametrize("name", TEXTS)
def test_files_give_what_the_oracle_expects(streams: dict[str, str], name: str) -> None:
    found = as_expected(reports(TEXTS[name], streams, placement="local"))
    assert sum(bool(report.rows) for report in found) > 3
    assert not compare_reports(oracle(TEXTS[name], streams), found)  # type: ignore[arg-type]


@pytest.mark.spark
@pytest.mark.parametrize("name", TEXTS)
def test_both_placements_say_the_same_in_every_form(spark: SparkSession, streams: dict[str, str], name: str) -> None:
    text = TEXTS[name]
    local = reports(text, streams, placement="local")
    query = api.query(text)
    wanted = {window.stream.value: streams[window.stream.value] for window in query.algebra.windows}
    with query.over(wanted, placement="spark", session=spark) as run:
        assert list(run.reports()) == local
        if name not in ("C-SPARQL", "CQELS", "closes"):  # a grid, and two ways to have none
            return
        assert [(d.t, d.rows, d.hash) for d in run.digests()] == [(d.t, d.rows, d.hash) for d in map(digest, local)]
        rows = [tuple(row) for row in run.frame().collect()]
    told = [(report.open, report.close, report.t, *row) for report in local for row in report.rows]
    assert sorted(rows, key=str) == sorted(told, key=str)


STATIC = """\
<http://example.org/a> <http://example.org/p> <http://example.org/b> <urn:g> .
<http://example.org/a> <http://example.org/p> <http://example.org/z> <urn:g> .
<http://example.org/z> <http://example.org/p> <http://example.org/c> .
"""


@pytest.mark.parametrize(
    "windows",
    [
        f"FROM STREAM <{S}> [RANGE 20ms STEP 10ms]",
        f"FROM STREAM <{S}> [RANGE 20ms STEP 10ms] FROM STREAM <{OTHER}> [RANGE 30ms STEP 10ms]",
        f"FROM STREAM <{S}> [RANGE 20ms STEP 10ms] FROM STREAM <{OTHER}> [RANGE 9ms STEP 7ms]",
        f"FROM STREAM <{S}> [RANGE TRIPLES 5] FROM STREAM <{OTHER}> [RANGE 9ms STEP 7ms]",
    ],
)
@pytest.mark.parametrize("preset", ["csparql", "cqels"])
def test_windows_and_static_graphs_are_one_graph(
    tmp_path: Path, streams: dict[str, str], windows: str, preset: str
) -> None:
    """A4: what two windows hold, or a window and the static data, counts once; GRAPH sees none of the streams."""
    (tmp_path / "static.nq").write_text(STATIC)
    text = f"SELECT ?a ?c (COUNT(*) AS ?n) FROM <urn:g> {windows} {{ {PATTERN} . ?b {P} ?c }} GROUP BY ?a ?c"
    query = api.query(text, preset=preset)
    wanted = {window.stream.value: streams[window.stream.value] for window in query.algebra.windows}
    with query.over(wanted, str(tmp_path / "static.nq"), placement="local") as run:
        found = as_expected(run.reports())
    elements = {Iri(name): elements_of(open_stream(path, name=name)) for name, path in streams.items()}
    given = [parse_statement(line) for line in STATIC.splitlines()]
    named = frozenset(Triple(q.subject, q.predicate, q.object) for q in given if isinstance(q, Quad))
    static = StaticData(frozenset(t for t in given if isinstance(t, Triple)), {Iri("urn:g"): named})
    assert not compare_reports(evaluate_reports(query.algebra, elements, static, profile=query.profile), found)
    assert sum(bool(report.rows) for report in found) > 3


def test_the_first_element_says_where_windows_start(streams: dict[str, str]) -> None:
    """A2: C-SPARQL rounds down to the second, SPARQLstream does not; a given t0 wins."""
    first = min(e.t for e in elements_of(open_stream(streams[S], name=S)))
    assert reports(TEXTS["C-SPARQL"], streams, placement="local")[0].open == 1_000
    assert reports(TEXTS["SPARQLstream"], streams, placement="local")[0].open == first
    opened = reports(TEXTS["SPARQLstream"], streams, placement="local", t0=991)[0].open
    assert opened is not None
    assert opened % 10 == 1


def test_parts_of_a_profile_can_be_changed() -> None:
    overrides = ProfileOverrides(report=When.CONTENT_CHANGE, tick=Tick.TUPLE, origin=Origin.EPOCH, emit_empty=False)
    profile = api.query(TEXTS["C-SPARQL"], overrides=overrides).profile
    assert (profile.report.when, profile.tick, profile.origin, profile.emit_empty) == (
        When.CONTENT_CHANGE,
        Tick.TUPLE,
        Origin.EPOCH,
        False,
    )
    assert profile.report.non_empty, "what is not named stays"
    assert api.query(TEXTS["C-SPARQL"], overrides=ProfileOverrides(every=5)).profile.report.when is When.PERIODIC


def test_a_missing_stream_of_several_is_named(streams: dict[str, str]) -> None:
    with (
        pytest.raises(UsageError, match=r"no stream is given for <http://example\.org/other>"),
        api.query(TEXTS["closes"]).over({S: streams[S]}),
    ):
        pass


@pytest.mark.parametrize(("preset", "nothing"), [("sparqlstream", None), ("csparql", "0"), ("rspql", "0")])
def test_the_average_of_nothing(tmp_path: Path, preset: str, nothing: str | None) -> None:
    """S25 requires 0; SPARQLstream's engine returns null. What has rows but no numbers is an error in both."""
    lines = [
        (1, '<urn:p> "2"'),
        (25, '<urn:p> "4"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        (31, '<urn:q> "x"'),
    ]
    (tmp_path / "s.tnt").write_text("".join(f"{t}\t<urn:a> {what} .\n" for t, what in lines))
    text = (
        f"SELECT (AVG(?v) AS ?m) (AVG(?v) + 1 AS ?n) FROM NAMED STREAM <{S}> [NOW - 10 MS SLIDE 10 MS] "
        "{ ?a <urn:p> ?v }"
    )
    with api.query(text, preset=preset).over(str(tmp_path / "s.tnt"), t0=0, placement="local") as run:
        found = {report.t: report.rows for report in run.reports()}
    value = [None if text is None else text.partition("^")[0].strip('"') for text in found[40][0]]
    assert value == ([None, None] if nothing is None else [nothing, "1"])
    assert found[10] == ((None, None),)
    assert [text.partition("^")[0] for text in found[30][0] if text] == ['"4"', '"5"']

"""A stream gives the same answers in every format, in both placements, by the command line and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hydrograph
import hydrograph.errors
import hydrograph_gauge
from hydrograph.cli.main import main
from hydrograph.streams.elements import Format
from hydrograph.streams.format_registry import FORMATS, written_endings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOMS = Path(hydrograph_gauge.__file__).parent / "workloads" / "rooms"
MEET = (ROOMS / "meet.rq").read_text()
BUILDING = "http://example.org/building"


def converted(directory: Path, format_: Format) -> Path:
    """Return the building's stream in a format; formats of triples have an element for each of them."""
    target = directory / ("building" if format_.one_each else f"building{written_endings(format_)[0]}")
    main(["convert", str(ROOMS / "building.tnt"), str(target), "--to-format", format_.name])
    return target


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    capsys.readouterr()
    main(["run", "-q", MEET, *arguments])
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
def test_the_same_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: Format) -> None:
    expected = asked(capsys, "--stream", str(ROOMS / "building.tnt"))
    target = converted(tmp_path, format_)
    assert asked(capsys, "--stream", str(target)) == expected
    assert sum('"rows":[{' in line for line in expected) == 6
    with hydrograph.query(MEET).over(target, placement="local") as run:
        assert [report.json("query") for report in run.reports()] == expected
    if not format_.one_each:
        other = tmp_path / "data"
        target.rename(other)
        if format_.name != "messages":  # its syntax is told by the ending
            assert asked(capsys, "--stream", str(other), "--stream-format", format_.name) == expected
            stream = hydrograph.stream(other, format=format_.name)
            with hydrograph.query(MEET).over({BUILDING: stream}, placement="local") as run:
                assert [report.json("query") for report in run.reports()] == expected


@pytest.mark.spark
@pytest.mark.parametrize("name", ["trig", "turtle", "jelly", "ndjsonld"])
def test_the_same_answers_on_spark(tmp_path: Path, spark: SparkSession, name: str) -> None:
    target = converted(tmp_path, next(each for each in FORMATS if each.name == name))
    query = hydrograph.query(MEET)
    with query.over(ROOMS / "building.tnt", placement="local") as run:
        expected = [report.rows for report in run.reports()]
    with query.over(target, placement="spark", session=spark) as run:
        assert [report.rows for report in run.reports()] == expected


OBSERVATIONS = """
@prefix sosa: <http://www.w3.org/ns/sosa/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://example.org/> .
:g1 { :o1 sosa:hasSimpleResult 20 ; sosa:resultTime "1970-01-01T00:00:01Z"^^xsd:dateTime }
:g2 { :o2 sosa:hasSimpleResult 30 ; sosa:resultTime "1970-01-01T00:00:07Z"^^xsd:dateTime }
:g3 { :o3 sosa:hasSimpleResult 40 }
"""
RESULTS = """PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX : <http://example.org/>
SELECT ?o FROM NAMED WINDOW :w ON :st [RANGE 5s STEP 5s] WHERE { WINDOW :w { ?o sosa:hasSimpleResult ?v } }"""


@pytest.mark.parametrize("placement", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_elements_without_a_time_stop_the_run_or_are_left_out(
    tmp_path: Path, placement: str, request: pytest.FixtureRequest
) -> None:
    session = request.getfixturevalue("spark") if placement == "spark" else None
    file = tmp_path / "observations.trig"
    file.write_text(OBSERVATIONS)
    query = hydrograph.query(RESULTS)
    run = query.over(hydrograph.stream(file), placement=placement, session=session)
    with pytest.raises(hydrograph.errors.DataError, match=r"graph <http://example.org/g3>: no time") as caught, run:
        list(run.reports())
    assert str(caught.value).isprintable()
    kept = tmp_path / "kept.nq"
    stream = hydrograph.stream(file, time="sosa:resultTime", bad_lines=str(kept))
    with query.over(stream, placement=placement, session=session) as run:
        found = [(report.t, report.rows) for report in run.reports()]
        assert run.bad_lines == 1
    assert found == [(5000, (("<http://example.org/o1>",),)), (10_000, (("<http://example.org/o2>",),))]
    assert kept.read_text().startswith("<http://example.org/o3> ")

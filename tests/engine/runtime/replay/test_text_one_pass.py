"""Text in one pass on Spark: the same reports as beside the driver; a second pass where the first met a surprise."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import hydrograph
from hydrograph.errors import DataError
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.reports import digest
from hydrograph.streams.formats.tnt_spark import sample_ends

STREAM = "http://example.org/s"
JOIN = f"""PREFIX : <http://example.org/>
SELECT RSTREAM ?s (COUNT(?v) AS ?n) (AVG(?v) AS ?m) FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 1s STEP 500ms]
WHERE {{ WINDOW :w {{ ?o :by ?s . ?o :value ?v }} }} GROUP BY ?s"""

FILTER = f"""PREFIX : <http://example.org/>
SELECT ISTREAM ?o ?v FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 1s STEP 500ms]
WHERE {{ WINDOW :w {{ ?o :value ?v FILTER(?v > 80) }} }}"""


def lines() -> list[str]:
    """Return a stream out of order and with repeats, longer than a glance at both ends."""
    found = []
    for number in range(2_000):
        t = 20 * number + (500 if number % 7 == 0 else 0)
        observation = f"<http://example.org/o{number // 3}>"
        found.append(f"{t}\t{observation} <http://example.org/by> <http://example.org/sensor{number % 5}> .")
        value = f'"{number % 90}.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'
        found.append(f"{t}\t{observation} <http://example.org/value> {value} .")
        found.append(f"{t}\t{observation} <http://example.org/other> <http://example.org/x> .")
    return found


def written(folder: Path, given: list[str]) -> str:
    path = folder / "s.tnt"
    path.write_text("\n".join(given) + "\n", encoding="utf-8")
    return str(path)


DOUBLE = "http://www.w3.org/2001/XMLSchema#double"
SURPRISES = {
    "nothing": None,
    "blank": "9000\t_:b <http://example.org/by> <http://example.org/sensor1> .",
    "double": f'9000\t<http://example.org/o1> <http://example.org/value> "1.5e0"^^<{DOUBLE}> .',
    "unread": f'9000\t_:b <http://example.org/other> "1.5e0"^^<{DOUBLE}> .',
    # Looks like a line of another predicate to a search for that text alone.
    "quoted": '20000\t<http://example.org/o333> <http://example.org/other> "said <http://example.org/by> here" .',
    "early": "-777\t<http://example.org/o1> <http://example.org/other> <http://example.org/x> .",
    "late": "90000\t<http://example.org/o1> <http://example.org/other> <http://example.org/x> .",
}


@pytest.mark.spark
def test_one_pass_gives_the_reports_of_the_local_placement(spark: SparkSession, tmp_path: Path) -> None:
    for name, line in SURPRISES.items():
        given = lines()
        if line is not None:
            given[3_000] = line
        path = written(tmp_path, given)
        seen = sample_ends((path,))
        assert seen is not None, "the surprise must be out of sight"
        assert (seen.first, seen.last) == (20, 40_400)
        for text, surprised in ((JOIN, ("blank", "double")), (FILTER, ("double",))):
            if text is FILTER and name in ("blank", "unread", "quoted", "early", "late"):
                continue  # as with the join
            query = hydrograph.query(text)
            with query.over({STREAM: path}, placement="local") as run:
                expected = list(run.reports())
            with query.over({STREAM: path}, placement="spark", session=spark) as run:
                assert list(run.reports()) == expected, name
                assert list(run.digests()) == [digest(report) for report in expected], name
                assert (run.bounds[Iri(STREAM)].found is None) == (name not in surprised), name


@pytest.mark.spark
def test_a_part_of_the_reports_is_the_same_in_one_pass(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, lines())
    for text in (JOIN, FILTER):
        query = hydrograph.query(text)
        for after, until in ((7_000, None), (7_000, 9_250)):
            with query.over({STREAM: path}, placement="local", after=after, until=until) as run:
                expected = list(run.reports())
            with query.over({STREAM: path}, placement="spark", session=spark, after=after, until=until) as run:
                assert list(run.digests()) == [digest(report) for report in expected], (text, after, until)


@pytest.mark.spark
def test_the_same_query_again_compiles_no_code_again(spark: SparkSession, tmp_path: Path) -> None:
    """Spark keeps compiled code by its text, which must not change from run to run."""
    path = written(tmp_path, lines())
    assert spark._jvm is not None
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    for text in (JOIN, FILTER):
        counts = []
        for _ in range(4):
            before = compiled.getCount()
            with hydrograph.query(text).over({STREAM: path}, placement="spark", session=spark) as run:
                list(run.digests())
            counts.append(compiled.getCount() - before)
        # What else happens in the session may compile something meanwhile, but not in every run.
        assert counts[0] > min(counts[1:]) == 0, (text, counts)


@pytest.mark.spark
def test_a_frame_has_the_rows_of_the_reports(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, lines())
    with hydrograph.query(FILTER).over({STREAM: path}, placement="spark", session=spark) as run:
        rows = run.frame().count()
        assert rows == sum(len(report.rows) for report in run.reports()) > 0


@pytest.mark.spark
def test_a_broken_line_out_of_sight_is_named(spark: SparkSession, tmp_path: Path) -> None:
    given = lines()
    given[3_000] = "9000\t<http://example.org/o1> <http://example.org/by> ."
    path = written(tmp_path, given)
    with (
        pytest.raises(DataError, match=r"s\.tnt, line 3001"),
        hydrograph.query(JOIN).over({STREAM: path}, placement="spark", session=spark) as run,
    ):
        list(run.reports())


def test_a_glance_sees_what_takes_a_survey(tmp_path: Path) -> None:
    plain = lines()
    for line in ("5\t_:b <p:p> <p:o> .", '5\t<p:s> <p:p> "1"^^<http://www.w3.org/2001/XMLSchema#float> .'):
        assert sample_ends((written(tmp_path, [line, *plain]),)) is None
        assert sample_ends((written(tmp_path, [*plain, line]),)) is None
    assert sample_ends((written(tmp_path, ["# only a comment"]),)) is None
    seen = sample_ends((written(tmp_path, plain),))
    assert seen is not None
    assert (seen.first, seen.last) == (20, 40_400)

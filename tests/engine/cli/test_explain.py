"""`hydrograph explain`: every part, alone and side by side."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hydrograph_gauge
from hydrograph.cli.explain import PARTS, SPARK_PLAN
from hydrograph.cli.main import main

ROOMS = Path(hydrograph_gauge.__file__).parent / "workloads" / "rooms"


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["explain", *arguments])
    return capsys.readouterr().out


def headings(text: str) -> list[str]:
    return [line.removeprefix("-- ") for line in text.splitlines() if line.startswith("-- ")]


def test_all_parts_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, str(ROOMS / "hot.rq"))
    assert headings(text) == [part for part in PARTS if part != SPARK_PLAN]
    assert "# RSP-QL, preset rspql\n# Readings above 25 degrees" in text
    assert "holds the last 10 s of stream <http://example.org/building>, every 5 s" in text
    assert "the answers that did not hold at the report before" in text
    assert "(filter (> ?t " in text
    assert "PMOD(" in text
    assert "// 5000" in text


def test_some_parts(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, str(ROOMS / "hot.rq"), "--part", "algebra", "--part", "kernels")
    assert headings(text) == ["algebra", "kernels"]


def test_before_and_after_side_by_side(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    text = explained(capsys, str(ROOMS / "hot.rq"), "--side-by-side")
    assert headings(text) == ["text", "windows", "algebra | optimized", "spark-sql | duckdb-sql", "kernels", "live"]
    lines = text[text.index("-- algebra") :].splitlines()[1:]
    assert lines[0].split() == ["(project", "(?sensor", "?t)", "(project", "(?sensor", "?t)"]
    columns = text[text.index("-- spark-sql") : text.index("-- kernels")].splitlines()[1:]
    assert all(len(line) <= 150 for line in columns)
    assert any(line[74:75] == "|" for line in columns)
    assert any(line[74:75] == " " and line[76:].strip() for line in columns)


def test_how_a_live_query_is_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, str(ROOMS / "hot.rq"), "--part", "live")
    assert "incremental; kept: q" in text
    assert "recomputed per report: nothing" in text
    assert re.search(r"placement: local; .* more than [0-9.e+]+ GB, half of the memory; not for speed", text)
    text = explained(capsys, str(ROOMS / "mean.rq"), "--part", "live")
    assert "recomputed per report: q" in text
    changing = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 10s STEP 5s] { WINDOW <urn:w> { ?s ?p ?o } }"
    text = explained(capsys, "-q", changing, "--report", "content-change", "--part", "live")
    assert "incremental; kept: q" in text
    making = changing.replace("SELECT ?s", "CONSTRUCT { ?s ?p ?o }")
    text = explained(capsys, "-q", making, "--report", "content-change", "--part", "live")
    assert "whole windows: it makes triples of elements" in text
    assert "or if the driver cannot keep up and Spark has more cores" in text


def test_two_queries(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    both = (str(ROOMS / "hot.rq"), "--with", str(ROOMS / "mean.rq"), "--part", "windows")
    text = explained(capsys, *both)
    assert headings(text) == ["windows of the first query", "windows of the second query"]
    beside = explained(capsys, *both, "--side-by-side")
    assert headings(beside) == ["windows"]
    assert all(len(line) <= 120 for line in beside.splitlines())
    gives = next(line for line in beside.splitlines() if line.startswith("reports when"))
    assert gives.count("reports when a window closes") == 2
    assert "|" in gives


@pytest.mark.spark
def test_sparks_plan(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    del spark
    over = ("--stream", str(ROOMS / "building.tnt"))
    text = explained(capsys, str(ROOMS / "hot.rq"), "--part", SPARK_PLAN, *over)
    assert headings(text) == [SPARK_PLAN]
    assert "== Physical Plan ==" in text
    assert "== Physical Plan ==" in explained(capsys, str(ROOMS / "hot.rq"), "--part", SPARK_PLAN)

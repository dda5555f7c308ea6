"""The oracle as a job gives what the oracle gives report by report, however the work is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.streams.sources import PARQUET, BadLines, RecordedStream
from hydrograph.windows.report import Range
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.dataset import StaticData, terms_of
from hydrograph_gauge.oracle.evaluate import Report
from hydrograph_gauge.oracle.evaluate_many import OracleQuery, can_slide
from hydrograph_gauge.oracle.job import (
    FAILED,
    RecordedInput,
    TaskResult,
    folder_of,
    plan_tasks,
    read_reports,
    run_local,
    run_on_spark,
    run_task,
)
from tests.support.random_cases import FULL, Case, random_case
from tests.support.random_reports import random_report_case
from tests.support.replay_adapter import encode_elements, encode_triples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = 40


def recorded(case: Case, folder: Path) -> RecordedInput:
    folder.mkdir(parents=True)
    streams: dict[str, RecordedStream] = {}
    for number, (name, elements) in enumerate(case.elements.items()):
        place = str(folder / f"{number}.parquet")
        pq.write_table(encode_elements(elements), place)
        streams[name.value] = RecordedStream(place, name.value, PARQUET, (place,), "", BadLines())
    file = folder / "static.parquet"
    pq.write_table(encode_triples(case.static.default), file)
    return RecordedInput(streams, {None: str(file)})


def asked(name: str, query: ContinuousQuery, case: Case) -> OracleQuery:
    return OracleQuery(name, query, case.profile.of(query))


def reports_of(target: Path, query: str) -> list[tuple[object, ...]]:
    return [(r.t, r.open, r.close, seq, terms_of(r.rows)) for r, seq in read_reports(target, query)]


def as_read(reports: Iterable[Report]) -> list[tuple[object, ...]]:
    return [(r.t, r.open, r.close, r.seq, r.rows) for r in reports]


@pytest.mark.parametrize("parts", [1, 3])
def test_sliding_is_the_same_as_evaluating_each_report(tmp_path: Path, parts: int) -> None:
    slid = 0
    for seed in range(CASES):
        case = random_case(seed, FULL)
        one = asked("q", case.query, case)
        folder = tmp_path / str(seed)
        within = Range(case.from_, case.until)
        tasks = plan_tasks([one], recorded(case, folder / "in"), folder / "out", t0=case.t0, within=within, parts=parts)
        total = run_local(tasks, processes=1)
        assert total.failed == ()
        assert reports_of(folder / "out", "q") == as_read(case.expected()), str(case)
        slid += can_slide(one)
    assert slid > CASES / 2


def test_queries_with_other_reports_are_answered_too(tmp_path: Path) -> None:
    kinds = Counter[bool]()
    for seed in range(40):
        case = random_report_case(seed)
        one = asked("q", case.query, case)
        folder = tmp_path / str(seed)
        run_local(plan_tasks([one], recorded(case, folder / "in"), folder / "out", t0=case.t0), processes=1)
        bare = replace(case, from_=None, until=None)
        assert reports_of(folder / "out", "q") == as_read(bare.expected()), str(case)
        kinds[can_slide(one)] += 1
    assert min(kinds[True], kinds[False]) > 5


STREAM = Iri("urn:stream")
ELEMENTS = tuple(
    Element.of(t * 100, t, Triple(Iri(f"urn:s{t % 3}"), Iri("urn:p"), Literal(str(t % 5), XSD_INTEGER)))
    for t in range(100)
)
STATIC = frozenset({Triple(Iri("urn:s0"), Iri("urn:p"), Literal("0", XSD_INTEGER))})
TEXTS = {
    "join": "SELECT ?s ?v FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s STEP 500ms] "
    "{ WINDOW <urn:w> { ?s <urn:p> ?v } ?s <urn:p> 0 }",
    "new": "SELECT ISTREAM ?s ?v FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s STEP 500ms] "
    "{ WINDOW <urn:w> { ?s <urn:p> ?v } }",
    "two": "SELECT ?s FROM NAMED WINDOW <urn:a> ON <urn:stream> [RANGE 1s] "
    "FROM NAMED WINDOW <urn:b> ON <urn:stream> [RANGE 3s STEP 1s] "
    "{ WINDOW <urn:a> { ?s <urn:p> ?v } WINDOW <urn:b> { ?s <urn:p> ?v } }",
    "ask": "ASK FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s] { WINDOW <urn:w> { <urn:s0> <urn:p> 4 } }",
    "made": "CONSTRUCT { ?s <urn:q> ?v } FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s] "
    "{ WINDOW <urn:w> { ?s <urn:p> ?v } }",
    "merged": "REGISTER QUERY m AS SELECT ?s ?v FROM STREAM <urn:stream> [RANGE 2s STEP 1s] { ?s <urn:p> ?v }",
}


def test_many_queries_share_stores_without_seeing_each_other(tmp_path: Path) -> None:
    case = Case(0, parse(TEXTS["join"]), {STREAM: ELEMENTS}, StaticData(STATIC))
    queries = {name: parse(text) for name, text in TEXTS.items()}
    every = [asked(name, query, case) for name, query in queries.items()]
    out = tmp_path / "out"
    tasks = plan_tasks(every, recorded(case, tmp_path / "in"), out, parts=4)
    assert len(tasks) == 4
    assert run_local(tasks, processes=2).failed == ()
    for name, query in queries.items():
        wanted = replace(case, query=query).expected()
        assert reports_of(out, name) == as_read(wanted), name
        assert any(report.rows for report in wanted), name
    contents = {name: [report.content for report, _ in read_reports(out, name)] for name in TEXTS}
    assert contents["join"][3:5] == [15, 15]  # 20 elements, of which 5 repeat a triple
    assert contents["merged"][1:3] == [15, 15]


@pytest.mark.spark
def test_tasks_on_spark_write_what_they_write_here(tmp_path: Path, spark: SparkSession) -> None:
    case = Case(0, parse(TEXTS["join"]), {STREAM: ELEMENTS}, StaticData(STATIC))
    every = [asked(name, parse(text), case) for name, text in TEXTS.items()]
    given = recorded(case, tmp_path / "in")
    there = run_on_spark(plan_tasks(every, given, tmp_path / "there", parts=3), spark)
    here = run_local(plan_tasks(every, given, tmp_path / "here", parts=2), processes=1)
    assert there == here
    assert there.rows > 0
    for name in TEXTS:
        assert reports_of(tmp_path / "there", name) == reports_of(tmp_path / "here", name)


def test_a_query_that_no_oracle_can_answer_says_so_and_the_others_go_on(tmp_path: Path) -> None:
    case = Case(0, parse(TEXTS["join"]), {STREAM: ELEMENTS})
    random = parse(TEXTS["join"].replace("SELECT ?s ?v", "SELECT ?s (RAND() AS ?r)"))
    both = [asked("join", case.query, case), asked("random", random, case)]
    done = [run_task(task) for task in plan_tasks(both, recorded(case, tmp_path / "in"), tmp_path / "out", parts=2)]
    assert {each.failed for each in done} == {("random",)}
    assert "no oracle can foresee RAND" in (folder_of(tmp_path / "out", "random") / FAILED).read_text()
    assert reports_of(tmp_path / "out", "join") == as_read(case.expected())


def test_nothing_to_do_is_nothing_done(tmp_path: Path) -> None:
    case = Case(0, parse(TEXTS["join"]), {STREAM: ()})
    assert run_local(
        plan_tasks([asked("q", case.query, case)], recorded(case, tmp_path / "in"), tmp_path)
    ) == TaskResult(0, 0)

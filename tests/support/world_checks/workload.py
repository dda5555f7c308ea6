"""The bars of the generated workload: its queries are said in every language, run over a shop, and are right."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from hydrograph.api import query as query_of
from hydrograph.errors import HydrographError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.streams.static_graphs import read_graphs
from hydrograph.windows.stream import Element
from hydrograph_gauge.features.structure import QueryKind, find_structure
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import StaticData, graph_of
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.queries.query_sets import LANGUAGES
from hydrograph_gauge.workload_generator.generator import Candidate, TemplateGenerator, WorkloadSettings
from hydrograph_gauge.workload_generator.instances import QueryTexts, build_query, print_query_texts
from hydrograph_gauge.workload_generator.world_data import WorldData
from hydrograph_gauge.worlds.shop.world import KNOWLEDGE, STREAM, WORLD, ShopSettings
from hydrograph_gauge.worlds.writer import write_world
from tests.support.replay_adapter import as_expected
from tests.support.world_checks.checks import Check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE = 1_000
"""Triples a second: a window of 5 s has 5,000, and queries that multiply have answers that can be counted."""
TRIES = 100_000
WALKED = 20


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of the queries: rows of each over the run, and what went wrong."""

    rows: Mapping[str, int]
    failed: Mapping[str, str]
    different: Mapping[str, str]


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield whether the default workload parses in all languages and runs, and whether a walk over data has answers."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-worlds-") as directory:
        shop = Path(directory) / "shop"
        write_world(spark, WORLD, ShopSettings(rate=RATE), shop)
        with WorldData(shop) as data:
            default = TemplateGenerator(WorkloadSettings(data=shop), data)
            queries = named(default, default.settings.number)
            yield languages(queries)
            ran = run(data, default, queries)
            yield answered("workload: the default one runs on the engine", ran)
            over_data = TemplateGenerator(WorkloadSettings(walk="data", data=shop), data)
            walked = run(data, over_data, named(over_data, WALKED))
            yield answered("workload: a walk over data", walked)
            empty = [name for name, rows in walked.rows.items() if rows == 0]
            said_ = f"{len(walked.rows) - len(empty)} of {len(walked.rows)} have answers"
            yield Check("workload: what was walked over data has answers", not empty, said_)


def named(generator: TemplateGenerator, number: int) -> dict[str, tuple[Candidate, QueryTexts]]:
    """Return the first queries with their texts."""
    found = islice((one for one in generator.candidates(TRIES) if one is not None), number)
    window = generator.settings.time_window
    named = {f"q{place}": one for place, one in enumerate(found, 1)}
    return {
        name: (one, print_query_texts(name, one.instances[0], generator.model, window)) for name, one in named.items()
    }


def languages(queries: Mapping[str, tuple[Candidate, QueryTexts]]) -> Check:
    """Return whether every text parses, and every language has one, but Strider where there is static data."""
    wrong, texts = [], 0
    for name, (candidate, words) in queries.items():
        hybrid = any(not part.streamed for part in candidate.template.parts)
        lacking = set(LANGUAGES) - set(words.texts)
        if lacking - ({"strider"} if hybrid else set()):
            wrong.append(f"{name} has no text in {', '.join(sorted(lacking))}")
        for language, text in (*words.texts.items(), ("sparql", words.oracle)):
            texts += 1
            try:
                found = find_structure(parse(text, language))
            except HydrographError as error:
                wrong.append(f"{name} in {language}: {error}")
                continue
            kind = QueryKind.STATIC if language == "sparql" else QueryKind.HYBRID if hybrid else QueryKind.PURE
            if (found.kind, found.patterns) != (kind, len(candidate.template.parts)):
                wrong.append(f"{name} in {language} has another structure")
    said_ = f"{texts} texts of {len(queries)} queries" + "".join(f"; {one}" for one in wrong)
    return Check("workload: every query parses in all languages", not wrong, said_)


def run(data: WorldData, generator: TemplateGenerator, queries: Mapping[str, tuple[Candidate, QueryTexts]]) -> Ran:
    """Run the queries over the whole stream, and compare the first window with the oracle."""
    assert data.static is not None, "the shop has static data"
    static = {KNOWLEDGE: str(data.static)}
    known = frozenset(triple for table in read_graphs([(None, str(data.static))]).tables for triple in graph_of(table))
    window = generator.settings.time_window
    first = _elements(data, window.width)
    rows: dict[str, int] = {}
    failed: dict[str, str] = {}
    different: dict[str, str] = {}
    for name, (candidate, words) in queries.items():
        asked = query_of(words.texts["rspql"])
        try:
            with asked.over({STREAM: str(data.directory / data.stream.path)}, static, placement="local") as running:
                reports = list(running.reports())
        except HydrographError as error:
            failed[name] = str(error)
            continue
        rows[name] = sum(len(report.rows) for report in reports)
        query = build_query(candidate.instances[0], generator.model, window)
        right = evaluate_reports(
            query, {Iri(STREAM): first}, StaticData(named={Iri(KNOWLEDGE): known}), until=window.width
        )
        if mismatches := compare_reports(right, as_expected(reports[:1])):
            different[name] = str(mismatches[0])
    return Ran(rows, failed, different)


def _elements(data: WorldData, end: int) -> Sequence[Element]:
    """Return the first window as one element: within a tumbling window only the content counts."""
    return (Element(0, 0, frozenset(Triple(*known[:3]) for known in data.window(0, end))),)


def answered(name: str, ran: Ran) -> Check:
    """Return whether all queries ran, with the oracle's answers in the first window."""
    total = len(ran.rows) + len(ran.failed)
    wrong = [*ran.failed.items(), *ran.different.items()]
    said_ = (
        f"{len(ran.rows)} of {total} queries, {sum(ran.rows.values())} rows, "
        f"{sum(rows == 0 for rows in ran.rows.values())} without any; the oracle agrees with "
        f"{len(ran.rows) - len(ran.different)} on the first window" + "".join(f"; {one}: {why}" for one, why in wrong)
    )
    return Check(name, not wrong, said_)

"""What a text means, asked of the oracle: the paper's table in three languages, queries before and after rewording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hydrograph.errors import UnsupportedError
from hydrograph.language import DIALECTS, dialect_of, parse
from hydrograph.language.translate_dialect import reword
from hydrograph.rdf.terms import Iri
from hydrograph.windows.profile import preset
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports
from tests.support.oracle_experiments import ROOM_CHANGES, STREAM, detected, thing
from tests.support.random_cases import FULL, random_case

MEET = "<http://ex.org/m1> <http://ex.org/detectedAt> ?room . <http://ex.org/m2> <http://ex.org/detectedAt> ?room"
IN_CSPARQL = (
    f"REGISTER QUERY Meet AS SELECT ?room FROM STREAM <{STREAM.value}> [RANGE 10ms STEP 10ms] WHERE {{ {MEET} }}"
)
IN_CQELS = f"SELECT ?room WHERE {{ STREAM <{STREAM.value}> [RANGE 10ms SLIDE 10ms] {{ {MEET} }} }}"
IN_SPARQLSTREAM = (
    f"SELECT RSTREAM ?room FROM NAMED STREAM <{STREAM.value}> [NOW - 10 MS SLIDE 10 MS] WHERE {{ {MEET} }}"
)

TABLE_1 = [
    (0, ["r1@10", "r2@20"], ["r1@3", "r2@15"], ["r1@10", "r2@20"]),
    (1, ["r1@11", "r2@21"], ["r1@3", "r2@15"], ["r1@11", "r2@21"]),
    (2, ["-@12", "r2@22"], ["r2@15"], ["-@12", "r2@22"]),
    (3, ["-@13", "-@23"], ["r2@15"], ["-@13", "-@23"]),
    (4, ["-@14", "-@24"], ["r2@15"], ["-@14", "-@24"]),
    (5, ["-@15", "-@25"], ["r2@15"], ["-@15", "-@25"]),
    (6, ["r2@16"], ["r2@15"], ["r2@16", "-@26"]),
]


def reports(text: str, t0: int) -> list[str]:
    """Return the answers with their times, as the text's own dialect gives them."""
    profile = preset(dialect_of(text).preset)
    found = evaluate_reports(parse(text), {STREAM: ROOM_CHANGES}, profile=profile, t0=t0, until=t0 + 20)
    return [f"{_room(report)}@{report.t}" for report in found]


def _room(report: Report) -> str:
    rooms = [name for name in ("r1", "r2") if (thing(name),) in report.rows]
    return " ".join(rooms) or "-"


@pytest.mark.parametrize(("t0", "csparql", "cqels", "sparqlstream"), TABLE_1)
def test_experiment_1_in_three_languages(
    t0: int, csparql: list[str], cqels: list[str], sparqlstream: list[str]
) -> None:
    assert reports(IN_CSPARQL, t0) == csparql
    assert reports(IN_CQELS, t0) == cqels
    assert reports(IN_SPARQLSTREAM, t0) == sparqlstream


def test_a_period_is_when_reports_come() -> None:
    text = IN_CSPARQL.replace("Meet AS", "Meet COMPUTED EVERY 4ms AS")
    # Windows from 0; what has entered of [0,10) is seen at 4 and 8, that of [10,20) at 12 and 16.
    assert reports(text, 0) == ["r1@4", "r1@8", "-@12", "r2@16"]


@pytest.mark.parametrize("to", ["rspql", "csparql", "cqels", "sparqlstream"])
def test_a_reworded_query_gives_the_same_answers(to: str) -> None:
    compared = 0
    for seed in range(150):
        case = replace(random_case(seed, replace(FULL, counts=False)), static=StaticData())
        query = replace(case.query, operator=None) if to in ("csparql", "cqels") else case.query
        case = replace(case, query=query)
        try:
            text = reword(query, to, case.profile).text
        except UnsupportedError:
            continue
        back = replace(case, query=parse(text, to))
        assert back.expected() == case.expected(), f"seed {seed}\n{text}"
        compared += any(report.rows for report in case.expected())
    assert compared > 15


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in ("sparql", "strider")])
def test_what_bare_patterns_see(dialect: str) -> None:
    # A9: a bare pattern sees static data, or what streams in, or both, and no dialect asks another one's question.
    texts = {
        "rspql": "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:in> [RANGE 10ms] { ?s ?p ?o }",
        "csparql": "SELECT ?s FROM <urn:g> FROM STREAM <urn:in> [RANGE 10ms STEP 10ms] { ?s ?p ?o }",
        "cqels": "SELECT ?s { STREAM <urn:in> [RANGE 10ms] { } ?s ?p ?o }",
        "sparqlstream": "SELECT ?s FROM NAMED STREAM <urn:in> [NOW - 10 MS SLIDE 10 MS] { ?s ?p ?o }",
    }
    static = StaticData(named={Iri("urn:g"): frozenset({detected("static", "r1")})})
    if dialect in ("rspql", "cqels"):
        static = StaticData(frozenset({detected("static", "r1")}))
    profile = preset(DIALECTS[dialect].preset)
    query = parse(texts[dialect], dialect)
    found = evaluate_reports(query, {Iri("urn:in"): ROOM_CHANGES[:1]}, static, profile=profile, t0=0)
    seen = {row[0] for row in found[0].rows}
    wanted = {
        "rspql": {thing("static")},
        "csparql": {thing("static"), thing("m1")},
        "cqels": {thing("static")},
        "sparqlstream": {thing("m1")},
    }
    assert seen == wanted[dialect]

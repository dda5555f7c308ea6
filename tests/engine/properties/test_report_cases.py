"""Every window, report and profile = oracle, on random streams and queries; a failure shows the smallest case.

The oracle takes instants and contents from `hydrograph.windows`, one instant after the other; the engine computes both
as ranks, all at once. HYDROGRAPH_REPORT_CASES sets how many cases are run.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import pytest

from hydrograph.algebra.queries import ContinuousQuery, NamedWindow, Select
from hydrograph.algebra.windows import CountWindow, NowWindow, TimeWindow, WindowDefinition
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.windows.profile import CQELS, PRESETS, RSPQL
from hydrograph.windows.report import Policy, When
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Tick
from hydrograph_gauge.oracle.compare import ReportDifference, compare_reports
from tests.support.random_cases import Case, shrink
from tests.support.random_data import FULL
from tests.support.random_reports import random_report_case
from tests.support.reported import answer_any
from tests.support.seed_blocks import seed_blocks

FIRST_SEED = 80_000
CASES = int(os.environ.get("HYDROGRAPH_REPORT_CASES", "1000"))
BLOCK = 50
QUICK = 2
"""Blocks that `make test` runs; the others are marked slow."""


def differences(case: Case, placed: Local, chunk: int | None) -> list[ReportDifference]:
    placed.forget()
    return compare_reports(case.expected(), answer_any(case, placed, chunk=chunk))


def check(case: Case, placed: Local) -> None:
    chunk = None if case.seed % 2 else 3  # every other one is cut into the smallest chunks
    if differences(case, placed, chunk):
        small = shrink(case, lambda one: bool(differences(one, placed, chunk)))
        found = differences(small, placed, chunk)
        pytest.fail(f"seed {case.seed}, chunks {chunk}\n{small}\n" + "\n".join(map(str, found)))


@pytest.mark.parametrize("first", seed_blocks(range(FIRST_SEED, FIRST_SEED + CASES, BLOCK), QUICK))
def test_every_window_and_report_equals_the_oracle(first: int, placed: Local) -> None:
    for seed in range(first, first + BLOCK):
        check(random_report_case(seed), placed)


@pytest.mark.parametrize("first", [pytest.param(first, id=f"seeds-from-{first}") for first in (90_000, 90_020)])
def test_every_operator_at_every_report_equals_the_oracle(first: int, placed: Local) -> None:
    for seed in range(first, first + 20):
        check(random_report_case(seed, FULL), placed)


def test_the_cases_cover_what_they_are_to_cover() -> None:
    seen: Counter[str] = Counter()
    for seed in range(FIRST_SEED, FIRST_SEED + 4 * BLOCK):
        case = random_report_case(seed)
        profile = case.profile.of(case.query)
        seen[profile.report.when] += 1
        seen[f"tick {profile.tick}"] += 1
        seen["non-empty"] += profile.report.non_empty
        seen["expiry"] += profile.report.expiry
        seen["answers"] += any(report.rows for report in case.expected())
        seen["fed"] += any(window.name is None for window in case.query.windows)
        seen["two windows"] += len({window.definition for window in case.query.windows}) > 1
        for window in case.query.windows:
            definition = profile.windowing(window.definition)
            seen[type(definition).__name__] += 1
            seen["triples"] += isinstance(definition, CountWindow) and definition.triples
            seen["continuous"] += isinstance(definition, TimeWindow) and definition.slide is None
    assert min(seen.values()) >= 10, seen


STREAM, OTHER = Iri("urn:stream"), Iri("urn:other")


def element(t: int, seq: int, *names: str) -> Element:
    return Element.of(t, seq, *(Triple(Iri(f"urn:{name}"), Iri("urn:p"), Iri("urn:o")) for name in names))


def listed(case: Case, placed: Local) -> list[tuple[int, list[str]]]:
    """Return time and subjects of each report, checked against the oracle."""
    placed.forget()
    found = answer_any(case, placed)
    assert not compare_reports(case.expected(), found)
    return [(r.t, sorted(row[0].value.removeprefix("urn:") for row in r.rows.elements())) for r in found]  # type: ignore[union-attr]


def over(definition: WindowDefinition, *elements: Element) -> Case:
    query = parse(
        "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1 STEP 1] { WINDOW <urn:w> { ?s ?p ?o } }"
    )
    assert isinstance(query.form, Select)
    return Case(0, replace(query, windows=(NamedWindow(Iri("urn:w"), STREAM, definition),)), {STREAM: elements})


def test_triples_never_split_an_element(placed: Local) -> None:
    # TRIPLES 3 over elements of 2, 2 and 1 triples: 2 | 2 + 2 | 2 + 1
    elements = element(1, 0, "a", "b"), element(2, 1, "c", "d"), element(3, 2, "e")
    case = over(CountWindow(3, 1, triples=True), *elements)
    assert listed(case, placed) == [(1, ["a", "b"]), (2, ["a", "b", "c", "d"]), (3, ["c", "d", "e"])]


def test_an_element_that_passes_several_multiples_reports_once(placed: Local) -> None:
    elements = element(1, 0, "a"), element(2, 1, "b", "c", "d", "e"), element(3, 2, "f")
    case = over(CountWindow(2, 2, triples=True), *elements)
    assert listed(case, placed) == [(2, ["b", "c", "d", "e"]), (3, ["b", "c", "d", "e", "f"])]


def test_now_is_an_instant_or_an_element(placed: Local) -> None:
    elements = element(1, 0, "a"), element(4, 1, "b"), element(4, 2, "c")
    case = over(NowWindow(), *elements)
    assert listed(case, placed) == [(1, ["a"]), (4, ["b", "c"])]
    one_by_one = replace(case, profile=replace(RSPQL, tick=Tick.TUPLE))
    assert listed(one_by_one, placed) == [(1, ["a"]), (4, ["b"]), (4, ["c"])]


def test_a_count_window_beside_a_time_window(placed: Local) -> None:
    # A5: one merged domain; at the close of [0, 5) nothing of 5 has entered the other
    query = parse(
        "SELECT ?s ?x FROM NAMED WINDOW <urn:w> ON <urn:stream> [ELEMENTS 1] "
        "FROM NAMED WINDOW <urn:v> ON <urn:other> [RANGE 5 STEP 5] "
        "{ WINDOW <urn:w> { ?s ?p ?o } WINDOW <urn:v> { ?x ?p ?o } }"
    )
    streams = {STREAM: (element(2, 0, "a"), element(5, 1, "b")), OTHER: (element(2, 0, "x"),)}
    assert listed(Case(0, query, streams), placed) == [(2, []), (5, ["a"]), (5, ["b"])]


def test_differences_are_to_the_report_before_though_silent_windows_lie_between(placed: Local) -> None:
    case = over(TimeWindow(2, 2), element(0, 0, "a"), element(8, 1, "a"), element(9, 2, "b"))
    query: ContinuousQuery = parse(
        "REGISTER ISTREAM <urn:out> AS SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2 STEP 2] "
        "{ WINDOW <urn:w> { ?s ?p ?o } }"
    )
    case = replace(case, query=query, profile=PRESETS["csparql"])
    assert listed(case, placed) == [(2, ["a"]), (10, ["b"])]


def test_content_change_reports_a_repeat_that_changes_nothing(placed: Local) -> None:
    case = over(TimeWindow(5, None), element(1, 0, "a"), element(2, 1, "a"))
    changes = replace(RSPQL, report=Policy(When.CONTENT_CHANGE))
    assert listed(replace(case, profile=changes), placed) == [(1, ["a"]), (2, ["a"])]
    assert listed(replace(case, profile=CQELS), placed) == [(1, ["a"])]

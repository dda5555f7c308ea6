"""Random cases: valid, repeatable, worth their time; and the oracle obeys the laws of windows on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from hydrograph.algebra.expressions import Exists
from hydrograph.algebra.nodes import Filter, Group, LeftJoin, Minus, PathPattern, Slice, Union, Values
from hydrograph.algebra.windows import CountWindow, TimeWindow
from hydrograph.language import parse, print_query
from hydrograph.windows.profile import PRESETS, Profile
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.evaluate import Report
from hydrograph_gauge.oracle.plain_sparql import nodes
from tests.support.random_cases import BASIC, FULL, Case, Features, random_case, random_stream, shrink

STRINGS = Features(strings=True)
COUNTS = Features(depth=2, counts=True)
EVERY = pytest.mark.parametrize("features", [BASIC, STRINGS, FULL, COUNTS], ids=["basic", "strings", "full", "counts"])
SEEDS = range(120)


@EVERY
def test_a_seed_is_a_case(features: Features) -> None:
    for seed in SEEDS:
        assert random_case(seed, features) == random_case(seed, features)


@EVERY
def test_printed_and_read_again_a_query_is_the_same(features: Features) -> None:
    for seed in SEEDS:
        query = random_case(seed, features).query
        assert parse(print_query(query)) == query, print_query(query)


@EVERY
def test_every_case_has_an_answer_and_many_have_rows(features: Features) -> None:
    answers = [random_case(seed, features).expected() for seed in SEEDS]
    with_rows = sum(any(report.rows for report in reports) for reports in answers)
    assert with_rows > len(SEEDS) / 5


def test_full_cases_use_every_operator() -> None:
    used = {type(node) for seed in range(200) for node in nodes(random_case(seed, FULL).query.pattern)}
    assert used >= {Exists, Filter, Group, LeftJoin, Minus, PathPattern, Slice, Union, Values}


def test_streams_repeat_triples_share_times_and_come_late() -> None:
    elements = random_stream(Random(1))
    times = [element.t for element in elements]
    triples = Counter(triple for element in elements for triple in element.triples)
    assert times != sorted(times)
    assert len(set(times)) < len(times)
    assert max(triples.values()) > 1
    assert max(len(element.triples) for element in elements) > 1


@pytest.mark.parametrize("profile", PRESETS.values(), ids=PRESETS)
def test_cases_run_under_every_preset(profile: Profile) -> None:
    for seed in range(40):
        random_case(seed, BASIC, profile).expected()


def test_count_windows_are_drawn() -> None:
    definitions = [random_case(seed, COUNTS).query.windows[0].definition for seed in SEEDS]
    assert {type(definition) for definition in definitions} == {TimeWindow, CountWindow}


def moved(case: Case, by: int) -> Case:
    elements = {
        stream: tuple(replace(element, t=element.t + by) for element in elements)
        for stream, elements in case.elements.items()
    }
    bounds = [None if bound is None else bound + by for bound in (case.from_, case.until)]
    return replace(case, elements=elements, t0=case.t0 + by, from_=bounds[0], until=bounds[1])


def shifted(report: Report, by: int) -> Report:
    ends = [None if end is None else end + by for end in (report.open, report.close)]
    return replace(report, t=report.t + by, open=ends[0], close=ends[1])


@EVERY
def test_shifted_time_shifts_the_answers(features: Features) -> None:
    for seed in SEEDS:
        case = random_case(seed, features)
        assert moved(case, -777).expected() == [shifted(report, -777) for report in case.expected()], str(case)


def doubled(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    return tuple(replace(element, seq=2 * element.seq + copy) for element in elements for copy in (0, 1))


def test_every_event_twice_changes_nothing() -> None:
    for seed in SEEDS:
        case = random_case(seed, FULL)
        twice = replace(case, elements={stream: doubled(elements) for stream, elements in case.elements.items()})
        assert twice.expected() == case.expected(), str(case)


def test_order_of_arrival_changes_nothing() -> None:
    for seed in SEEDS:
        case = random_case(seed, COUNTS)
        turned = {stream: tuple(reversed(elements)) for stream, elements in case.elements.items()}
        assert replace(case, elements=turned).expected() == case.expected(), str(case)


def test_a_failing_case_shrinks() -> None:
    def answers_something(case: Case) -> bool:
        return any(report.rows for report in case.expected())

    case = next(case for seed in SEEDS if answers_something(case := random_case(seed, FULL)))
    small = shrink(case, answers_something)
    assert answers_something(small)
    count = sum(len(elements) for elements in small.elements.values())
    assert count <= 1
    assert len(str(small)) < len(str(case))


def test_a_case_shows_everything() -> None:
    text = str(random_case(6))
    for part in ("seed 6", "t0", "align", "FROM NAMED WINDOW", "in order of arrival"):
        assert part in text

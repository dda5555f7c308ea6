"""Recovery of the step: the record and the log are enough to report the same as without a restart (S38, A8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeAlias

import pytest

from hydrograph.algebra.windows import CountWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.language import parse
from hydrograph.live.step.records import Lateness, QueryRecord
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.report import Policy, When
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Tick
from tests.support.live_histories import History, lived, replayed
from tests.support.random_cases import Case

CHANGES = replace(RSPQL, report=Policy(When.CONTENT_CHANGE))
LEAVING = replace(RSPQL, report=Policy(When.CONTENT_CHANGE, expiry=True))


class RestartAlways(Random):
    """Draws a restart after every batch."""

    def random(self) -> float:
        return 0.0


def history(
    windows: Sequence[tuple[str, WindowDefinition]], times: Sequence[tuple[str, int]], profile: Profile = RSPQL
) -> History:
    """Return a union of windows over some streams, whose elements arrive one after the other."""
    froms = " ".join(
        f"FROM NAMED WINDOW <urn:w{n}> ON <urn:{s}> [RANGE 1ms STEP 1ms]" for n, (s, _) in enumerate(windows)
    )
    body = " UNION ".join(f"{{ WINDOW <urn:w{n}> {{ ?s <urn:p> ?o }} }}" for n in range(len(windows)))
    query = parse(f"SELECT ?s {froms} {{ {body} }}")
    named = [replace(w, definition=each) for w, (_, each) in zip(query.windows, windows, strict=True)]
    numbers = dict.fromkeys((name for name, _ in windows), 0)
    elements: dict[Iri, list[Element]] = {Iri(f"urn:{name}"): [] for name in numbers}
    batches: list[dict[Iri, tuple[Element, ...]]] = []
    for stream, t in times:
        made = Element.of(t, numbers[stream], Triple(Iri(f"urn:{stream}{t}"), Iri("urn:p"), Iri("urn:o")))
        numbers[stream] += 1
        elements[Iri(f"urn:{stream}")].append(made)
        batches.append({Iri(f"urn:{stream}"): (made,)})
    case = Case(0, replace(query, windows=tuple(named)), {name: tuple(each) for name, each in elements.items()})
    return History(replace(case, profile=profile, t0=0), tuple(batches), Lateness())


Windows: TypeAlias = list[tuple[str, WindowDefinition]]
Times: TypeAlias = list[tuple[str, int]]
SAME: dict[str, tuple[Windows, Times, Profile]] = {
    "an element leaves where everything is settled": (
        [("a", TimeWindow(8, 1))],
        [("a", t) for t in (1, 9, 12, 20, 30)],
        LEAVING,
    ),
    "the same, one by one": (
        [("a", TimeWindow(8, 1))],
        [("a", t) for t in (1, 9, 12, 20, 30)],
        replace(LEAVING, tick=Tick.TUPLE),
    ),
    "a close is reported later than it was settled": (
        [("a", TimeWindow(2, 10)), ("a", TimeWindow(1, 7))],
        [("a", t) for t in (0, 5, 13, 14)],
        RSPQL,
    ),
    "windows settle at other times": (
        [("a", TimeWindow(5, 5)), ("a", PastWindow(11, 6, 2))],
        [("a", t) for t in (1, 4, 8, 20)],
        CHANGES,
    ),
    "one of two windows has gaps": (
        [("a", TimeWindow(2, 5)), ("a", TimeWindow(10, 5))],
        [("a", t) for t in (1, 4, 4, 20)],
        replace(CHANGES, tick=Tick.TUPLE),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_restart_after_every_batch_changes_nothing(name: str, placed: Local) -> None:
    made = history(*SAME[name])
    expected = replayed(made.case, placed)
    assert len(expected) > 1
    assert lived(made, placed)[0] == expected
    assert lived(made, placed, RestartAlways(0))[0] == expected


LATE: dict[str, tuple[Windows, Times]] = {
    "a count window": ([("a", CountWindow(3, 1))], [("a", t) for t in (10, 20, 5, 30)]),
    "a count window beside a time window": (
        [("a", CountWindow(3, 1)), ("a", TimeWindow(1000, 1000)), ("b", CountWindow(3, 1))],
        [("a", 10), ("b", 10), ("a", 20), ("b", 20), ("b", 22), ("a", 5), ("b", 31), ("a", 30)],
    ),
}


@pytest.mark.parametrize("name", LATE)
def test_a_late_element_stays_dropped_after_a_restart(name: str, placed: Local) -> None:
    made = history(*LATE[name], CHANGES)
    found, record = lived(made, placed)
    again, restarted = lived(made, placed, RestartAlways(0))
    assert record.counts.late_dropped + record.counts.late_partial == 1
    assert again == found
    assert restarted.counts == record.counts


def test_an_element_of_another_stream_with_the_seq_of_a_late_one_counts(placed: Local) -> None:
    found, record = lived(history(*LATE["a count window beside a time window"], CHANGES), placed)
    assert record.counts.used == 7
    assert any("urn:b22" in line for line in found)


def rows_needed(windows: Sequence[tuple[str, WindowDefinition]], number: int, placed: Local) -> tuple[int, QueryRecord]:
    """Return how many of so many elements the log still has to hold, and the last record."""
    one_by_one = history(windows, [("a", 5 * n) for n in range(number)])
    elements = one_by_one.case.elements[Iri("urn:a")]
    batches = tuple({Iri("urn:a"): tuple(elements[n : n + 50])} for n in range(0, number, 50))
    made = replace(one_by_one, batches=batches)
    seen: list[QueryRecord] = []
    _, record = lived(made, placed, watch=seen.append)
    before = seen[-2]
    return before.decision.end["urn:a"] - before.oldest["urn:a"], record


def test_count_windows_need_no_more_of_the_log_of_a_longer_stream(placed: Local) -> None:
    windows: Windows = [("a", CountWindow(20, 5))]
    few, _ = rows_needed(windows, 1000, placed)
    many, record = rows_needed(windows, 4000, placed)
    assert 20 <= many <= max(few, 500)
    assert record.reports == 800

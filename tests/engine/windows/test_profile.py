"""Profiles: section 9, S9, A2, A3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hydrograph.algebra.nodes import Bgp
from hydrograph.algebra.queries import Ask, ContinuousQuery, StreamOperator
from hydrograph.algebra.windows import AllWindow, CountWindow, TimeWindow
from hydrograph.errors import UsageError
from hydrograph.windows.profile import PRESETS, preset
from hydrograph.windows.report import Policy, When
from hydrograph.windows.scope import Align
from hydrograph.windows.stream import Element

EVENTS = (Element.of(2750, 0), Element.of(2100, 1))


def test_the_presets() -> None:
    cqels = ["cqels", "cqels-cloud", "cqels-published"]
    assert list(PRESETS) == ["rspql", "csparql", "csparql-engine", *cqels, "sparqlstream"]


@pytest.mark.parametrize(
    ("name", "t0"),
    [("rspql", 0), ("csparql", 2000), ("csparql-engine", 2000), ("cqels", 2100), ("sparqlstream", 2100)],
)
def test_t0_in_replay(name: str, t0: int) -> None:
    # A2: the first event's time; C-SPARQL floors it to the second
    assert preset(name).start(EVENTS) == t0
    assert preset(name).start(EVENTS, t0=7) == 7


def test_t0_before_the_epoch_is_floored_too() -> None:
    assert preset("csparql").start([Element.of(-1, 0)]) == -1000


def test_without_events_registration_is_the_epoch() -> None:
    assert preset("cqels").start([]) == 0


def test_the_two_readings_of_csparql_differ_in_alignment() -> None:
    # A3
    assert preset("csparql").align is Align.OPEN
    assert preset("csparql-engine").align is Align.CLOSE


def test_cqels_slides_continuously_and_streams_insertions_of_sets() -> None:
    cqels = preset("cqels")
    assert cqels.windowing(TimeWindow(10, 5)) == TimeWindow(10, None)
    assert cqels.windowing(CountWindow(3)) == CountWindow(3)
    assert (cqels.report.when, cqels.operator, cqels.r2s_set) == (When.CONTENT_CHANGE, StreamOperator.ISTREAM, True)
    assert not cqels.report.expiry
    assert preset("cqels-cloud").report.expiry


def test_the_published_fault_of_cqels_is_that_nothing_leaves_a_time_window() -> None:
    published = preset("cqels-published")
    assert replace(published, name="cqels", evict=True) == preset("cqels")
    assert published.windowing(TimeWindow(10, 5)) == AllWindow()
    assert published.windowing(CountWindow(3)) == CountWindow(3)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="presets: rspql, csparql"):
        preset("rsp-ql")


def test_what_a_text_says_itself_comes_first() -> None:
    query = ContinuousQuery(Ask(), Bgp(()))
    assert preset("cqels").of(query) == preset("cqels")
    said = preset("csparql").of(replace(query, operator=StreamOperator.DSTREAM, every=5))
    assert said.operator is StreamOperator.DSTREAM
    assert said.report == Policy(When.PERIODIC, non_empty=True, period=5)

"""Which rows feed the charts by window, and the way down to guilty rows and triples."""

from __future__ import annotations

import pytest

from hydrograph_gauge.report.document import (
    Box,
    BoxPlot,
    Lines,
    Spans,
    Table,
    Text,
    Wrong,
)
from hydrograph_gauge.report.run_data import KEPT_BY_GROUP
from hydrograph_gauge.report.sections import wrong as wrong_section
from hydrograph_gauge.run_records import (
    QueryRecord,
    RowExplanation,
    SmallestDifference,
)
from tests.support.pages import blocks, key, outcome, points, rows, section, shown, window


def test_precision_recall_delay_and_sizes_by_window_are_means_over_repetitions() -> None:
    page = shown(
        [
            window(key(), 5000, 4, 2, 2, delay=10),
            window(key(repetition=1), 5000, 4, 4, 4, delay=30),
            window(key(), 6000, 0, 0, 0),
            outcome(key()),
        ]
    )
    correctness, delay = blocks(section(page, "Windows").blocks, Lines)
    assert [panel.series[0].points for panel in correctness.panels] == [((5, 1), (6, 1)), ((5, 0.75), (6, 1))]
    assert points(delay.panels[0].series[0]) == ((5, 20), (6, None))
    assert [series.points for series in delay.panels[1].series] == [((5, 4), (6, 0)), ((5, 3), (6, 0))]


def test_what_was_expected_is_drawn_once_if_it_is_the_same_for_all() -> None:
    records = [*(window(key(e), 1000, expected=n, actual=0, hits=0) for e, n in (("a", 2), ("b", 2), ("c", 3)))]
    _, delay = blocks(section(shown([*records, *(outcome(key(e)) for e in "abc")]), "Windows").blocks, Lines)
    assert [series.name for series in delay.panels[1].series] == ["expected of a and b", "expected of c", "a", "b", "c"]


def test_windows_by_date_and_by_the_clock_share_an_axis() -> None:
    date = 1_264_982_400_000
    page = shown(
        [
            *(window(key("a"), date + n, open=date + n - 5000) for n in (5000, 6000)),
            *(window(key("b"), n, open=n - 5000) for n in (5000, 6000)),
            window(key("b"), 7000, hits=0, open=date, close=date + 5000, used_open=date + 1, used_close=date + 5000),
            *(outcome(key(engine)) for engine in "ab"),
        ]
    )
    correctness, _ = blocks(section(page, "Windows").blocks, Lines)
    assert correctness.x.label == "time since the first window opened"
    assert [x for x, _ in correctness.panels[0].series[0].points] == [5, 6]
    assert [x for x, _ in correctness.panels[0].series[1].points] == [5, 6, 7]
    (found,) = blocks(section(page, "Wrong windows").blocks, Wrong)
    assert found.groups[0].windows[0].title == "window [2010-02-01 00:00:00, 00:00:05) UTC"
    assert ("borders used", "[2010-02-01 00:00:00.001, 00:00:05) UTC") in found.groups[0].windows[0].facts


def test_borders_are_drawn_where_others_were_used() -> None:
    moved = window(key(), 5000, 2, 1, 1, open=0, close=5000, used_open=400, used_close=5400)
    page = shown([moved, window(key(), 10_000, open=5000, close=10_000), outcome(key())])
    (chart,) = blocks(section(page, "Windows").blocks, Spans)
    assert [(span.expected, span.used, span.name) for span in chart.spans] == [((0, 5), (0.4, 5.4), "a")]


def test_long_series_are_thinned_but_a_wrong_window_stays_visible() -> None:
    windows = [window(key(), 1000 * n, hits=0 if n == 777 else 1) for n in range(2000)]
    page = shown([*windows, outcome(key())])
    correctness, _ = blocks(section(page, "Windows").blocks, Lines)
    (precision,) = correctness.panels[0].series
    assert len(precision.points) == 400
    assert [x for x, y in precision.points if y == 0] == [775]


def test_a_wrong_window_shows_its_guilty_rows_and_triples() -> None:
    facts = QueryRecord(test="t", query="q1", text="SELECT", texts={"a": "REGISTER"}, variables=("x", "y"))
    blame = RowExplanation(row=("<urn:a>", None), triples=("<urn:a> <urn:b> <urn:c> .",))
    wrong = window(key(), 5000, 3, 1, 1, open=0, close=5000, missing=(blame,), delay=3)
    page = shown([facts, wrong, outcome(key(), "wrong")])
    (found,) = blocks(section(page, "Wrong windows").blocks, Wrong)
    (group,) = found.groups
    assert (group.title, group.text, group.variables) == ("q1 on a, t", "REGISTER", ("x", "y"))
    assert group.windows[0].title == "window [0, 5,000) ms"
    assert (group.windows[0].missing_count, group.windows[0].extra_count) == (2, 0)
    assert group.windows[0].missing[0].row == ("<urn:a>", None)
    assert group.windows[0].missing[0].triples == ("<urn:a> <urn:b> <urn:c> .",)


def test_details_are_limited_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    blame = RowExplanation(row=("x" * 5000,), triples=("y" * 90,) * 90)
    windows = [window(key(query=q), n, hits=0, missing=(blame,) * 50) for q in ("q1", "q2") for n in range(100)]
    page = shown([*windows, outcome(key(), "wrong")])
    text, found = section(page, "Wrong windows").blocks
    assert isinstance(found, Wrong)
    assert [len(group.windows) for group in found.groups] == [KEPT_BY_GROUP, KEPT_BY_GROUP]
    first = found.groups[0].windows[0].missing
    assert (len(first), len(first[0].row[0] or ""), len(first[0].triples)) == (20, 1000, 31)
    assert "200 windows with a wrong answer. 40 of them are shown" in str(text)
    monkeypatch.setattr(wrong_section, "BUDGET", 200_000)
    _, found = section(shown([*windows, outcome(key(), "wrong")]), "Wrong windows").blocks
    assert isinstance(found, Wrong)
    assert [len(group.windows) for group in found.groups] == [2, 1]


def test_delays_of_all_windows_have_a_box_for_each_engine_and_condition() -> None:
    page = shown(
        [
            *(window(key("a", rate=1), 1000 * n, delay=n) for n in range(1, 6)),
            window(key("b", "q2", rate=2), 1000, delay=7),
            window(key("b", "q2", rate=2), 2000),  # no answer, no delay
            outcome(key("a", rate=1)),
            outcome(key("b", "q2", rate=2)),
        ]
    )
    (chart,) = blocks(section(page, "Delay by engine").blocks, BoxPlot)
    assert chart.groups == ("t, rate 1", "t, rate 2")
    assert [(series.name, series.boxes) for series in chart.panels[0].series] == [
        ("a", (Box(1, 2, 3, 4, 5, 5), None)),
        ("b", (None, Box(7, 7, 7, 7, 7, 1))),
    ]


def test_the_strict_verdict_is_beside_the_declared_one() -> None:
    lenient = outcome(key(), comparison="double", strict_verdict="wrong", strict_missing=2, strict_extra=3)
    matrix, table = blocks(section(shown([lenient]), "Verdicts").blocks, Table)
    assert "Comparison of rows: double." in matrix.caption
    assert rows(table) == (("t", "a", "q1", "double", "ok", "wrong", 2, 3),)
    (alone,) = blocks(section(shown([outcome(key())]), "Verdicts").blocks, Table)
    assert "Comparison of rows: exact." in alone.caption


def test_the_smallest_window_that_differs_is_shown_with_its_triples() -> None:
    smallest = SmallestDifference(
        t=1500, open=1000, close=1500, triples=("<urn:s> <urn:p> <urn:o> .",), content=2, extra=(("<urn:x>", None),)
    )
    page = shown(
        [
            window(key(), 1500, hits=0),
            outcome(key(), "wrong", faults=("wrong, cause not identified: 1 windows",), smallest=smallest),
        ]
    )
    (table,) = blocks(section(page, "Wrong windows").blocks, Table)
    assert [row[3:] for row in table.rows] == [
        (
            "wrong, cause not identified: 1 windows",
            "[1,000, 1,500) ms",
            2,
            "extra <urn:x> -",
            "<urn:s> <urn:p> <urn:o> .\n\N{HORIZONTAL ELLIPSIS} and 1 more triples",
        )
    ]


def test_windows_after_the_last_element_are_named_and_not_wrong() -> None:
    found = section(shown([window(key(), 1000), outcome(key(), after_last=3)]), "Windows")
    (text,) = [block for block in found.blocks if isinstance(block, Text)]
    assert "were not answered: 3 windows of a." in text.text

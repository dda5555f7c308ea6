"""Which rows feed which table and chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import pytest

from hydrograph.bench.report.build import document
from hydrograph.bench.report.document import (
    Block,
    BoxPlot,
    Cell,
    Choice,
    Document,
    Dots,
    Lines,
    Queries,
    Section,
    Series,
    Spans,
    Table,
    Wrong,
)
from hydrograph.bench.report.gather import KEPT_BY_GROUP, collect
from hydrograph.bench.report.sections import wrong as wrong_section
from hydrograph.bench.results import (
    Blame,
    Excluded,
    Functional,
    Held,
    Key,
    Mismatch,
    Origin,
    Outcome,
    QueryFacts,
    Record,
    Sampled,
    Setting,
    Window,
)

Kind = TypeVar("Kind")
BARE = Origin(experiment="e", started="2026-01-01T00:00:00Z", seed=1)


def shown(records: Iterable[Record], origin: Origin = BARE) -> Document:
    return document([collect(origin, records)])


def section(page: Document, title: str) -> Section:
    found = {each.title: each for each in page.parts[0].sections}
    return found[title]


def titles(page: Document) -> list[str]:
    return [each.title for each in page.parts[0].sections]


def blocks(found: Iterable[Block], kind: type[Kind]) -> Iterator[Kind]:
    """Yield the blocks of a kind, those that a choice hides included."""
    for block in found:
        if isinstance(block, kind):
            yield block
        if isinstance(block, Choice):
            for option in block.options:
                yield from blocks(option.blocks, kind)


def rows(table: Table) -> object:
    """Return the rows as a value that may equal anything."""
    return table.rows


def points(series: Series) -> object:
    """Return the points as a value that may equal anything."""
    return series.points


def key(engine: str = "a", query: str = "q1", test: str = "t", repetition: int = 0, **settings: Setting) -> Key:
    return Key(test=test, engine=engine, query=query, repetition=repetition, settings=settings)


def outcome(at: Key, verdict: str = "ok", phase: str = "execution", **more: object) -> Outcome:
    return Outcome.model_validate({"key": at, "verdict": verdict, "phase": phase, **more})


def window(at: Key, t: int, expected: int = 1, actual: int = 1, hits: int = 1, **more: object) -> Window:
    shares = {"precision": hits / actual if actual else 1, "recall": hits / expected if expected else 1}
    return Window.model_validate({"key": at, "t": t, "expected": expected, "actual": actual, **shares, **more})


def test_sections_without_data_are_left_out() -> None:
    assert titles(shown([])) == ["Origin"]
    assert titles(shown([outcome(key())])) == ["Summary", "Verdicts", "Queries answered", "Origin"]


def test_the_summary_says_what_was_right_and_what_not() -> None:
    page = shown(
        [
            outcome(key("a"), windows=4, non_empty=3, right=4, precision=1.0, recall=1.0),
            outcome(
                key("b"),
                "wrong",
                windows=4,
                non_empty=3,
                right=3,
                precision=1.0,
                recall=0.99999,
                faults=("late eviction",),
            ),
            outcome(key("b", "q2"), "syntax error", "registration"),
        ]
    )
    text = str(section(page, "Summary").blocks[0])
    assert "2 queries on 2 engines: 8 windows judged, 6 of them with a non-empty expected answer." in text
    assert "a: 1 of 1 run right, 4 of 4 windows; precision 1, recall 1." in text
    assert "recall 0.9999. Not right: wrong: q1; syntax error: q2. The judge finds: late eviction (q1)." in text


def test_a_summary_of_empty_answers_says_that_they_prove_nothing() -> None:
    assert "prove nothing" in str(section(shown([outcome(key(), windows=4)]), "Summary"))


def test_the_matrix_has_a_letter_for_each_cause_and_the_worst_repetition_counts() -> None:
    page = shown(
        [
            outcome(key("a")),
            outcome(key("a", repetition=1), "timeout", words="gave up"),
            outcome(key("b"), "out of memory", "registration"),
        ]
    )
    (table,) = blocks(section(page, "Verdicts").blocks, Table)
    assert rows(table) == (
        ("a", Cell("T", "timeout at execution: gave up", "timeout")),
        ("b", Cell("M", "out of memory at registration", "memory")),
    )
    assert [cell.text for cell in table.legend] == ["\N{CHECK MARK}", "T", "M"]


def test_a_wrong_cell_leads_to_its_windows() -> None:
    page = shown([window(key(), 1000, hits=0), outcome(key(), "wrong")])
    (table,) = blocks(section(page, "Verdicts").blocks, Table)
    (drilldown,) = blocks(section(page, "Wrong windows").blocks, Wrong)
    cell = table.rows[0][1]
    assert isinstance(cell, Cell)
    assert cell.to == drilldown.groups[0].id


def test_a_large_workload_goes_on_in_further_tables_in_the_order_of_people() -> None:
    page = shown(outcome(key(query=f"q{n}")) for n in range(45, 0, -1))
    found = list(blocks(section(page, "Verdicts").blocks, Table))
    names = [[column.name for column in table.columns[1:]] for table in found]
    assert [name for some in names for name in some] == [f"q{n}" for n in range(1, 46)]
    assert list(map(len, names)) == [20, 20, 5]


def test_total_valid_and_successful_queries() -> None:
    page = shown(
        [
            outcome(key("a", "q1"), non_empty=2),
            outcome(key("a", "q2"), "wrong", non_empty=1),
            outcome(key("a", "q3"), "syntax error", "registration"),
            outcome(key("b", "q1"), non_empty=2),
            outcome(key("b", "q2"), non_empty=1),
            outcome(key("b", "q3"), "crash", "registration"),
            Excluded(test="t", query="q2", why="a: wrong"),
        ]
    )
    totals, excluded = blocks(section(page, "Queries answered").blocks, Table)
    assert rows(totals) == (("t", "a", 3, 2, 2, 1), ("t", "b", 3, 2, 2, 2), ("t", "all engines", 3, 2, 2, 1))
    assert rows(excluded) == (("t", "q2", "a: wrong"),)


def test_failures_are_counted_by_cause_and_cited_by_word() -> None:
    page = shown(
        [
            outcome(key("a", "q1"), "crash", words="core dumped"),
            outcome(key("a", "q10"), "crash", words="core dumped"),
            outcome(key("a", "q2"), "crash", words="core dumped"),
            outcome(key("b", "q1"), "wrong", words="2 rows missing", faults=("rounds numbers",)),
        ]
    )
    causes, words = blocks(section(page, "Failed queries").blocks, Table)
    assert [column.name for column in causes.columns] == ["engine", "wrong", "crash", "any cause"]
    assert rows(causes) == (("a", None, 3, 3), ("b", 1, None, 1))
    assert words.rows[0] == ("a", "crash", "execution", "q1, q2 and q10", "core dumped")
    assert words.rows[1][-1] == "2 rows missing; rounds numbers"


def test_functional_tests_as_a_matrix() -> None:
    page = shown(
        [
            Functional(engine="a", group="R2S", name="istream", passed=True),
            Functional(engine="b", group="R2S", name="istream", passed=False, words="2 rows too many"),
            Functional(engine="c", group="R2S", name="istream", passed=None),
        ]
    )
    numbers, tests, words = blocks(section(page, "Functionality").blocks, Table)
    assert rows(numbers) == (("R2S", 1, 1, 0, 1, 0, 0),)
    assert [cell.text for cell in tests.rows[0][2:] if isinstance(cell, Cell)] == ["\N{CHECK MARK}", "F", "U"]
    assert words.rows[0][-1] == "2 rows too many"


def test_output_sizes_and_mismatch_both_ways() -> None:
    page = shown(
        [
            outcome(key("a"), output=68),
            outcome(key("b"), output=604),
            Mismatch(test="t", query="q1", one="a", other="b", value=0.0147, comparable=True),
            Mismatch(test="t", query="q1", one="b", other="a", value=0.0, comparable=True),
        ]
    )
    (table,) = blocks(section(page, "Output sizes and mismatch").blocks, Table)
    assert rows(table) == (("q1", "t", 68, 604, 0.0147, 0.0, Cell("yes", "", "right")),)


def test_executions_a_second_and_rates_that_were_held() -> None:
    page = shown(
        [
            outcome(key("a"), executions_rate=24122),
            outcome(key("b"), executions_rate=10),
            Mismatch(test="t", query="q1", one="a", other="b", value=0.5, comparable=False),
            Held(key=key("a"), rate=800, tried=((800, True), (1600, False), (1000, False))),
        ]
    )
    (chart,) = blocks(section(page, "Throughput").blocks, Dots)
    cmet, held = blocks(section(page, "Throughput").blocks, Table)
    assert chart.rows == ("q1 *",)
    assert chart.x.log
    assert [strip.values for strip in chart.panels[0].strips] == [(24122,), (10,)]
    assert rows(cmet) == (("q1 *", "t", 24122, 10),)
    assert rows(held) == (("q1", "t", "a", 800, 1000, 3, "elements/s"),)


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
    facts = QueryFacts(test="t", query="q1", text="SELECT", texts={"a": "REGISTER"}, variables=("x", "y"))
    blame = Blame(row=("<urn:a>", None), triples=("<urn:a> <urn:b> <urn:c> .",))
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
    blame = Blame(row=("x" * 5000,), triples=("y" * 90,) * 90)
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


def test_latency_is_sorted_by_query_with_a_panel_for_each_rate_and_without_excluded_queries() -> None:
    page = shown(
        [
            *(
                outcome(key("a", query, rate=rate), delay_median=value * rate)
                for query, value in (("q1", 3), ("q2", 1), ("q3", 2), ("q4", 9))
                for rate in (1000, 100)
            ),
            Excluded(test="t", query="q4", why="no results"),
        ]
    )
    (chart,) = blocks(section(page, "Latency").blocks, Dots)
    assert chart.rows == ("q2", "q3", "q1")
    assert [(panel.label, panel.strips[0].values) for panel in chart.panels] == [
        ("t, rate 100", (100, 200, 300)),
        ("t, rate 1,000", (1000, 2000, 3000)),
    ]


def test_latency_by_groups_of_queries() -> None:
    features: list[dict[str, Setting | None]] = [
        {"kind": "pure", "patterns": 1, "shape": "linear", "cardinality": 500, "f-TP deviation": 0.1},
        {"kind": "pure", "patterns": 4, "shape": "star", "cardinality": 900, "f-TP deviation": 0.2},
        {"kind": "hybrid", "patterns": 5, "shape": "star", "cardinality": 901, "f-TP deviation": 0.3},
    ]
    records: list[Record] = []
    for number, found in enumerate(features, start=1):
        records.append(QueryFacts(test="t", query=f"q{number}", text="", features=found))
        records.append(outcome(key(query=f"q{number}"), delay_median=number * 10))
    tables = {t.caption.split(":")[0]: t for t in blocks(section(shown(records), "Latency").blocks, Table)}
    named = {name: [c.name for c in table.columns[2:]] for name, table in tables.items()}
    assert named["Mean latency by kind"] == ["hybrid (1)", "pure (2)"]
    assert rows(tables["Mean latency by kind"]) == (("t", "a", 30, 15),)
    assert named["Mean latency by patterns"] == ["1 (1)", "4-5 (2)"]
    assert named["Mean latency by cardinality"] == [
        "low (0, 500] (1)", "medium (500, 900] (1)", "high (900, \N{INFINITY}) (1)",
    ]  # fmt: skip
    assert rows(tables["Mean latency by f-TP deviation"]) == (("t", "a", 15, 30),)


def test_throughput_against_static_size_and_number_of_queries() -> None:
    page = shown(
        [
            *(outcome(key("a", test="size", static=n), executions_rate=1e6 / n) for n in (100, 10, 1000)),
            *(outcome(key("a", test="many", queries=n), executions_rate=100 / n) for n in (1, 2)),
        ]
    )
    size, many = blocks(section(page, "Scaling").blocks, Lines)
    assert (size.x.label, size.x.log, size.panels[0].y.label) == ("static", True, "executions a second")
    assert points(size.panels[0].series[0]) == ((10, 1e5), (100, 1e4), (1000, 1e3))
    assert points(many.panels[0].series[0]) == ((1, 100), (2, 50))


def test_copies_of_a_query_are_one_query_with_their_mean() -> None:
    records: list[Record] = [QueryFacts(test="many", query="q3/1", text="T")]
    for copies in (1, 2):
        for number in range(1, copies + 1):
            at = key("a", f"q3/{number}", test="many", copies=copies)
            records += [window(at, 1000), outcome(at, executions_rate=10 * number / copies)]
            records += [Sampled(key=at, at=n, memory=1, cpu=0, threads=1) for n in range(3)]
    page = shown(records)
    (chart,) = blocks(section(page, "Scaling").blocks, Lines)
    assert points(chart.panels[0].series[0]) == ((1, 10), (2, 7.5))
    (table,) = blocks(section(page, "Verdicts").blocks, Table)
    assert [column.name for column in table.columns] == ["engine", "settings", "q3"]
    assert "Repetitions" not in titles(page)
    courses = list(blocks(section(page, "Memory and processor").blocks, Lines))
    assert points(courses[1].panels[0].series[0]) == ((0, 1), (1, 1), (2, 1))


def test_arrival_of_the_last_result() -> None:
    page = shown(outcome(key(repetition=n), last_result=1000 * (n + 1)) for n in range(3))
    (table,) = blocks(section(page, "Scaling").blocks, Table)
    assert rows(table) == (("q1", "t", 2, 1, 3),)


def test_memory_and_processor_of_all_engines_together() -> None:
    page = shown(
        [
            *(Sampled(key=key(e), at=n, memory=100 * n, cpu=n * 0.5, threads=3) for e in "ab" for n in range(3)),
            *(outcome(key(e), memory_peak=200, memory_slope=1.5, cpu=1) for e in "ab"),
        ]
    )
    (chart,) = blocks(section(page, "Memory and processor").blocks, Lines)
    memory, processor, threads = chart.panels
    assert [series.name for series in memory.series] == ["a", "b"]
    assert points(memory.series[0]) == ((0, 0), (1, 100), (2, 200))
    assert points(processor.series[0]) == ((1, 0.5), (2, 0.5))
    assert points(threads.series[1]) == ((0, 3), (1, 3), (2, 3))
    (table,) = blocks(section(page, "Memory and processor").blocks, Table)
    assert table.rows[0] == ("t", "a", 200, 200, 1.5, 1)


def test_repetitions_as_boxes_by_run_and_by_window() -> None:
    records: list[Record] = []
    for number in range(5):
        records.append(window(key(repetition=number), 5000, delay=number))
        records.append(outcome(key(repetition=number), delay_median=number * 10))
    runs, windows = blocks(section(shown(records), "Repetitions").blocks, BoxPlot)
    box = runs.panels[0].series[0].boxes[0]
    assert box is not None
    assert (box.low, box.lower, box.median, box.upper, box.high, box.count) == (0, 10, 20, 30, 40, 5)
    assert windows.groups == ("5 s",)
    delay = windows.panels[2].series[0].boxes[0]
    assert delay is not None
    assert (delay.median, delay.high) == (2, 4)


def test_what_was_not_repeated_has_no_boxes() -> None:
    assert "Repetitions" not in titles(shown([outcome(key(), delay_median=1), window(key(), 1)]))


def test_published_figures_stand_next_to_this_run() -> None:
    origin = BARE.model_copy(update={"published": {"Q1": {"CQELS": 24122, "JTALIS": None}, "Q9": {"CQELS": "ok"}}})
    page = shown([outcome(key(query="q1"), executions_rate=500.0)], origin)
    (table,) = blocks(section(page, "Published figures").blocks, Table)
    assert [(column.group, column.name) for column in table.columns] == [
        ("", ""), ("published", "CQELS"), ("published", "JTALIS"), ("this run: executions a second", "a"),
        ("this run: verdict", "a"),
    ]  # fmt: skip
    assert rows(table) == (("Q1", 24122, None, 500, "ok"), ("Q9", "ok", None, None, None))


def test_published_rows_say_measure_query_and_settings_in_any_order() -> None:
    names = ("cmet Q1", "Q1 1,000 output", "output 100 q1", "verdict q2", "output q7")
    origin = BARE.model_copy(update={"published": {name: {"CQELS": 1} for name in names}})
    records = [
        outcome(key("a", "q1", rate=100), output=68, executions_rate=5.0),
        outcome(key("a", "q1", rate=1000), output=70, executions_rate=7.0),
        outcome(key("a", "q2", rate=100), "syntax error"),
    ]
    cmet, output, verdict = blocks(section(shown(records, origin), "Published figures").blocks, Table)
    assert rows(cmet) == (("cmet Q1", 1, 6),)
    records.append(outcome(key("a", "q1", test="cmet"), executions_rate=9.0))
    assert rows(next(blocks(section(shown(records, origin), "Published figures").blocks, Table))) == (
        ("cmet Q1", 1, 9),
    )
    assert rows(output) == (("Q1 1,000 output", 1, 70), ("output 100 q1", 1, 68), ("output q7", 1, None))
    assert rows(verdict) == (("verdict q2", 1, "syntax error"),)


def test_queries_are_shown_with_features_and_texts() -> None:
    facts = QueryFacts(test="t", query="q1", text="A", texts={"e": "B"}, variables=("x",), features={"patterns": 2})
    found = section(shown([facts, facts.model_copy(update={"test": "u"})]), "Queries")
    (table,) = blocks(found.blocks, Table)
    (texts,) = blocks(found.blocks, Queries)
    assert rows(table) == (("q1", 2),)
    assert [(each.name, each.note, each.texts) for each in texts.queries] == [
        ("q1", "?x", (("", "A"), ("as e is asked", "B")))
    ]


def test_several_runs_become_parts() -> None:
    page = document([collect(BARE, [outcome(key())]), collect(BARE.model_copy(update={"title": "Second"}), [])])
    assert [part.title for part in page.parts] == ["e", "Second"]
    assert page.title == "2 experiments"

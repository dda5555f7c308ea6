"""Which rows feed the figures: latency, scaling, resources, repetitions, published ones."""

from __future__ import annotations

from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.report.document import (
    BoxPlot,
    Dots,
    Lines,
    Table,
)
from hydrograph_gauge.run_records import (
    ExclusionRecord,
    Key,
    MismatchRecord,
    QueryRecord,
    Record,
    SampleRecord,
    Setting,
)
from tests.support.pages import BARE, blocks, key, outcome, points, rows, section, shown, titles, window


def test_latency_is_sorted_by_query_with_a_panel_for_each_rate_and_without_excluded_queries() -> None:
    page = shown(
        [
            *(
                outcome(key("a", query, rate=rate), delay_median=value * rate)
                for query, value in (("q1", 3), ("q2", 1), ("q3", 2), ("q4", 9))
                for rate in (1000, 100)
            ),
            ExclusionRecord(test="t", query="q4", why="no results"),
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
        records.append(QueryRecord(test="t", query=f"q{number}", text="", features=found))
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


def test_static_size_in_triples_where_what_is_swept_makes_it() -> None:
    sizes = {500: 61_000, 1000: 120_000}
    page = shown(
        outcome(key(engine, test="size", users=users, speed=speed), executions_rate=1e6 / users, static=size)
        for engine in ("a", "b")
        for users, size in sizes.items()
        for speed in (1, 2)
    )
    charts = {chart.x.label: chart for chart in blocks(section(page, "Scaling").blocks, Lines)}
    assert [*charts] == ["speed", "users", "static triples"]
    named = [series.name for series in charts["static triples"].panels[0].series]
    assert named == ["a, speed 1", "a, speed 2", "b, speed 1", "b, speed 2"]
    assert points(charts["static triples"].panels[0].series[0]) == ((61_000, 2000), (120_000, 1000))


def test_copies_of_a_query_are_one_query_with_their_mean() -> None:
    records: list[Record] = [QueryRecord(test="many", query="q3/1", text="T")]
    for copies in (1, 2):
        for number in range(1, copies + 1):
            at = key("a", f"q3/{number}", test="many", copies=copies)
            records += [window(at, 1000), outcome(at, executions_rate=10 * number / copies)]
            records += [SampleRecord(key=at, at=n, memory=1, cpu=0, threads=1) for n in range(3)]
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
            *(SampleRecord(key=key(e), at=n, memory=100 * n, cpu=n * 0.5, threads=3) for e in "ab" for n in range(3)),
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


def test_means_over_repetitions_have_intervals() -> None:
    delays = (10, 12, 14, 12, 12)
    records = [outcome(key(repetition=number), delay_median=delay) for number, delay in enumerate(delays)]
    (table,) = blocks(section(shown(records), "Repetitions").blocks, Table)
    # 2.776 · sqrt(2) / sqrt(5) = 1.756: four degrees of freedom
    assert [column.name for column in table.columns][:5] == ["test", "query", "engine", "repetitions", "median delay"]
    assert table.rows == (("t", "q1", "a", 5, "12.0 ± 1.8"),)


def test_simultaneous_copies_are_one_value_of_a_repetition() -> None:
    records = [
        outcome(key(repetition=number, query=f"q1/{copy}"), delay_median=10 * number + copy)
        for number in range(3)
        for copy in range(2)
    ]
    (table,) = blocks(section(shown(records), "Repetitions").blocks, Table)
    assert table.rows[0][3] == 3
    assert table.rows[0][4] == "10 ± 25"  # the means are 0.5, 10.5 and 20.5


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


def test_published_rows_speak_of_groups_of_queries_too() -> None:
    names = ("latency hybrid 10000", "latency pure 10000", "latency low", "failed sliding")
    origin = BARE.model_copy(update={"published": {name: {"CQELS": 1} for name in names}})
    records: list[Record] = []
    for query, kind, delay in (("q1", "pure", 40), ("q2", "hybrid", 60), ("q3", "hybrid", 80)):
        for test in ("latency at 10000/s", "sliding"):
            features = {"kind": kind, "cardinality": 400 if delay < 80 else 700}
            records.append(QueryRecord(test=test, query=query, text="", variables=("x",), features=features))
        records.append(outcome(key("a", query, test="latency at 10000/s"), delay_median=delay))
        records.append(outcome(key("a", query, test="sliding"), "ok" if delay < 80 else "wrong"))
    latency, failed = blocks(section(shown(records, origin), "Published figures").blocks, Table)
    assert rows(latency) == (
        ("latency hybrid 10000", 1, 70),
        ("latency low", 1, 50),
        ("latency pure 10000", 1, 40),
    )
    assert rows(failed) == (("failed sliding", 1, 1),)


def test_every_published_row_of_stream_watdiv_finds_its_figures_and_both_rates_share_a_chart() -> None:
    experiment = read_experiment("watdiv")
    origin = BARE.model_copy(update={"published": experiment.published})
    records: list[Record] = []
    for place, test in enumerate(experiment.tests):
        if test.measure == "functional":
            continue
        for number, (kind, shape) in enumerate(
            [("pure", "linear"), ("hybrid", "star or snowflake"), ("pure", "other")]
        ):
            features: dict[str, Setting] = {"kind": kind, "shape": shape, "cardinality": 450 * (number + 1)}
            features["f-TP deviation"] = number / 10
            facts = QueryRecord(test=test.name, query=f"q{number}", text="", variables=("x",), features=features)
            delay = 100.0 * place + number if test.play.pace == "event-time" else None
            asked = Key(test=test.name, engine="a", query=f"q{number}", settings=test.settings)
            records += [facts, outcome(asked, delay_median=delay)]
    page = shown(records, origin)
    failed, latencies = blocks(section(page, "Published figures").blocks, Table)
    assert [row[-1] for row in failed.rows] == [0, 0]
    assert [row[0] for row in latencies.rows if row[-1] is None] == []
    found = {row[0]: row[-1] for row in latencies.rows}
    assert (found["latency 10000 tumbling pure"], found["latency 10000 sliding pure"]) == (401, 601)
    charts = blocks(section(page, "Latency").blocks, Dots)
    assert [[panel.label for panel in chart.panels] for chart in charts] == [
        [f"latency, {way}, rate 1,000", f"latency, {way}, rate 10,000"] for way in ("tumbling", "sliding")
    ]


def test_published_mismatch_stands_next_to_that_of_all_pairs() -> None:
    published = {"mismatch q1 100": {"CQELS, not C-SPARQL": 0.0147}, "mismatch q2 100": {}}
    origin = BARE.model_copy(update={"published": published})
    records: list[Record] = [outcome(key(engine, "q1", rate=100), output=9) for engine in "ab"]
    for one, other, value in (("a", "b", 0.5), ("b", "a", 0.25)):
        settings = {"rate": 100}
        records.append(
            MismatchRecord(test="t", query="q1", settings=settings, one=one, other=other, value=value, comparable=False)
        )
    (table,) = blocks(section(shown(records, origin), "Published figures").blocks, Table)
    assert [column.name for column in table.columns] == ["", "CQELS, not C-SPARQL", "a, not b", "b, not a"]
    assert {column.format for column in table.columns[1:]} == {"percent"}
    assert rows(table) == (("mismatch q1 100", 0.0147, 0.5, 0.25), ("mismatch q2 100", None, None, None))

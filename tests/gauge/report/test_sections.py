"""Which rows feed which table: summary, verdicts, failures, outputs and throughput, queries and parts."""

from __future__ import annotations

from hydrograph_gauge.report.document import (
    Cell,
    Dots,
    Facts,
    Queries,
    Table,
    Wrong,
)
from hydrograph_gauge.report.page import build_document
from hydrograph_gauge.report.run_data import collect_records
from hydrograph_gauge.run_records import (
    ExclusionRecord,
    FunctionalRecord,
    MaxRateRecord,
    MismatchRecord,
    MissingEngineRecord,
    QueryRecord,
)
from tests.support.pages import BARE, blocks, key, outcome, rows, section, shown, titles, window


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
    assert "recall 0.9999. Not right: wrong: q1; syntax error: q2. Diagnosis: q1: late eviction." in text


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
            ExclusionRecord(test="t", query="q2", why="a: wrong"),
        ]
    )
    totals, excluded = blocks(section(page, "Queries answered").blocks, Table)
    assert rows(totals) == (("t", "a", 3, 2, 2, 1), ("t", "b", 3, 2, 2, 2), ("t", "all engines", 3, 2, 2, 1))
    assert rows(excluded) == (("t", "q2", "a: wrong"),)


def test_engines_that_were_not_there_are_listed_unless_they_were_asked_after_all() -> None:
    page = shown(
        [
            MissingEngineRecord(test="t", engine="b", why="no node"),
            MissingEngineRecord(test="t", engine="c", why="no java"),
            outcome(key("a", "q1"), non_empty=2),
            outcome(key("c", "q1"), non_empty=2),
        ]
    )
    _, absent = blocks(section(page, "Queries answered").blocks, Table)
    assert rows(absent) == (("t", "b", "no node"),)


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
    assert words.rows[0] == ("a", "crash", "execution", "", "q1, q2 and q10", "core dumped")
    assert words.rows[1][-1] == "2 rows missing; rounds numbers"


def test_a_query_that_was_not_asked_is_no_failure() -> None:
    page = shown(
        [
            outcome(key("a", "q1"), "ok"),
            outcome(key("a", "q2"), "not asked", words="because C-SPARQL 0.9.7 has no COMPUTED EVERY"),
            outcome(key("b", "q1"), "ok"),
            outcome(key("b", "q2"), "ok"),
        ]
    )
    assert "Failed queries" not in titles(page)
    totals, unasked = blocks(section(page, "Queries answered").blocks, Table)
    assert [row[1:3] for row in totals.rows] == [("a", 1), ("b", 2), ("all engines", 1)]
    assert rows(unasked) == (("a", "q2", "because C-SPARQL 0.9.7 has no COMPUTED EVERY"),)
    assert "a: 1 of 1 run right. Not asked: q2." in str(section(page, "Summary").blocks[0])


def test_a_failure_is_shown_with_its_origin_and_standard_error() -> None:
    page = shown(
        [
            outcome(
                key("a", "q1"),
                "runtime error",
                phase="registration",
                words="NoClassDefFoundError: ReflectUtils",
                origin="adapter",
                errors=("InaccessibleObjectException: ClassLoader.defineClass",),
            )
        ]
    )
    _, words = blocks(section(page, "Failed queries").blocks, Table)
    assert words.rows[0][3] == "adapter"
    assert str(words.rows[0][-1]).endswith("standard error: InaccessibleObjectException: ClassLoader.defineClass")


def test_functional_tests_as_a_matrix() -> None:
    page = shown(
        [
            FunctionalRecord(engine="a", group="R2S", name="istream", passed=True),
            FunctionalRecord(engine="b", group="R2S", name="istream", passed=False, words="2 rows too many"),
            FunctionalRecord(engine="c", group="R2S", name="istream", passed=None),
            FunctionalRecord(
                engine="d",
                group="R2S",
                name="istream",
                passed=False,
                rights=(True, False, True),
                words="right in 2 of 3 runs",
            ),
        ]
    )
    numbers, tests, words = blocks(section(page, "Functionality").blocks, Table)
    assert rows(numbers) == (("R2S", 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1),)  # passed, unstable, asked
    assert "Each was run 3 times" in numbers.caption
    cells = [cell for cell in tests.rows[0][2:] if isinstance(cell, Cell)]
    assert [cell.text for cell in cells] == ["\N{CHECK MARK}", "F", "U", "2/3"]
    assert (cells[3].tone, cells[3].meaning) == ("unstable", "unstable: right in 2 of 3 runs")
    assert words.rows[0][-1] == "2 rows too many"


def test_output_sizes_and_mismatch_both_ways() -> None:
    page = shown(
        [
            outcome(key("a"), output=68),
            outcome(key("b"), output=604),
            MismatchRecord(test="t", query="q1", one="a", other="b", value=0.0147, comparable=True),
            MismatchRecord(test="t", query="q1", one="b", other="a", value=0.0, comparable=True),
        ]
    )
    (table,) = blocks(section(page, "Output sizes and mismatch").blocks, Table)
    assert rows(table) == (("q1", "t", 68, 604, 0.0147, 0.0, Cell("yes", "", "right")),)


def test_executions_a_second_and_rates_that_were_held() -> None:
    page = shown(
        [
            outcome(key("a"), executions_rate=24122),
            outcome(key("b"), executions_rate=10),
            MismatchRecord(test="t", query="q1", one="a", other="b", value=0.5, comparable=False),
            MaxRateRecord(key=key("a"), rate=800, tried=((800, True), (1600, False), (1000, False)), why="delay grows"),
        ]
    )
    (chart,) = blocks(section(page, "Throughput").blocks, Dots)
    cmet, held = blocks(section(page, "Throughput").blocks, Table)
    assert chart.rows == ("q1 *",)
    assert chart.x.log
    assert [strip.values for strip in chart.panels[0].strips] == [(24122,), (10,)]
    assert rows(cmet) == (("q1 *", "t", 24122, 10),)
    assert rows(held) == (("q1", "t", "a", 800, 1000, 3, "elements/s", "delay grows"),)


def test_queries_are_shown_with_features_and_texts() -> None:
    facts = QueryRecord(test="t", query="q1", text="A", texts={"e": "B"}, variables=("x",), features={"patterns": 2})
    found = section(shown([facts, facts.model_copy(update={"test": "u"})]), "Queries")
    (table,) = blocks(found.blocks, Table)
    (texts,) = blocks(found.blocks, Queries)
    assert rows(table) == (("q1", 2),)
    assert [(each.name, each.note, each.texts) for each in texts.queries] == [("q1", "?x", (("", "A"), ("for e", "B")))]


def test_the_seeds_of_tests_are_shown_where_they_differ() -> None:
    one = shown([], BARE.model_copy(update={"seeds": {"a": 7, "b": 7}}))
    assert one.parts[0].note == "e, 2026-01-01T00:00:00Z, seed 7"
    assert ("seed", "7") in next(blocks(section(one, "Origin").blocks, Facts)).items
    two = shown([], BARE.model_copy(update={"seeds": {"a": 7, "b": 8, "c": 7}}))
    assert two.parts[0].note.endswith("seeds 7, 8")
    _, seeds = blocks(section(two, "Origin").blocks, Facts)
    assert (seeds.title, seeds.items) == ("Seeds", (("a", "7"), ("b", "8"), ("c", "7")))


def test_several_runs_become_parts() -> None:
    page = build_document(
        [collect_records(BARE, [outcome(key())]), collect_records(BARE.model_copy(update={"title": "Second"}), [])]
    )
    assert [part.title for part in page.parts] == ["e", "Second"]
    assert page.title == "2 experiments"

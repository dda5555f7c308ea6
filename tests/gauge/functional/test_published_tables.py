"""The paper's tables come from the presets cell by cell, and CQELS' published fault from a preset of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hydrograph_gauge.functional.published_tables import TABLES, PublishedTable, compare_table, list_answers

BY_NAME = {table.name: table for table in TABLES}


@pytest.mark.parametrize("table", TABLES, ids=BY_NAME)
def test_every_cell_is_given(table: PublishedTable) -> None:
    cells = list(compare_table(table))
    assert {(each.engine, each.window) for each in cells if not each.agrees} == set(table.misprints)
    assert len(cells) == sum(len(row) for engines in table.cells.values() for row in engines.values())


def test_a_misprint_moves_an_answer_and_changes_none() -> None:
    column = [each for each in compare_table(BY_NAME["query A"]) if each.engine == "CQELS"]
    assert [each.printed for each in column if each.printed] == [each.given for each in column if each.given]


def test_the_empty_second_window_is_reported_without_a_given_end() -> None:
    (cell,) = [
        each
        for each in compare_table(BY_NAME["table 1"])
        if (each.t0, each.engine, each.window) == (6, "SPARQLstream", 2)
    ]
    assert cell.given == cell.printed == "-@26"


def test_the_preset_of_an_engine_that_evicts_does_not_give_the_published_fault() -> None:
    given = {name: [each.text for each in list_answers(BY_NAME[name], "CQELS", 0, "cqels")] for name in BY_NAME}
    assert given["query A"] == []
    assert given["query B"] == ["m1,m1,r1@0", "m2,m2,r2@5", "m3,m3,r1@10", "m4,m4,r2@15"]
    # Table 1 does not show the fault: whether m1 left r1 before 12 s changes no answer.
    assert given["table 1"] == ["r1@3", "r2@15"]


def test_the_command() -> None:
    command = [sys.executable, "-m", "hydrograph_gauge.functional", "--tables"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[-1] == "tables: 71 cells, 69 agree, 2 misprinted, 0 differ"

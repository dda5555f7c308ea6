"""The matrix of the functional suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hydrograph_gauge.report.document import Cell, Column, Section, Table, Value, section
from hydrograph_gauge.report.run_data import RunData
from hydrograph_gauge.report.sections.measures import cut
from hydrograph_gauge.run_records import FunctionalRecord, FunctionalVerdict

_PASSED = Cell("\N{CHECK MARK}", "passed", "right")
_FAILED = Cell("F", "failed", "wrong")
_UNSTABLE = Cell("~", "unstable: right in some runs only", "unstable")
_NOT_ASKED = Cell("U", "not asked", "unsupported")
_CELLS = {
    FunctionalVerdict.PASSED: _PASSED,
    FunctionalVerdict.FAILED: _FAILED,
    FunctionalVerdict.UNSTABLE: _UNSTABLE,
    FunctionalVerdict.NOT_ASKED: _NOT_ASKED,
}


def show_functional(run: RunData) -> Section | None:
    """Return the numbers by group, and every test that some engine did not pass; all tests where they are few."""
    if not run.functional:
        return None
    return section("Functionality", _groups(run), *_tests(run))


def _groups(run: RunData) -> Table:
    engines = list(dict.fromkeys(each.engine for each in run.functional))
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for each in run.functional:
        of = counts.setdefault(each.group, Counter())
        of[each.engine, "passed"] += each.verdict is FunctionalVerdict.PASSED
        of[each.engine, "unstable"] += each.verdict is FunctionalVerdict.UNSTABLE
        of[each.engine, "of"] += each.verdict is not FunctionalVerdict.NOT_ASKED
    columns = [(engine, name) for engine in engines for name in ("passed", "unstable", "of")]
    runs = max(each.runs for each in run.functional)
    spread = f" Each was run {runs} times: passed is right in every run, unstable in some." if runs > 1 else ""
    return Table(
        f"Functional tests passed by each engine, by group, of those that it was asked.{spread}",
        (Column("group"), *(Column(name, "count", group=engine) for engine, name in columns)),
        tuple((group, *(of[column] for column in columns)) for group, of in counts.items()),
    )


def _tests(run: RunData) -> Iterator[Table]:
    by_test: dict[tuple[str, str], dict[str, FunctionalRecord]] = {}
    for each in run.functional:
        by_test.setdefault((each.group, each.name), {})[each.engine] = each
    engines = list(dict.fromkeys(each.engine for each in run.functional))
    few = len(by_test) <= 60
    rows: list[tuple[Value, ...]] = []
    for (group, name), found in by_test.items():
        if few or any(each.passed is not True for each in found.values()):
            rows.append((group, name, *(_cell(found.get(engine)) for engine in engines)))
    if rows:
        which = "Functional tests" if few else "Functional tests that some engine does not pass"
        yield Table(
            f"{which}. The message of a cell is the engine's or the judge's.",
            (Column("group"), Column("test"), *(Column(engine) for engine in engines)),
            tuple(rows),
            headers=2,
            tiles=True,
            legend=tuple(_CELLS.values()),
        )
    said = [each for each in run.functional if each.words and each.passed is not True]
    if said:
        yield Table(
            "Messages about tests that were not passed.",
            (Column("engine"), Column("group"), Column("test"), Column("words", "code")),
            tuple((each.engine, each.group, each.name, cut(each.words, 600)) for each in said[:400]),
            headers=3,
        )


def _cell(found: FunctionalRecord | None) -> Cell:
    if found is None:
        return Cell("", "not asked", "off")
    plain = _CELLS[found.verdict]
    meaning = found.verdict.value + (f": {cut(found.words, 160)}" if found.words else "")
    text = f"{sum(found.rights)}/{found.runs}" if found.verdict is FunctionalVerdict.UNSTABLE else plain.text
    return Cell(text, meaning, plain.tone)

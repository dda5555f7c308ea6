"""The matrix of the functional suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hydrograph_gauge.report.document import Cell, Column, Section, Table, Value, section
from hydrograph_gauge.report.run_data import RunData
from hydrograph_gauge.report.sections.measures import cut
from hydrograph_gauge.run_records import FunctionalRecord

_PASSED = Cell("\N{CHECK MARK}", "passed", "right")
_FAILED = Cell("F", "failed", "wrong")
_CANNOT = Cell("U", "not supported", "unsupported")


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
        of[each.engine, "passed"] += each.passed is True
        of[each.engine, "of"] += each.passed is not None
    columns = [(engine, name) for engine in engines for name in ("passed", "of")]
    return Table(
        "Functional tests passed by each engine, by group, of those that it supports.",
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
            legend=(_PASSED, _FAILED, _CANNOT),
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
    plain = _CANNOT if found.passed is None else _PASSED if found.passed else _FAILED
    return Cell(plain.text, plain.meaning + (f": {cut(found.words, 160)}" if found.words else ""), plain.tone)

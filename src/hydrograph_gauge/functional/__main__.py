"""The functional suite on engines, as a matrix: python -m hydrograph_gauge.functional ENGINE..."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from hydrograph.errors import HydrographError
from hydrograph_gauge.engines.registry import list_names
from hydrograph_gauge.functional.cases import CASES, PHASE, UNIT
from hydrograph_gauge.functional.published_tables import TABLES, compare_table, format_tables
from hydrograph_gauge.functional.suite import run_suite
from hydrograph_gauge.functional.w3c import w3c
from hydrograph_gauge.run_records import FunctionalRecord, FunctionalVerdict


def _mark(record: FunctionalRecord) -> str:
    match record.verdict:
        case FunctionalVerdict.PASSED:
            return "pass"
        case FunctionalVerdict.FAILED:
            return "FAIL"
        case FunctionalVerdict.UNSTABLE:
            return f"UNSTABLE {sum(record.rights)}/{record.runs}"
        case FunctionalVerdict.NOT_ASKED:
            return "-"
        case _:
            assert_never(record.verdict)


def matrix(found: Sequence[FunctionalRecord]) -> str:
    """Return the tests by engines, then how many of each group an engine passes of those that it can be asked."""
    engines = list(dict.fromkeys(each.engine for each in found))
    tests = list(dict.fromkeys((each.group, each.name) for each in found))
    cells = {(each.group, each.name, each.engine): _mark(each) for each in found}
    lines = [("", "", *engines)]
    lines += [(*test, *(cells.get((*test, engine), "") for engine in engines)) for test in tests]
    for group in dict.fromkeys(group for group, _ in tests):
        sums = []
        for engine in engines:
            given = [each.verdict for each in found if (each.group, each.engine) == (group, engine)]
            unstable = given.count(FunctionalVerdict.UNSTABLE)
            sums.append(
                f"{given.count(FunctionalVerdict.PASSED)} of {len(given) - given.count(FunctionalVerdict.NOT_ASKED)}"
                + (f", {unstable} unstable" if unstable else "")
            )
        lines.append((group, "passed", *sums))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join(shown) + "\n"


def main() -> None:
    """Run the suite and print the matrix, and why tests failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help=", ".join(list_names()))
    parser.add_argument(
        "--w3c", type=Path, help="the folder of the W3C's rdf-tests, for their SELECT tests in a window"
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each case so many times")
    parser.add_argument(
        "--phase",
        type=int,
        default=PHASE,
        metavar="MS",
        help="distance of elements from the borders of windows, for engines that go by the clock; default: %(default)s",
    )
    parser.add_argument("--tables", action="store_true", help="compare the paper's tables with the presets, and end")
    given = parser.parse_args()
    if given.tables:
        cells = [cell for table in TABLES for cell in compare_table(table)]
        sys.stdout.write("".join(f"{line}\n" for line in format_tables(cells)))
        sys.exit(any(not cell.agrees and not cell.misprint for cell in cells))
    if not given.engines:
        parser.error(f"expected an engine, such as {list_names()[0]}, or --tables")
    if given.repeat < 1:
        parser.error(f"expected at least one run, got --repeat {given.repeat}")
    if not 0 < given.phase < UNIT:
        parser.error(f"expected a phase above 0 and below {UNIT} ms, where elements come, got --phase {given.phase}")
    try:
        cases = [*CASES, *(w3c(given.w3c) if given.w3c else ())]
        found: list[FunctionalRecord] = []
        for engine in given.engines:
            found += run_suite(engine, cases, repeat=given.repeat, phase=given.phase)
    except HydrographError as error:
        sys.stderr.write(f"functional: {error}\n")
        sys.exit(error.exit_code)
    sys.stdout.write(matrix(found))
    for each in found:
        if each.words:
            sys.stdout.write(f"{each.engine}: {each.group}, {each.name}: {' '.join(each.words.split())}\n")


if __name__ == "__main__":
    main()

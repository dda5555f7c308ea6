"""`make conformance W3C=PATH`: every query test of the W3C for SPARQL 1.1, on Spark and in the local placement.

PATH holds the folder `sparql11` of https://github.com/w3c/rdf-tests. The last line shows how many tests passed in all
placements. A failure is expected only if `expected_failures.toml` gives its reason; one listed there that passes, or
that names no test, is an error too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hydrograph.errors import HydrographError, QueryError, UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.session import spark_session
from hydrograph_gauge.functional.w3c import Data, Engine
from hydrograph_gauge.functional.w3c_answers import difference, read_answer
from hydrograph_gauge.functional.w3c_manifest import SOURCE, Entry, Kind, find_manifest, read_tests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_SHOWN = 1_500
_FEW = 25


@dataclass(frozen=True, slots=True)
class ConformanceResult:
    """Result of a test: an empty text, or what is wrong."""

    test: Entry
    placement: str
    wrong: str


def print_line(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def expected_failures() -> dict[str, str]:
    """Return the reasons why tests are known to fail, by their names."""
    text = Path(__file__).with_name("expected_failures.toml").read_text("utf-8")
    table: dict[str, str] = tomllib.loads(text).get("evaluation", {})
    return table


def check_syntax(test: Entry) -> str:
    """Return what is wrong with how a syntax test is read."""
    try:
        parse(test.text, "sparql", base=test.query.as_uri())
    except UnsupportedError as error:
        return f"not supported: {error}"
    except QueryError as error:
        return f"refused: {error}" if test.kind is Kind.POSITIVE_SYNTAX else ""
    return "accepted" if test.kind is Kind.NEGATIVE_SYNTAX else ""


def check_evaluation(engine: Engine, test: Entry) -> str:
    """Return what is wrong with the answer to an evaluation test."""
    assert test.result is not None, test.name
    expected = read_answer(test.result)
    try:
        got = engine.answer(test)
    except Exception as error:  # noqa: BLE001 -- whatever goes wrong in one test is that test's failure
        return f"{type(error).__name__}: {str(error)[:_SHOWN]}"
    return difference(expected, got, lax=test.lax)[:_SHOWN]


def unexpected_results(outcomes: Iterable[ConformanceResult], known: dict[str, str], *, whole: bool) -> list[str]:
    """Return what is not as expected: failures without a reason, and reasons without a failure."""
    outcomes = list(outcomes)
    complaints = [
        f"FAILED {outcome.test.name} ({outcome.placement})\n{outcome.wrong}"
        for outcome in outcomes
        if outcome.wrong and outcome.test.name not in known
    ]
    run, failed = ({o.test.name for o in outcomes}, {o.test.name for o in outcomes if o.wrong})
    complaints += [f"PASSED {name}, which is listed as an expected failure" for name in known if name in run - failed]
    if whole:
        complaints += [f"UNKNOWN {name} is listed as an expected failure" for name in known if name not in run]
    return complaints


def _progress(done: int, total: int, placement: str, name: str, started: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{placement} {done}/{total} {name}")
        sys.stderr.write("\r\x1b[K" if done == total else "")
    elif done % _FEW == 0 or done == total:
        sys.stderr.write(f"{placement} {done}/{total} in {time.monotonic() - started:.0f} s\n")
    sys.stderr.flush()


def run_all(tests: list[Entry], placement: str, ask: Callable[[Entry], str]) -> list[ConformanceResult]:
    """Return how all tests went."""
    started = time.monotonic()
    outcomes = []
    for done, test in enumerate(tests, 1):
        outcomes.append(ConformanceResult(test, placement, ask(test)))
        _progress(done, len(tests), placement, test.name, started)
    return outcomes


def evaluate_all(
    tests: list[Entry], placements: list[PlacementChoice], session: SparkSession | None = None
) -> list[ConformanceResult]:
    """Return how the evaluation tests went in each placement; one Spark session serves them all."""
    outcomes: list[ConformanceResult] = []
    with tempfile.TemporaryDirectory(prefix="hydrograph-conformance-") as folder:
        data = Data(Path(folder))
        for placement in placements:
            engine = Engine(data, placement, session if placement is PlacementChoice.SPARK else None)
            outcomes += run_all(tests, placement.value, partial(check_evaluation, engine))
    return outcomes


def main() -> None:
    """Run the tests, print what is not as expected, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help=f"the folder of {SOURCE} that holds sparql11")
    parser.add_argument("--only", default="", help="run the tests whose names hold this text")
    parser.add_argument("--placement", choices=["local", "spark"], help="run in one placement only")
    given = parser.parse_args()
    try:
        tests = _chosen(read_tests(find_manifest(given.root)), given.only)
    except HydrographError as error:
        sys.stderr.write(f"conformance: {error}\n")
        sys.exit(error.exit_code)
    asked = [test for test in tests if test.kind is Kind.EVALUATION]
    read = [test for test in tests if test.kind is not Kind.EVALUATION]
    placements = (
        [PlacementChoice(given.placement)] if given.placement else [PlacementChoice.LOCAL, PlacementChoice.SPARK]
    )
    syntactic = run_all(read, "syntax", check_syntax)
    session = spark_session() if PlacementChoice.SPARK in placements else None
    try:
        answered = evaluate_all(asked, placements, session)
    finally:
        if session is not None:
            session.stop()
    complaints = unexpected_results(syntactic, {}, whole=False)
    complaints += unexpected_results(answered, expected_failures(), whole=not given.only)
    for complaint in complaints:
        print_line(complaint)
    for placement in placements:
        print_line(_figure(placement.value, [outcome for outcome in answered if outcome.placement == placement.value]))
    passed = len(asked) - len({outcome.test.name for outcome in answered if outcome.wrong})
    right = sum(not outcome.wrong for outcome in syntactic)
    print_line(f"conformance: {passed}/{len(asked)} evaluation, {right}/{len(read)} syntax")
    sys.exit(1 if complaints else 0)


def _chosen(tests: list[Entry], words: str) -> list[Entry]:
    chosen = [test for test in tests if words in test.name]
    if not chosen:
        raise UsageError(f"expected at least one test whose name holds {words!r}, got none of {len(tests)}")
    return chosen


def _figure(name: str, outcomes: list[ConformanceResult]) -> str:
    return f"{name}: {sum(not outcome.wrong for outcome in outcomes)}/{len(outcomes)}"


if __name__ == "__main__":
    main()

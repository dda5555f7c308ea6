"""Judging as an experiment declares it: comparison of rows and end of the stream; and the lines of the summary."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hydrograph.errors import UsageError
from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.run import run_experiment
from hydrograph_gauge.experiments.summary import format_summary
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.run_records import Key, OutcomeRecord, SmallestDifference, line_of, read_records

FAULTY_ENGINE = Path(__file__).parents[1] / "engines" / "faulty_engine.py"
FILE = """
[world.streams]
"urn:stream" = "stream.tnt"
[queries.texts]
count = '''
SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }
'''
[oracle]
"""


def run(tmp_path: Path, fault: str, oracle: str) -> tuple[OutcomeRecord, str]:
    (tmp_path / "stream.tnt").write_text("".join(f"{t}\t<urn:s{t}> <urn:p> <urn:o> .\n" for t in range(0, 3_500, 100)))
    file = tmp_path / "experiment.toml"
    file.write_text(f"{FILE}{oracle}\n")
    engine = f"program:{sys.executable} {FAULTY_ENGINE} {fault}"
    run_experiment(read_experiment(str(file), [f"engines={engine}"]), tmp_path / "run")
    (found,) = [each for each in read_records(tmp_path / "run") if isinstance(each, OutcomeRecord)]
    return found, "\n".join(format_summary([tmp_path / "run"]))


def test_a_window_that_closes_after_the_last_element_is_not_demanded(tmp_path: Path) -> None:
    found, lines = run(tmp_path, "open-end", "")
    assert (found.verdict, found.windows, found.after_last, found.missing) == ("ok", 3, 1, 0)
    assert "; 1 windows close after the last element and were not answered" in lines


@pytest.mark.parametrize("oracle", ["ends = true", "until = 4000"])
def test_an_explicit_end_of_the_stream_demands_it(tmp_path: Path, oracle: str) -> None:
    found, _ = run(tmp_path, "open-end", oracle)
    assert (found.verdict, found.windows, found.after_last, found.missing) == ("wrong", 4, 0, 1)


def test_an_engine_that_answers_it_is_judged_on_it(tmp_path: Path) -> None:
    found, _ = run(tmp_path, "none", "")
    assert (found.verdict, found.windows, found.after_last) == ("ok", 4, 0)


def test_the_declared_comparison_and_the_strict_verdict_are_printed(tmp_path: Path) -> None:
    found, lines = run(tmp_path, "retype", 'comparison = "value"')
    assert (found.comparison, found.verdict, found.strict_verdict, found.strict_extra) == ("value", "ok", "wrong", 4)
    assert "; rows compared by value, exactly they are 1 wrong" in lines


def test_an_unknown_comparison_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(f'{FILE}comparison = "roughly"\n')
    with pytest.raises(UsageError, match=r"comparison: .*'exact', 'value' or 'double'"):
        read_experiment(str(file))


def test_csrbench_compares_numbers_as_doubles() -> None:
    assert {test.oracle.comparison for test in read_experiment("csrbench").tests} == {Comparison.DOUBLE}


def test_the_smallest_window_that_differs_is_printed_with_its_triples(tmp_path: Path) -> None:
    smallest = SmallestDifference(
        t=2000,
        open=1000,
        close=2000,
        triples=("<urn:s> <urn:p> <urn:o> .",),
        content=1,
        missing=(('"1"', None),),
        extra=tuple((f'"{n}"', None) for n in range(5)),
    )
    outcome = OutcomeRecord(
        key=Key(test="t", engine="e", query="q"),
        verdict="wrong",
        phase="execution",
        faults=("wrong, cause not identified: 1 windows, 1 rows missing, 5 too many",),
        smallest=smallest,
    )
    (tmp_path / "results.jsonl").write_text(line_of(outcome))
    assert list(format_summary([tmp_path]))[1:] == [
        "t, e, q: wrong, cause not identified: 1 windows, 1 rows missing, 5 too many; the smallest that differs is the "
        "window [1000, 2000) ms with 1 triples:",
        '  missing "1" -',
        '  extra "0" -',
        '  extra "1" -',
        '  extra "2" -',
        "  extra 2 more",
        "  triple <urn:s> <urn:p> <urn:o> .",
    ]

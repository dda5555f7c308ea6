"""The summary of a run: functional verdicts with their spread, and means of repetitions with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hydrograph_gauge.experiments.summary import format_summary
from hydrograph_gauge.run_records import (
    RECORDS_FILE,
    FunctionalRecord,
    Key,
    MaxRateRecord,
    OutcomeRecord,
    Record,
    line_of,
)


def summary(folder: Path, records: Iterable[Record]) -> list[str]:
    (folder / RECORDS_FILE).write_text("".join(map(line_of, records)), "utf-8")
    return list(format_summary([folder]))


def test_unstable_cases_are_counted_apart_and_named(tmp_path: Path) -> None:
    def case(name: str, runs: str, words: str = "") -> FunctionalRecord:
        rights = tuple(run == "+" for run in runs)
        passed = all(rights) if rights else None
        return FunctionalRecord(engine="e", group="S2R", name=name, passed=passed, rights=rights, words=words)

    records = [
        case("join", "+++"),
        case("count", "---", "late"),
        case("identity", "+-+", "right in 2 of 3 runs; run 2: late"),
        case("Istream", "", "not supported"),
    ]
    assert summary(tmp_path, records) == [
        "functional suite, e: 1 passed, 1 failed, 1 unstable, 1 not asked; 3 runs each",
        "functional suite, e: S2R, identity is unstable: right in 2 of 3 runs; run 2: late",
    ]
    assert summary(tmp_path, [FunctionalRecord(engine="e", group="S2R", name="join", passed=True)]) == [
        "functional suite, e: 1 passed, 0 failed"
    ]


def test_means_of_repetitions_have_intervals(tmp_path: Path) -> None:
    """A repetition is one value, the mean of its queries."""
    records: list[Record] = [
        OutcomeRecord(
            key=Key(test="load", engine="e", query=query, repetition=number, settings={"rate": 9}),
            verdict="ok",
            phase="execution",
            delay_median=delay + more,
        )
        for number, delay in enumerate((10, 12, 14, 12, 12))
        for query, more in (("a", -1), ("b", 1))
    ]
    assert "load, rate 9, e: means of 5 repetitions (95 % Student t): median delay 12.0 ± 1.8 ms" in summary(
        tmp_path, records
    )
    assert not any("repetitions" in line for line in summary(tmp_path, records[:2]))


def test_highest_rates_have_intervals(tmp_path: Path) -> None:
    rates = [
        MaxRateRecord(key=Key(test="rate", engine="e", query="q", repetition=number), rate=rate)
        for number, rate in enumerate((900.0, 1000.0, 1100.0))
    ]
    assert "rate, e, q: 1000 ± 248 elements/s held, mean of 3 repetitions (95 % Student t)" in summary(tmp_path, rates)

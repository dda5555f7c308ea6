"""Summary of a run in a few lines: one for each engine and test, and the last line of `make bench-papers`."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.intervals import LABEL, format_interval, mean_interval
from hydrograph_gauge.run_records import (
    ExclusionRecord,
    FunctionalRecord,
    FunctionalVerdict,
    MaxRateRecord,
    MissingEngineRecord,
    OutcomeRecord,
    WindowRecord,
    read_records,
)


@dataclass(slots=True)
class WindowTally:
    """Queries and windows, counted."""

    queries: int = 0
    windows: int = 0
    non_empty: int = 0
    precision: Fraction = Fraction(0)
    recall: Fraction = Fraction(0)
    verdicts: Counter[str] | None = None
    after_last: int = 0
    comparisons: frozenset[str] = frozenset()
    strict: Counter[str] | None = None
    """Verdicts of the comparison `exact`, of queries for which another one is declared."""

    @property
    def means(self) -> tuple[float, float]:
        """Precision and recall over all windows; without windows nothing was judged, and both are 0."""
        if not self.windows:
            return 0.0, 0.0
        return float(self.precision / self.windows), float(self.recall / self.windows)


def tally_windows(folders: Iterable[Path], engine: str | None = None) -> dict[tuple[str, str], WindowTally]:
    """Return the counts by test and engine."""
    found: dict[tuple[str, str], WindowTally] = {}
    for folder in folders:
        for record in read_records(folder):
            if not isinstance(record, OutcomeRecord | WindowRecord) or engine not in (None, record.key.engine):
                continue
            one = found.setdefault((record.key.test, record.key.engine), WindowTally(verdicts=Counter()))
            if isinstance(record, OutcomeRecord):
                one.queries += 1
                assert one.verdicts is not None
                one.verdicts[record.verdict] += 1
                one.after_last += record.after_last
                if record.strict_verdict:
                    one.comparisons |= {record.comparison}
                    one.strict = (one.strict or Counter()) + Counter([record.strict_verdict])
                continue
            one.windows += 1
            one.non_empty += record.expected > 0
            one.precision += Fraction(record.precision)
            one.recall += Fraction(record.recall)
    return found


def format_summary(folders: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each test and engine."""
    asked = tally_windows(folders)
    for (test, engine), one in asked.items():
        precision, recall = one.means
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in (one.verdicts or {}).items())
        yield (
            f"{test}, {engine}: {one.queries} queries ({verdicts}), {one.windows} windows, {one.non_empty} non-empty, "
            f"precision {precision:.6g}, recall {recall:.6g}{_remarks(one)}"
        )
    yield from _repetitions(folders)
    yield from _origins(folders)
    yield from _not_asked(folders)
    yield from _stopped(folders)
    yield from _unexplained(folders)
    yield from _functional(folders)
    for folder in folders:
        for record in read_records(folder):
            if isinstance(record, MaxRateRecord):
                yield _held_line(record)
            elif isinstance(record, ExclusionRecord):
                yield f"{record.test}: {record.query} excluded: {record.why}"
            elif isinstance(record, MissingEngineRecord) and (record.test, record.engine) not in asked:
                yield f"{record.test}, {record.engine}: left out: {record.why}"


_REPEATED = {
    "precision": ("precision", ""),
    "recall": ("recall", ""),
    "delay_median": ("median delay", " ms"),
    "executions_rate": ("executions", " a second"),
    "memory_peak": ("peak memory", " MB"),
}
"""Measures of an outcome whose means over repetitions are given, with name and unit."""


def _repetitions(folders: Sequence[Path]) -> Iterator[str]:
    """Yield means with intervals where tests were repeated: a repetition counts once, with the mean of its queries."""
    found: dict[tuple[str, str], dict[str, dict[int, list[float]]]] = {}
    rates: dict[tuple[str, str], list[MaxRateRecord]] = {}
    for folder in folders:
        for record in read_records(folder):
            if isinstance(record, OutcomeRecord | MaxRateRecord):
                swept = "".join(f", {name} {value}" for name, value in record.key.settings.items())
                label = f"{record.key.test}{swept}, {record.key.engine}"
            if isinstance(record, OutcomeRecord):
                measures = found.setdefault((label, ""), {})
                for name in _REPEATED:
                    if (value := getattr(record, name)) is not None and math.isfinite(value):
                        measures.setdefault(name, {}).setdefault(record.key.repetition, []).append(value)
            elif isinstance(record, MaxRateRecord):
                rates.setdefault((label, record.key.query), []).append(record)
    for (label, _), measures in found.items():
        runs = max((len(values) for values in measures.values()), default=0)
        shown = []
        for name, values in measures.items():
            if len(values) > 1:
                title, unit = _REPEATED[name]
                interval = mean_interval([statistics.mean(each) for each in values.values()])
                shown.append(f"{title} {format_interval(interval)}{unit}")
        if shown:
            yield f"{label}: means of {runs} repetitions ({LABEL}): {', '.join(shown)}"
    for (label, query), records in rates.items():
        if len(records) > 1:
            interval = mean_interval([record.rate for record in records])
            yield (
                f"{label}, {query}: {format_interval(interval)} {records[0].unit} held, mean of {len(records)} "
                f"repetitions ({LABEL})"
            )


def _functional(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the verdicts of the functional suite by engine, and each case that is right in some runs only."""
    by_engine: dict[str, list[FunctionalRecord]] = {}
    for folder in folders:
        for record in read_records(folder):
            if isinstance(record, FunctionalRecord):
                by_engine.setdefault(record.engine, []).append(record)
    for engine, found in by_engine.items():
        counts = Counter(record.verdict for record in found)
        always = (FunctionalVerdict.PASSED, FunctionalVerdict.FAILED)
        shown = ", ".join(f"{counts[each]} {each}" for each in FunctionalVerdict if counts[each] or each in always)
        runs = max(record.runs for record in found)
        yield f"functional suite, {engine}: {shown}" + (f"; {runs} runs each" if runs > 1 else "")
        for record in found:
            if record.verdict is FunctionalVerdict.UNSTABLE:
                yield f"functional suite, {engine}: {record.group}, {record.name} is unstable: {record.words}"


def _remarks(one: WindowTally) -> str:
    """Return the comparison with the verdicts of the exact one, and the windows that could not be demanded."""
    found = ""
    if one.strict:
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in one.strict.items())
        found += f"; rows compared by {', '.join(sorted(one.comparisons))}, exactly they are {verdicts}"
    if one.after_last:
        found += f"; {one.after_last} windows close after the last element and were not answered"
    return found


_SHOWN_ROWS = 3
_SHOWN_TRIPLES = 20


def _unexplained(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the smallest window that differs of each query whose fault has no known cause, with its triples."""
    for folder in folders:
        for record in read_records(folder):
            if not isinstance(record, OutcomeRecord) or (smallest := record.smallest) is None:
                continue
            key = record.key
            where = f"report at {smallest.t} ms"
            if smallest.open is not None and smallest.close is not None:
                where = f"window [{smallest.open}, {smallest.close}) ms"
            yield (
                f"{key.test}, {key.engine}, {key.query}: {'; '.join(record.faults)}; the smallest that differs is the "
                f"{where} with {smallest.content} triples:"
            )
            for name, rows in (("missing", smallest.missing), ("extra", smallest.extra)):
                for row in rows[:_SHOWN_ROWS]:
                    yield f"  {name} {' '.join('-' if term is None else term for term in row)}"
                if len(rows) > _SHOWN_ROWS:
                    yield f"  {name} {len(rows) - _SHOWN_ROWS} more"
            yield from (f"  triple {triple}" for triple in smallest.triples[:_SHOWN_TRIPLES])
            if smallest.content > min(len(smallest.triples), _SHOWN_TRIPLES):
                yield f"  {smallest.content - min(len(smallest.triples), _SHOWN_TRIPLES)} more triples"


def _not_asked(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the queries that each engine was not asked, with the reason."""
    queries: dict[tuple[str, str, str], list[str]] = {}
    for folder in folders:
        for record in read_records(folder):
            if isinstance(record, OutcomeRecord) and record.verdict == Verdict.NOT_ASKED:
                names = queries.setdefault((record.key.test, record.key.engine, record.words), [])
                names += [record.key.query] if record.key.query not in names else []
    for (test, engine, words), names in queries.items():
        yield f"{test}, {engine}: {', '.join(names)} not asked, {words}"


def _stopped(folders: Sequence[Path]) -> Iterator[str]:
    """Yield each failure that has a message or a line on standard error, with what it is attributed to."""
    said: dict[str, None] = {}
    for folder in folders:
        for record in read_records(folder):
            if not isinstance(record, OutcomeRecord) or record.origin is None:
                continue
            errors = f"; standard error: {' | '.join(record.errors)}" if record.errors else ""
            if errors or record.verdict not in (Verdict.WRONG, Verdict.NO_ANSWER, Verdict.NOT_SUPPORTED):
                at = f"{record.key.test}, {record.key.engine}, {record.key.query}"
                words = f": {' '.join(record.words.split())}" if record.words else ""
                said[f"{at}: {record.verdict}, attributed to the {record.origin}{words}{errors}"] = None
    yield from said


def _origins(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the t0 that was found for each engine, and its queries."""
    queries: dict[tuple[str, str, int], list[str]] = {}
    for folder in folders:
        for record in read_records(folder):
            if isinstance(record, OutcomeRecord) and record.t0 is not None:
                names = queries.setdefault((record.key.test, record.key.engine, record.t0), [])
                if record.key.query not in names:
                    names.append(record.key.query)
    for (test, engine, t0), names in sorted(queries.items()):
        yield f"{test}, {engine}: t0 {t0} ms fits best for {', '.join(names)}"


def _held_line(held: MaxRateRecord) -> str:
    """Return the highest rate that was held, and what was wrong at the next one."""
    settings = "".join(f", {name} {value}" for name, value in held.key.settings.items())
    above = min((rate for rate, holds in held.tried if not holds), default=None)
    more = "the highest that was tried" if above is None else f"not {above:,.0f}: {held.why}"
    return f"{held.key.test}{settings}, {held.key.engine}, {held.key.query}: {held.rate:,.0f} {held.unit} held, {more}"


def summarize_gauge(folders: Sequence[Path], engine: str) -> tuple[str, bool]:
    """Return the line of the gauge for an engine, and whether all it said is right."""
    total = WindowTally()
    ok = True
    for one in tally_windows(folders, engine).values():
        total.queries += one.queries
        total.windows += one.windows
        total.non_empty += one.non_empty
        total.precision += one.precision
        total.recall += one.recall
        ok = ok and one.verdicts is not None and set(one.verdicts) == {Verdict.OK}
    precision, recall = total.means
    line = (
        f"gauge: {total.queries} queries, {total.windows} windows, {total.non_empty} non-empty, "
        f"precision {precision:.6g}, recall {recall:.6g}"
    )
    exact = total.windows > 0 and total.precision == total.windows and total.recall == total.windows
    return line, ok and exact


def find_empty_queries(folders: Sequence[Path], tests: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the queries of tests that expect no row in any window."""
    for folder in folders:
        for record in read_records(folder):
            if isinstance(record, OutcomeRecord) and record.key.test in tests and not record.non_empty:
                yield record.key.test, record.key.query

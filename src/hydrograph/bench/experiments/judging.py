"""From what was played and what was expected to the records of a run: a verdict on every window and every query."""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from pathlib import Path

from hydrograph.bench.engines.registry import ENGINES
from hydrograph.bench.engines.resources import slope
from hydrograph.bench.engines.verdict import Phase, Verdict
from hydrograph.bench.experiments.expect import goes_by_hand_over
from hydrograph.bench.experiments.folder import PlayedRecord, read_answers, read_handed, read_record, read_samples
from hydrograph.bench.judge.blocks import Block, paired
from hydrograph.bench.judge.mismatch import Blocks, comparable, eager, mismatch
from hydrograph.bench.judge.score import Score, score
from hydrograph.bench.oracle.compare import Difference
from hydrograph.bench.oracle.evaluate import Report
from hydrograph.bench.oracle.job import FAILED, folder_of, read_reports
from hydrograph.bench.oracle.slide import RowText
from hydrograph.bench.results import Blame, Key, Mismatch, Outcome, Record, Sampled, Window
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Term

_SHOWN = 20
"""Rows of a window that are written down as missing or too much."""


@dataclass(frozen=True, slots=True)
class _Timing:
    """When the report of an event time was due, in milliseconds since the start of the play."""

    due: Callable[[int], float]

    @classmethod
    def of(cls, place: Path, record: PlayedRecord) -> _Timing:
        if goes_by_hand_over(record):
            return cls(float)
        if record.speed is not None:
            first, speed = record.first or 0, record.speed
            return cls(lambda t: (t - first) / speed)
        handed = read_handed(place).sort_by("t")
        times, at = handed.column("t").to_pylist(), handed.column("at").to_pylist()
        # Without a pace of event time, a window has ended when the first element behind it is handed over.
        latest = max(at, default=0.0)
        return cls(lambda t: at[found] if (found := bisect_left(times, t)) < len(at) else latest)


def judged(place: Path, target: Path) -> Iterator[Record]:
    """Yield the records of one run of an engine: its resources, and for each query its windows and its outcome."""
    record = read_record(place)
    samples = read_samples(place)
    timing = _Timing.of(place, record)
    for name in record.questions:
        key = Key(
            test=record.test,
            engine=record.engine,
            query=name,
            repetition=record.repetition,
            settings=record.settings,
        )
        ending = record.endings.get(name)
        refused = ending is not None and ending.phase == Phase.REGISTRATION
        windows = [] if refused else list(_windows(place, target, key, timing))
        yield from windows
        yield from (
            Sampled(key=key, at=each.at, memory=each.memory, cpu=each.cpu, threads=each.threads) for each in samples
        )
        yield _outcome(place, target, record, key, windows)


def _windows(place: Path, target: Path, key: Key, timing: _Timing) -> Iterator[Window]:
    reports: list[Report] = []
    texts, contents = [], {}
    for expected, seq in read_reports(target, key.query):
        contents[len(reports)] = expected.content
        reports.append(Report(expected.t, expected.open, expected.close, Counter(), None, seq))
        texts.append(expected.rows)
    blocks, said = [], []
    for at, t, rows in read_answers(place, key.query):
        blocks.append(Block(at, Counter(), t))
        said.append(rows)
    places = {id(report): number for number, report in enumerate(reports)}
    others = {id(block): number for number, block in enumerate(blocks)}
    for report, block in paired(reports, blocks):
        wanted = texts[places[id(report)]] if report is not None else Counter[RowText]()
        came = said[others[id(block)]] if block is not None else Counter[RowText]()
        rated = _score(wanted, came)
        content = None if report is None else contents[places[id(report)]]
        yield Window(
            key=key,
            t=report.t if report is not None else None,
            open=report.open if report is not None else None,
            close=report.close if report is not None else None,
            content=None if content is None or content < 0 else content,
            expected=rated.expected,
            actual=rated.actual,
            precision=float(rated.precision),
            recall=float(rated.recall),
            delay=None if report is None or block is None else block.at - timing.due(report.t),
            missing=_blames(rated.difference.missing),
            extra=_blames(rated.difference.extra),
        )


def _score(expected: Counter[RowText], actual: Counter[RowText]) -> Score:
    """Return the score; texts that are the same need no look at their terms."""
    if expected == actual:
        return Score(expected.total(), actual.total(), Difference())
    left, right = expected - actual, actual - expected
    if any(_has_blank(row) for row in (*left, *right)):  # one renaming of blank nodes must fit the whole answer
        return score(_terms(expected), _terms(actual))
    rated = score(_terms(left), _terms(right))
    return Score(expected.total(), actual.total(), rated.difference)


def _has_blank(row: RowText) -> bool:
    return any(text is not None and text.startswith("_:") for text in row)


def _terms(rows: Counter[RowText]) -> Counter[tuple[Term | None, ...]]:
    found: Counter[tuple[Term | None, ...]] = Counter()
    for row, count in rows.items():
        found[tuple(None if text is None else decode(text) for text in row)] += count
    return found


def _blames(rows: Counter[tuple[Term | None, ...]]) -> tuple[Blame, ...]:
    shown = list(rows)[:_SHOWN]
    return tuple(Blame(row=tuple(None if term is None else term_text(term) for term in row)) for row in shown)


def _outcome(place: Path, target: Path, record: PlayedRecord, key: Key, windows: Sequence[Window]) -> Outcome:
    ending = record.endings.get(key.query)
    non_empty = sum(window.expected > 0 for window in windows)
    right = sum(window.precision == 1 and window.recall == 1 for window in windows)
    failed = folder_of(target, key.query) / FAILED
    verdict, phase, words = Verdict.OK, Phase.EXECUTION, ""
    if right < len(windows):
        verdict = Verdict.WRONG
    if failed.exists():
        words = f"the oracle can not answer: {failed.read_text('utf-8').strip()}"
    # Silence is right where nothing is to be said.
    if ending is not None and not (ending.verdict == Verdict.NO_ANSWER and not non_empty):
        verdict, phase, words = Verdict(ending.verdict), Phase(ending.phase), ending.words or words
    delays = [window.delay for window in windows if window.delay is not None]
    answers = [(at, rows.total()) for at, _, rows in read_answers(place, key.query)]
    samples = read_samples(place)
    executions = record.executions.get(key.query, 0)
    number = len(windows)
    unjudged = failed.exists() or phase is Phase.REGISTRATION
    return Outcome(
        key=key,
        verdict=verdict,
        phase=phase,
        words=words,
        windows=number,
        non_empty=non_empty,
        right=right,
        precision=None if unjudged else _mean([window.precision for window in windows]),
        recall=None if unjudged else _mean([window.recall for window in windows]),
        missing=sum(window.expected - _hits(window) for window in windows),
        extra=sum(window.actual - _hits(window) for window in windows),
        output=sum(rows for _, rows in answers),
        seconds=record.seconds or None,
        executions=executions,
        elements=record.elements,
        triples=record.triples,
        rate=record.triples / record.seconds if record.seconds else None,
        executions_rate=executions / record.seconds if record.seconds and record.measure == "cmet" else None,
        last_result=max((at for at, rows in answers if rows), default=None),
        delay_median=statistics.median(delays) if delays else None,
        delay_95=sorted(delays)[int(0.95 * (len(delays) - 1))] if delays else None,
        memory_peak=max((sample.memory for sample in samples), default=None),
        memory_slope=slope(samples) if len(samples) > 1 else None,
        cpu=samples[-1].cpu if samples else None,
    )


def _hits(window: Window) -> int:
    return round(window.recall * window.expected) if window.expected else 0


def _mean(values: Sequence[float]) -> float:
    return float(sum(map(Fraction, values)) / len(values)) if values else 1.0


def mismatches(places: Sequence[Path], most: float) -> Iterator[Mismatch]:
    """Yield how much of each engine's output the others miss, for runs of one test, repetition and settings."""
    records = [(place, read_record(place)) for place in places]
    queries = dict.fromkeys(name for _, record in records for name in record.questions)
    for query in queries:
        outputs = {
            record.engine: _output(place, record, query) for place, record in records if query in record.questions
        }
        same = comparable(outputs, Fraction(most).limit_denominator(10_000)) if len(outputs) > 1 else True
        flat = {engine: [row for block in blocks for row in block] for engine, blocks in outputs.items()}
        one = records[0][1]
        for left, right in permutations(outputs, 2):
            yield Mismatch(
                test=one.test,
                query=query,
                settings=one.settings,
                repetition=one.repetition,
                one=left,
                other=right,
                value=float(mismatch(outputs[left], flat[right])),
                comparable=same,
            )


def _output(place: Path, record: PlayedRecord, query: str) -> Blocks[RowText]:
    """Return the output in blocks: of an eager engine each row, of others each execution."""
    blocks = [list(rows.elements()) for _, _, rows in read_answers(place, query)]
    engine = ENGINES.get(record.engine.partition(":")[0])
    return eager([row for block in blocks for row in block]) if engine is not None and engine.eager else blocks

"""Highest sustained rate of each engine: each rate is a run, which is played, judged and checked for growing lag.

Streams keep their order in time and are played faster or slower, each trial for the same time. An engine that is only
just too slow shows it after a while. One that applies backpressure shows it by the times at which it takes elements.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import UsageError
from hydrograph.temporal import Duration
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.experiments.data import ExperimentData, cut_streams, read_elements
from hydrograph_gauge.experiments.expected_reports import compute_expected, is_judged_by_clock
from hydrograph_gauge.experiments.judge_run import judge_run
from hydrograph_gauge.experiments.model import ExperimentTest
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.play import plan_runs, play
from hydrograph_gauge.experiments.queries import ExperimentQuery
from hydrograph_gauge.experiments.run_folder import (
    PLAYED,
    ResultsFile,
    identify_key,
    label_run,
    name_run,
    read_handed,
    read_played,
)
from hydrograph_gauge.run_records import Key, MaxRateRecord, OutcomeRecord, WindowRecord

_CLOSE = 1.1
_THIRD = 3
_JITTER = 100.0
"""Milliseconds by which delays may differ without growing."""


class RateTrial(NamedTuple):
    """Rate that was tried, and why it is not sustained; empty if it is."""

    rate: float
    why: str


def find_max_rate(
    why_not: Callable[[float], str], start: float, end: float, *, climb: float = math.inf, close: float = _CLOSE
) -> tuple[float, tuple[RateTrial, ...]]:
    """Return the highest sustained rate from `start` to `end`, 0 if there is none, and all trials.

    The search climbs from `start` by the factor `climb` until a rate fails; without `climb` it tries `end` next. Then
    it bisects by ratio until two rates differ by less than the factor `close`. Climb where a trial far above the limit
    is expensive.

    >>> find_max_rate(lambda rate: "" if rate < 500 else "delay grows", 10, 1000)[0] > 450
    True
    >>> [trial.rate for trial in find_max_rate(lambda rate: "" if rate < 50 else "slow", 10, 1000, climb=2, close=2)[1]]
    [10, 20, 40, 80]
    """
    trials: list[RateTrial] = []

    def is_sustained(rate: float) -> bool:
        trials.append(RateTrial(rate, why_not(rate)))
        return not trials[-1].why

    if not is_sustained(start):
        return 0.0, tuple(trials)
    low, high = start, start
    while high < end:
        high = min(low * climb, end)
        if not is_sustained(high):
            break
        low = high
    while high / low > close:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_sustained(middle) else (low, middle)
    return low, tuple(trials)


def is_growing(delays: Sequence[float]) -> bool:
    """Tell whether delays in milliseconds grow from the first third of a run to the last, by their medians.

    The last third has to exceed the first by 100 ms **and** to be twice as large. Short delays vary by many times
    themselves and long ones by more than 100 ms, so neither condition alone separates growth from noise. The stricter
    sum of both (twice plus 100 ms) would let a delay of 100 ms triple unnoticed.

    >>> is_growing([10, 12, 11, 10, 13, 12]), is_growing([10, 200, 400, 600, 800, 1000])
    (False, True)
    """
    third = len(delays) // _THIRD
    if not third:
        return False
    first, last = statistics.median(delays[:third]), statistics.median(delays[-third:])
    return last > max(first + _JITTER, 2 * first)


_WINDOWS = 3
"""Windows that have to close in a trial; growth of delay is not visible in fewer."""


def measure_max_rates(
    test: ExperimentTest,
    data: ExperimentData,
    queries: Sequence[ExperimentQuery],
    folder: Path,
    options: RunOptions,
    written: ResultsFile,
) -> Iterator[MaxRateRecord]:
    """Yield the highest rate at which each query stays right on each engine, found by bisection."""
    for repetition, query in product(range(test.repetitions), queries):
        for engine in test.engines:
            key = Key(test=test.name, engine=engine, query=query.name, repetition=repetition, settings=test.settings)
            if identify_key(key) in written.held:
                continue
            trying = _Trying(test, data, query, engine, repetition, folder, options)
            rate, tried = find_max_rate(trying.why_not, test.held_from, min(test.held_to, trying.most))
            failed = min((each for each in tried if each.why), key=lambda each: each.rate, default=None)
            yield MaxRateRecord(
                key=key,
                rate=rate,
                tried=tuple((each.rate, not each.why) for each in tried),
                why=failed.why if failed is not None else "",
            )


@dataclass(frozen=True, slots=True)
class _Span:
    """What the streams of a query hold: elements, and the milliseconds of event time from the first to the last."""

    elements: int
    length: Duration


class _Trying:
    """Plays one query to one engine at the rates that are asked for."""

    def __init__(
        self,
        test: ExperimentTest,
        data: ExperimentData,
        query: ExperimentQuery,
        engine: str,
        repetition: int,
        folder: Path,
        options: RunOptions,
    ) -> None:
        (planned,) = plan_runs(test, data, [query], engine, repetition)
        read = replace(data, streams={name: data.streams[name] for name in planned.streams})
        self._test, self._data, self._query, self._engine = test, read, query, engine
        self._repetition, self._folder, self._options = repetition, folder, options
        self._span = _span(read, query)
        self._needed = _needed(query)
        self._by_clock = is_judged_by_clock(planned)
        self._lasts = max(test.held_for, self._needed) if self._by_clock else test.held_for
        self.most = self._span.elements * 1000 / self._lasts
        """The highest rate at which the streams last as long as a try does."""
        if self.most < test.held_from:
            raise UsageError(
                f"test {test.name}: the streams of {query.name} have {self._span.elements:,} elements: expected "
                f"{test.held_from * self._lasts / 1000:,.0f} for {self._lasts / 1000:g} s at {test.held_from:g} a "
                "second; lower held_from or held_for, or play longer streams"
            )

    def why_not(self, rate: float) -> str:
        """Return why a rate is not held; nothing if it is."""
        speed = rate * self._span.length / (self._span.elements * 1000)
        length = self._lasts * speed if self._by_clock else max(self._lasts * speed, self._needed)
        data = cut_streams(self._data, round(length), self._options.data_folder(self._folder))
        paced = self._test.play.model_copy(update={"pace": "event-time", "speed": speed})
        settings = {**self._test.settings, "rate": round(rate, 3)}
        tried = self._test.model_copy(update={"play": paced, "settings": settings})
        (planned,) = plan_runs(tried, data, [self._query], self._engine, self._repetition)
        play(tried, data, planned, [self._query], self._folder)
        why = self._judged(self._folder / PLAYED / name_run(planned))
        self._options.progress(f"{label_run(planned)}: {why or 'held'}")
        return why

    def _judged(self, place: Path) -> str:
        record = read_played(place)
        target = compute_expected(self._folder, place, record, self._options)
        *windows, outcome = [
            each for each in judge_run(place, target) if isinstance(each, WindowRecord | OutcomeRecord)
        ]
        assert isinstance(outcome, OutcomeRecord), "the outcome comes last"
        handed = read_handed(place)
        late = [at - due for at, due in zip(*(handed.column(name).to_pylist() for name in ("at", "due")), strict=True)]
        end = max(handed.column("at" if self._by_clock else "t").to_pylist(), default=0)
        delays = [each.delay for each in windows if isinstance(each, WindowRecord) and _closed(each, end)]
        return explain_failure(outcome, [each for each in delays if each is not None], late, record.seconds * 1000)


def _closed(window: WindowRecord, end: float) -> bool:
    """Tell whether a window was over before the stream was: the others are answered because it ends."""
    return window.t is not None and window.t <= end


def _span(data: ExperimentData, query: ExperimentQuery) -> _Span:
    known = [read_elements(name, stream.location) for name, stream in data.streams.items()]
    times = [each.t for some in known if some for each in (some[0], some[-1])]
    if not times or min(times) == max(times):
        raise UsageError(f"query {query.name}: expected streams with elements at more than one time to play at a rate")
    return _Span(sum(map(len, known)), max(times) - min(times))


def _needed(query: ExperimentQuery) -> Duration:
    """Return the event time in which enough windows of a query close."""
    timed = [each for w in query.algebra.windows if isinstance(each := w.definition, TimeWindow)]
    return max((each.width + _WINDOWS * (each.slide or each.width) for each in timed), default=0)


def explain_failure(outcome: OutcomeRecord, delays: Sequence[float], late: Sequence[float], played: float) -> str:
    """Return why an engine does not hold the rate of a run; nothing if it does.

    `delays` are those of the windows that closed while the stream was played, `late` by how much elements were handed
    over later than due, because the engine did not take them, `played` is how long all of it took; in milliseconds.
    """
    if outcome.verdict != Verdict.OK:
        return outcome.verdict
    if not outcome.non_empty:
        return "no window has an answer"
    if is_growing(late):
        return "elements are taken later and later"
    if not delays:
        return "no window closed while the stream was played"
    if statistics.median(delays) > played / 2:
        return "answers wait for the end of the stream"
    return "delay grows" if is_growing(delays) else ""

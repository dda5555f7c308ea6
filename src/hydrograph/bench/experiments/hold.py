"""Measures the highest rate at which an engine holds: each rate is a run, played, judged and looked at for delay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hydrograph.bench.engines.verdict import Verdict
from hydrograph.bench.experiments.data import Data
from hydrograph.bench.experiments.expect import expect
from hydrograph.bench.experiments.folder import PLAYED, name_of, read_record
from hydrograph.bench.experiments.holding import grows, highest
from hydrograph.bench.experiments.judging import judged
from hydrograph.bench.experiments.model import Test
from hydrograph.bench.experiments.options import Options, label
from hydrograph.bench.experiments.play import plan_runs, play
from hydrograph.bench.experiments.queries import Posed
from hydrograph.bench.experiments.written import Results, identity
from hydrograph.bench.results import Held, Key, Outcome, Window


def hold(
    test: Test, data: Data, queries: Sequence[Posed], folder: Path, options: Options, written: Results
) -> Iterator[Held]:
    """Yield the highest rate at which each query stays right on each engine, found by bisection."""
    for query in queries:
        for engine in test.engines:
            key = Key(test=test.name, engine=engine, query=query.name, settings=test.settings)
            if identity(key) in written.held:
                continue

            def holds(rate: float, engine: str = engine, query: Posed = query) -> bool:
                paced = test.play.model_copy(update={"pace": "rate", "rate": rate})
                tried = test.model_copy(update={"play": paced, "settings": {**test.settings, "rate": round(rate, 3)}})
                (planned,) = plan_runs(tried, data, [query], engine, 0)
                options.say(label(planned))
                play(tried, data, planned, [query], folder)
                place = folder / PLAYED / name_of(planned)
                target = expect(folder, place, read_record(place), options)
                *windows, outcome = [each for each in judged(place, target) if isinstance(each, Window | Outcome)]
                assert isinstance(outcome, Outcome), "the outcome comes last"
                delays = [each.delay for each in windows if isinstance(each, Window) and each.delay is not None]
                return outcome.verdict == Verdict.OK and not grows(delays)

            rate, tries = highest(holds, test.held_from, test.held_to)
            yield Held(key=key, rate=rate, tried=tries)

"""Text on Spark in one pass: parse, evaluate and find the bounds of the streams at the same time.

A program depends on the bounds of its streams: they decide which reports there are and into how many chunks time is
cut. Usually a survey finds them in a pass of its own. This module saves that pass:

1. `SparkLoader.predict` samples both ends of each file. The program is compiled for the predicted bounds.
2. The pass that parses the lines also observes the true bounds. It fails on whatever takes a survey: a blank node,
   which is named after its line number, and a float or double, for which sums are computed in another way.
3. The reports are those of the observed bounds; wrong predictions of times and row counts cost nothing.

A program with chunks materialises the parsed rows first, so the bounds are known before it runs (`open_in_one_pass`
returns a `CompiledReplay`). A program without chunks is itself the pass, so the bounds are known after its first query
(an `UnconfirmedReplay`). Wherever the prediction fails, the caller surveys the streams and reads them a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile.program import Let
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import report_ranks
from hydrograph.runtime.placement.spark import Spark, collect
from hydrograph.runtime.plan import Plan, follows_events
from hydrograph.runtime.replay.replay import CompiledReplay
from hydrograph.runtime.replay.spark_loader import SparkLoader
from hydrograph.streams import sources
from hydrograph.streams.formats.tnt_spark import NotAsExpectedError
from hydrograph.streams.sources import Bounds
from hydrograph.windows.report import Held, Range

Compile = Callable[[Mapping[Iri, Bounds], Mapping[Iri, Held]], CompiledReplay]


@dataclass(frozen=True, slots=True)
class UnconfirmedReplay:
    """A program compiled for predicted bounds; its first query confirms or refutes the prediction."""

    placed: Spark
    loader: SparkLoader
    compiled: CompiledReplay
    within: Range

    def run(self, output: exp.Select) -> tuple[pa.Table, CompiledReplay] | None:
        """Return the rows of an output query and the program with the observed bounds; None if a survey is needed."""
        frame = self.placed.frame(self.compiled.program, output, self.compiled.parameters)
        try:
            with sources.data_errors():
                table = collect(frame)
        except NotAsExpectedError:
            return None
        seen = self.loader.observed_bounds(frame)
        if seen is None:
            return None
        bounds = dict.fromkeys(self.loader.streams, seen)
        return table, _with_bounds(self.compiled, self.loader, bounds, self.within)


def open_in_one_pass(
    placed: Spark, loader: SparkLoader, plan: Plan, within: Range, compile_for: Compile
) -> CompiledReplay | UnconfirmedReplay | None:
    """Load text for one pass; return None if the streams need a survey.

    `compile_for` compiles the program for bounds and window spans.
    """
    if not plan.is_placed or plan.reports is None:
        return None
    predicted = loader.predict(plan)
    if predicted is None or all(stream.manifest is not None for stream in loader.streams.values()):
        return None
    spans = {window.name: _span(predicted[window.stream]) for window in plan.query.windows if window.name is not None}
    compiled = compile_for(predicted, spans)
    # Any report that was asked for, since the true bounds are not known yet.
    compiled = replace(compiled, ranks=report_ranks.ranks_within(plan, within))
    if compiled.chunks is None:
        is_one_query = all(isinstance(step, Let) for step in compiled.program.steps)
        if len(loader.streams) > 1 or not is_one_query or not follows_events(plan):
            return None
        loader.load_observed(compiled)
        return UnconfirmedReplay(placed, loader, compiled, within)
    bounds = loader.materialise_observed(compiled)
    return None if bounds is None else _with_bounds(compiled, loader, bounds, within)


def _with_bounds(
    compiled: CompiledReplay, loader: SparkLoader, bounds: Mapping[Iri, Bounds], within: Range
) -> CompiledReplay:
    """Return the program with the reports of the observed bounds."""
    spans = loader.window_spans(compiled.plan, bounds)
    ranks = report_ranks.report_ranks(compiled.plan, spans, within)
    return replace(compiled, ranks=ranks, bounds=bounds, spans=spans)


def _span(bounds: Bounds) -> Held:
    return None if bounds.first is None or bounds.last is None else (bounds.first, bounds.last)

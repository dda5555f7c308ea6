"""Gain of each optimizer rule: `python -m tests.support.rule_speed` prints CPU time without it and with it.

Each rule has a query that it was written for, over the stream of the replay benchmark. Both sides run in one process,
in turn, and must give the same answers. CPU time is measured because a busy machine changes it little.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from hydrograph.errors import MismatchError
from hydrograph.language import parse
from hydrograph.optimizer import RULES, Rule
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.plan import plan
from hydrograph.runtime.replay.replay import Data
from hydrograph.runtime.replay.run import Options, Run
from hydrograph.runtime.reports import ReportDigest
from hydrograph.runtime.session import spark_session
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph_gauge.engines.resources import cpu_seconds
from hydrograph_gauge.measure import replay_speed

QUERIES = {
    "push_windows": ("?o ?p", "{ ?o :by ?s } { ?p :by ?s } } VALUES ?s { :sensor7 :sensor8 } {"),
    "optional_to_join": ("?a ?c", "?a :follows ?b OPTIONAL { ?b :posted ?c } FILTER(BOUND(?c))"),
    "substitute_constants": ("?a ?c", "?a :follows ?b . ?b :posted ?c . ?c :tagged ?d FILTER(?d = :tag7)"),
    "merge_repeats": ("?o ?v ?r", "?o :value ?v . ?o :at ?r } WINDOW :w { ?o :at ?r . ?o :value ?v"),
    "reorder_joins": ("?a ?b", "?a :follows ?b . ?c :tagged :tag7 . ?b :posted ?c"),
    "push_filters": (
        "?s ?m",
        "{ SELECT ?s (AVG(?v) AS ?m) { ?o :by ?s ; :value ?v } GROUP BY ?s } FILTER(STRENDS(STR(?s), '7'))",
    ),
    "prune_columns": (
        "?s",
        "{ SELECT ?s (COUNT(DISTINCT ?v) AS ?n) (GROUP_CONCAT(?v) AS ?m) { ?o :by ?s ; :value ?v } GROUP BY ?s }",
    ),
}
"""Variables and window pattern of the query, by the name of the rule; a rule without a query is reported as such."""

_STATIC = replay_speed.static_table()


def compute_digests(
    name: str, rules: tuple[Rule, ...], stream: RecordedStream, placement: PlacementChoice
) -> list[ReportDigest]:
    """Return the digests of a query over a stream."""
    variables, pattern = QUERIES[name]
    window = "FROM NAMED WINDOW :w ON :events [RANGE 5s STEP 1s]"
    text = f"SELECT {variables} {window} WHERE {{ WINDOW :w {{ {pattern} }} }}"
    planned = plan(parse(f"PREFIX : <{replay_speed.NAMESPACE}>\n{text}"), RSPQL, 0, rules)
    with Run(
        planned, Data({Iri(replay_speed.STREAM): stream}, StaticGraphs(_STATIC)), Options(placement=placement)
    ) as run:
        return list(run.digests())


def measure_gain(rule: Rule, stream: RecordedStream, placement: PlacementChoice, repeats: int) -> tuple[float, float]:
    """Return the median CPU seconds without a rule and with it; raise MismatchError if the answers differ."""
    name = rule.__name__
    spent: dict[tuple[Rule, ...], list[float]] = {tuple(r for r in RULES if r is not rule): [], RULES: []}

    def answer(rules: tuple[Rule, ...], answers: list[list[ReportDigest]]) -> None:
        answers.append(compute_digests(name, rules, stream, placement))

    for turn in range(repeats + 1):
        answers: list[list[ReportDigest]] = []
        for rules, times in spent.items():
            took = cpu_seconds(partial(answer, rules, answers))
            if turn:  # the first one warms up
                times.append(took)
        if answers[0] != answers[1]:
            raise MismatchError(f"{name}: the answers with and without the rule differ")
    without, with_ = (statistics.median(times) for times in spent.values())
    return without, with_


def main(arguments: list[str] | None = None) -> None:
    """Measure every rule in both placements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="triples of the stream")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        target = Path(directory) / "parquet"
        session = spark_session()
        replay_speed.write_parquet(session, options.rows, target)
        stream = open_stream(str(target), name=replay_speed.STREAM)
        for rule in RULES:
            if rule.__name__ not in QUERIES:
                sys.stdout.write(f"{rule.__name__}: no query to measure it with\n")
                continue
            for placement in (PlacementChoice.LOCAL, PlacementChoice.SPARK):
                without, with_ = measure_gain(rule, stream, placement, options.repeats)
                figures = f"{without:.2f} s without, {with_:.2f} s with, gain {without / with_:.2f}"
                sys.stdout.write(f"{rule.__name__}, {placement}: {figures}\n")
                sys.stdout.flush()
        session.stop()


if __name__ == "__main__":
    main()

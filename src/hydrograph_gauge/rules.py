"""What each optimizer rule is worth: `python -m hydrograph_gauge.rules` prints the time without it, over that with it.

Every query is one that its rule is made for, over the stream of the speed gate; both sides run in one process, in turn,
and must give the same answers. CPU time, so that a busy machine changes little.
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
from hydrograph.runtime.digest import Digest
from hydrograph.runtime.options import Data, Options, Placement
from hydrograph.runtime.plan import plan
from hydrograph.runtime.run import Run
from hydrograph.runtime.session import spark_session
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph.streams.static import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph_gauge.engines.resources import cpu_seconds
from hydrograph_gauge.replay_speed import world

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
"""What is asked for and the pattern in the window, by the name of the rule.

One without a query here is not measured, and said so.
"""

_STATIC = world.static_table()


def digests(name: str, rules: tuple[Rule, ...], stream: RecordedStream, placement: Placement) -> list[Digest]:
    """Return the digests of a query over a stream."""
    variables, pattern = QUERIES[name]
    window = "FROM NAMED WINDOW :w ON :events [RANGE 5s STEP 1s]"
    text = f"SELECT {variables} {window} WHERE {{ WINDOW :w {{ {pattern} }} }}"
    planned = plan(parse(f"PREFIX : <{world.NAMESPACE}>\n{text}"), RSPQL, 0, rules)
    with Run(planned, Data({Iri(world.STREAM): stream}, StaticGraphs(_STATIC)), Options(placement=placement)) as run:
        return list(run.digests())


def gain(rule: Rule, stream: RecordedStream, placement: Placement, repeats: int) -> tuple[float, float]:
    """Return the CPU seconds without a rule and with it, medians; raise MismatchError if the answers differ."""
    name = rule.__name__
    spent: dict[tuple[Rule, ...], list[float]] = {tuple(r for r in RULES if r is not rule): [], RULES: []}

    def answer(rules: tuple[Rule, ...], answers: list[list[Digest]]) -> None:
        answers.append(digests(name, rules, stream, placement))

    for turn in range(repeats + 1):
        answers: list[list[Digest]] = []
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
    parser = argparse.ArgumentParser(prog="python -m hydrograph_gauge.rules", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="triples of the stream")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        target = Path(directory) / "parquet"
        session = spark_session()
        world.write_parquet(session, options.rows, target)
        stream = open_stream(str(target), name=world.STREAM)
        for rule in RULES:
            if rule.__name__ not in QUERIES:
                sys.stdout.write(f"{rule.__name__}: no query to measure it with\n")
                continue
            for placement in (Placement.LOCAL, Placement.SPARK):
                without, with_ = gain(rule, stream, placement, options.repeats)
                figures = f"{without:.2f} s without, {with_:.2f} s with, gain {without / with_:.2f}"
                sys.stdout.write(f"{rule.__name__}, {placement}: {figures}\n")
                sys.stdout.flush()
        session.stop()


if __name__ == "__main__":
    main()

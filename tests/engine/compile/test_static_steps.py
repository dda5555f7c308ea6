"""Steps that read static data alone are computed once for all runs of a program (S27)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pyarrow as pa
import pytest

from hydrograph.compile.output_queries import by_report
from hydrograph.compile.program import Program, static_steps
from hydrograph.language import parse
from hydrograph.runtime import report_ranks as replay
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Facts, plan
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.report import Range
from tests.support.random_data import NAMESPACE, random_graph, random_stream
from tests.support.replay_adapter import encode_elements, encode_triples

WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT0.010S STEP PT0.005S]"


def program_of(where: str) -> tuple[Program, Mapping[str, int]]:
    planned = plan(parse(f"PREFIX : <{NAMESPACE}> SELECT * {WINDOW} WHERE {where}"), RSPQL, 0)
    program = planned.program(Facts({}, static=True))
    return program, replay.parameters(planned, program, replay.ranks_within(planned, Range(0, 40)))


@pytest.mark.parametrize(
    ("where", "steps"),
    [
        ("{ WINDOW :w { ?a :p0 ?b } ?b :p1 ?c . ?c :p0 ?d }", 1),  # the join of both static patterns
        ("{ WINDOW :w { ?a :p0 ?b } OPTIONAL { ?b :p1 ?c } OPTIONAL { ?a :p1 ?d } }", 2),
        ("{ WINDOW :w { ?a :p0 ?b } { SELECT ?b (COUNT(?c) AS ?n) { ?b :p1 ?c } GROUP BY ?b } }", 1),
        ("{ WINDOW :w { ?a :p0 ?b } ?b :p1+ ?c }", 1),  # what the fixpoint starts from
        ("{ WINDOW :w { ?a :p0 ?b } ?b :p1+ :s1 }", 2),  # the edges, and those that end at the constant
        ("{ WINDOW :w { ?a :p0 ?b . ?b :p1 ?c } }", 0),
    ],
)
def test_static_steps_stand(where: str, steps: int) -> None:
    program, _ = program_of(where)
    assert len(static_steps(program)) == steps


def test_standing_rows_are_not_computed_again() -> None:
    program, parameters = program_of("{ WINDOW :w { ?a :p0 ?b } ?b :p1 ?c . ?c :p0 ?d }")
    rng = Random(7)
    events, graph = encode_elements(random_stream(rng)), encode_triples(random_graph(rng, 14))
    with Local(threads=1) as placed:
        placed.add_table("w0", events)
        placed.add_table("static", graph)
        once = placed.rows(program, by_report(program), parameters)
        assert once.num_rows
        prepared = placed.prepare(program, [by_report(program)], "static_")
        assert len(prepared.static) == 1
        placed.load_static(prepared)
        # Static data that is gone is not missed, so it has not been read.
        placed.add_table("static", graph.slice(0, 0))
        assert _sorted(placed.run(prepared, parameters)[0]) == _sorted(once)
        placed.load_static(prepared)
        assert not placed.run(prepared, parameters)[0].num_rows
        other, given = program_of("{ WINDOW :w { ?a :p0 ?b } ?b :p1 ?c }")
        placed.add_table("static", graph)
        assert placed.rows(other, by_report(other), given).num_rows, "another program has steps of its own"


@pytest.mark.parametrize(
    "path",
    [
        "?b :p1* :s1",
        ":s0 :p1+ ?b",
        "?b (:p0/:p1)+ :s1",
        "FILTER EXISTS { ?b :p1+ :s1 }",
        "FILTER NOT EXISTS { :s0 :p1+ ?b }",
        "OPTIONAL { ?b :p1 ?c OPTIONAL { ?c :p0 ?d FILTER EXISTS { ?c :p1+ :s1 } } }",
    ],
)
def test_what_static_steps_keep_stands_too(path: str) -> None:
    program, parameters = program_of(f"{{ WINDOW :w {{ ?a :p0 ?b }} {path} }}")
    rng = Random(7)
    events, graph = encode_elements(random_stream(rng)), encode_triples(random_graph(rng, 14))
    answers = []
    for static_prefix in (None, "static_"):  # each time in a database of its own, in which nothing is kept yet
        with Local(threads=1) as placed:
            placed.add_table("w0", events)
            placed.add_table("static", graph)
            prepared = placed.prepare(program, [by_report(program)], static_prefix)
            placed.load_static(prepared)
            answers.append(_sorted(placed.run(prepared, parameters)[0]))
    assert answers[0]
    assert answers[1] == answers[0]


def _sorted(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=str)

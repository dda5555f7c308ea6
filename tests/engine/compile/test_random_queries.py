"""Every operator = oracle: random queries of all operators, nested, over random streams, whole and cut by time.

Every third query is asked over one stream, the others over three streams in one plan, where the stream's number is a
hidden key: seven cases for three queries. HYDROGRAPH_CASES sets how many cases are run at least; a failure shows the
seed and the smallest case that still fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from hydrograph.algebra.nodes import TemplateTerm
from hydrograph.algebra.queries import Ask, Construct, TemplateTriple
from hydrograph.algebra.walk import visible_variables
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable
from hydrograph.runtime.placement.local import Local
from hydrograph_gauge.oracle.compare import ReportDifference, compare_reports
from tests.support.random_cases import FULL, Case, random_case, random_stream, shrink
from tests.support.random_data import Shape
from tests.support.replay_adapter import answer, answer_many, in_one_range
from tests.support.seed_blocks import seed_blocks

FIRST_SEED = 60_000
CASES = int(os.environ.get("HYDROGRAPH_CASES", "5000"))
QUERIES, BLOCK = 30, 70
"""Queries of a block, and the cases that they make."""
SEEDS = range(FIRST_SEED, FIRST_SEED - (-CASES // BLOCK) * QUERIES, QUERIES)
QUICK = 8
"""Blocks that `make test` runs; the others are slow."""


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with Local(threads=1, small=True) as placed:
        yield placed


def differences(case: Case, local: Local) -> list[ReportDifference]:
    return compare_reports(case.expected(), answer(case, chunk_windows=chunk_windows(case), placed=local))


def chunk_windows(case: Case) -> int | None:
    return None if case.seed % 2 else 1  # every other one is cut by time into the smallest chunks


def check(case: Case, local: Local) -> None:
    if differences(case, local):
        small = shrink(case, lambda one: bool(differences(one, local)))
        found = differences(small, local)
        pytest.fail(f"seed {case.seed}, chunks {chunk_windows(case)}\n{small}\n" + "\n".join(map(str, found)))


def check_three(case: Case, local: Local) -> None:
    """Ask the case's query over its stream and over two others in one plan."""
    rng = Random(case.seed)
    start = min((e.t for elements in case.elements.values() for e in elements), default=case.t0)
    others = [
        {
            stream: random_stream(rng, Shape(rng.choice((5, 20, 30)), start, rng.randrange(1, 26)))
            for stream in case.elements
        }
        for _ in range(2)
    ]
    streams = [case.elements, *others]
    case = in_one_range(case, streams)
    local.forget()
    answers = answer_many(case, streams, local, chunk_windows=chunk_windows(case))
    for elements, got in zip(streams, answers, strict=True):
        single = replace(case, elements=elements)
        if found := compare_reports(single.expected(), got):
            check(single, local)
            pytest.fail(f"three streams in one plan, seed {case.seed}\n{single}\n" + "\n".join(map(str, found)))


@pytest.mark.parametrize("first", seed_blocks(SEEDS, QUICK))
def test_every_operator_equals_the_oracle(first: int, local: Local) -> None:
    for seed in range(first, first + QUERIES):
        (check_three if seed % 3 else check)(random_case(seed, FULL), local)


def templated(case: Case, rng: Random) -> Case:
    """Return the case as a CONSTRUCT with a random template: variables in any place, blank nodes, repeated triples."""
    columns = visible_variables(case.query.pattern)
    predicates: list[Iri | Variable] = [*columns, *[Iri("urn:p")] * 3]
    blanks = [BlankNode("b"), BlankNode("c")] if rng.random() < 0.5 else []
    subjects: list[TemplateTerm] = [*columns, Iri("urn:s"), *blanks]
    objects: list[TemplateTerm] = [*subjects, Literal("k")]
    template = tuple(
        TemplateTriple(rng.choice(subjects), rng.choice(predicates), rng.choice(objects))
        for _ in range(rng.choice((1, 2, 3)))
    )
    return replace(case, query=replace(case.query, form=Construct(template)))


def test_ask_equals_the_oracle(local: Local) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + 30):
        case = random_case(seed, FULL)
        check(replace(case, query=replace(case.query, form=Ask())), local)


def test_construct_equals_the_oracle(local: Local) -> None:
    for seed in range(FIRST_SEED + 30, FIRST_SEED + 90):
        check(templated(random_case(seed, FULL), Random(seed)), local)

"""Every operator = oracle: random queries of all operators, nested, over random streams, whole and cut by time.

HYDROGRAPH_CASES sets how many are run; a failure shows the seed and the smallest case that still fails.
"""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest

from hydrograph.algebra.nodes import TemplateTerm
from hydrograph.algebra.queries import Ask, Construct, TemplateTriple
from hydrograph.bench.engines.replay import answer
from hydrograph.bench.oracle.cases import FULL, Case, random_case, shrink
from hydrograph.bench.oracle.compare import Mismatch, compare_reports
from hydrograph.bench.oracle.prepare import in_scope
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable

FIRST_SEED = 60_000
CASES = int(os.environ.get("HYDROGRAPH_CASES", "5000"))
BLOCK = 50
QUICK = 20
"""Blocks that `make test` runs; the others are marked slow. A case takes a quarter of a second, most of it planning."""


def differences(case: Case, chunk_windows: int | None) -> list[Mismatch]:
    return compare_reports(case.expected(), answer(case, chunk_windows=chunk_windows))


def check(case: Case) -> None:
    chunk_windows = None if case.seed % 2 else 1  # every other one is cut by time into the smallest chunks
    if differences(case, chunk_windows):
        small = shrink(case, lambda one: bool(differences(one, chunk_windows)))
        found = differences(small, chunk_windows)
        pytest.fail(f"seed {case.seed}, chunks {chunk_windows}\n{small}\n" + "\n".join(map(str, found)))


def blocks() -> list[object]:
    found: list[object] = []
    for number, first in enumerate(range(FIRST_SEED, FIRST_SEED + CASES, BLOCK)):
        marks = [] if number < QUICK else [pytest.mark.slow]
        found.append(pytest.param(first, marks=marks, id=f"seeds-from-{first}"))
    return found


@pytest.mark.parametrize("first", blocks())
def test_every_operator_equals_the_oracle(first: int) -> None:
    for seed in range(first, first + BLOCK):
        check(random_case(seed, FULL))


def templated(case: Case, rng: Random) -> Case:
    """Return the case as a CONSTRUCT with a random template: variables in any place, blank nodes, repeated triples."""
    columns = in_scope(case.query.pattern)
    predicates: list[Iri | Variable] = [*columns, *[Iri("urn:p")] * 3]
    blanks = [BlankNode("b"), BlankNode("c")] if rng.random() < 0.5 else []
    subjects: list[TemplateTerm] = [*columns, Iri("urn:s"), *blanks]
    objects: list[TemplateTerm] = [*subjects, Literal("k")]
    template = tuple(
        TemplateTriple(rng.choice(subjects), rng.choice(predicates), rng.choice(objects))
        for _ in range(rng.choice((1, 2, 3)))
    )
    return replace(case, query=replace(case.query, form=Construct(template)))


def test_ask_equals_the_oracle() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + 30):
        case = random_case(seed, FULL)
        check(replace(case, query=replace(case.query, form=Ask())))


def test_construct_equals_the_oracle() -> None:
    for seed in range(FIRST_SEED + 30, FIRST_SEED + 90):
        check(templated(random_case(seed, FULL), Random(seed)))

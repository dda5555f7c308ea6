"""Laws that the answers of any query keep, whatever they are: no oracle is asked.

HYDROGRAPH_LAWS sets how many random queries each law is tried on; a failure shows the smallest case that breaks it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from random import Random

import pytest

from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    NegatedSet,
    PathPattern,
    Pattern,
    Project,
    Union,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.algebra.walk import subpatterns, visible_variables
from hydrograph.rdf.terms import Iri, Triple, Variable
from hydrograph.runtime.placement.local import Local
from hydrograph.windows.stream import Element, delayed
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.evaluate import Report
from tests.support.random_cases import FULL, Case, random_case, shrink
from tests.support.replay_adapter import answer, answer_many, in_one_range

CASES = int(os.environ.get("HYDROGRAPH_LAWS", "10"))
Answer = Callable[[Case], list[Report]]
Law = Callable[[Case, Answer], tuple[Sequence[Report], Sequence[Report]]]
"""Gives two lists of reports that have to be equal."""


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with Local(threads=1, small=True) as placed:
        yield placed


def mapped(case: Case, change: Callable[[tuple[Element, ...]], tuple[Element, ...]]) -> Case:
    return replace(case, elements={name: change(elements) for name, elements in case.elements.items()})


def shifted_time_shifts_the_answers(case: Case, ask: Answer) -> tuple[Sequence[Report], Sequence[Report]]:
    by = 977 * (1 + case.seed % 3)

    def plus(t: int | None) -> int | None:
        return None if t is None else t + by

    moved = replace(mapped(case, lambda elements: delayed(elements, by)), t0=case.t0 + by)
    moved = replace(moved, from_=plus(case.from_), until=plus(case.until))
    return [replace(r, t=r.t + by, open=plus(r.open), close=plus(r.close)) for r in ask(case)], ask(moved)


def doubled_events_change_nothing(case: Case, ask: Answer) -> tuple[Sequence[Report], Sequence[Report]]:
    def doubled(elements: tuple[Element, ...]) -> tuple[Element, ...]:
        last = max((element.seq for element in elements), default=0)
        return (*elements, *(replace(element, seq=element.seq + last + 1) for element in elements))

    return ask(case), ask(mapped(case, doubled))


def a_disjoint_graph_changes_nothing(case: Case, ask: Answer) -> tuple[Sequence[Report], Sequence[Report]]:
    """Of triples that no pattern of the query can match."""
    rng = Random(case.seed)

    def term(kind: str) -> Iri:
        return Iri(f"urn:other:{kind}{rng.randrange(3)}")

    def joined(elements: tuple[Element, ...]) -> tuple[Element, ...]:
        return tuple(
            replace(element, triples=element.triples | {Triple(term("s"), term("p"), term("s"))})
            for element in elements
        )

    return ask(case), ask(mapped(case, joined))


def union_with_itself_doubles_the_answers(case: Case, ask: Answer) -> tuple[Sequence[Report], Sequence[Report]]:
    twice = [replace(r, rows=Counter({row: 2 * n for row, n in r.rows.items()})) for r in ask(case)]
    return twice, ask(with_pattern(case, lambda pattern: Union(pattern, pattern)))


def distinct_twice_is_distinct_once(case: Case, ask: Answer) -> tuple[Sequence[Report], Sequence[Report]]:
    once = ask(with_pattern(case, Distinct))
    return once, ask(with_pattern(case, lambda pattern: Distinct(Distinct(pattern))))


def distinct_forgets_a_union_with_itself(case: Case, ask: Answer) -> tuple[Sequence[Report], Sequence[Report]]:
    once = ask(with_pattern(case, Distinct))
    return once, ask(with_pattern(case, lambda pattern: Distinct(Union(pattern, pattern))))


def with_pattern(case: Case, change: Callable[[Pattern], Pattern]) -> Case:
    """Return the case with its whole query as a subquery of another one."""
    columns = visible_variables(case.query.pattern)
    return replace(case, query=replace(case.query, pattern=Project(change(case.query.pattern), columns)))


def matches_only_what_it_names(case: Case) -> bool:
    """Tell whether a triple of other predicates can take no part in an answer."""
    for node in subpatterns(case.query.pattern):
        if isinstance(node, Bgp) and any(isinstance(triple.predicate, Variable) for triple in node.patterns):
            return False
        if isinstance(node, PathPattern) and any(
            word in repr(node.path) for word in (ZeroOrMore.__name__, ZeroOrOne.__name__, NegatedSet.__name__)
        ):
            return False
    return True


def anything(case: Case) -> bool:
    del case
    return True


LAWS: tuple[tuple[Law, Callable[[Case], bool]], ...] = (
    (shifted_time_shifts_the_answers, anything),
    (doubled_events_change_nothing, anything),
    (a_disjoint_graph_changes_nothing, matches_only_what_it_names),
    (union_with_itself_doubles_the_answers, anything),
    (distinct_twice_is_distinct_once, anything),
    (distinct_forgets_a_union_with_itself, anything),
)


def cases(first: int, law_applies: Callable[[Case], bool]) -> Iterator[Case]:
    """Yield the cases with answers that a law applies to."""
    for seed in count(first):
        case = random_case(seed, FULL)
        if law_applies(case) and any(report.rows for report in case.expected()):
            yield case


@pytest.mark.parametrize(("law", "applies"), LAWS, ids=lambda each: each.__name__)
def test_law(law: Law, applies: Callable[[Case], bool], local: Local) -> None:
    def ask(case: Case) -> list[Report]:
        return answer(case, chunk_windows=None if case.seed % 2 else 1, placed=local)

    def broken(case: Case) -> bool:
        return bool(compare_reports(*law(case, ask)))

    first = 100_000 * (1 + [one for one, _ in LAWS].index(law))
    for case in islice(cases(first, applies), CASES):
        if broken(case):
            small = shrink(case, broken)
            found = compare_reports(*law(small, ask))
            pytest.fail(f"{law.__name__}, seed {case.seed}\n{small}\n" + "\n".join(map(str, found)))


def test_many_streams_in_one_plan_are_answered_as_one_by_one(local: Local) -> None:
    for case in islice(cases(900_000, anything), CASES // 3):
        others = [random_case(case.seed + number, FULL) for number in (1, 2, 3)]
        streams = [case.elements]
        for other in others:
            given = next(iter(other.elements.values()), ())
            start = min((element.t for element in given), default=0)
            streams.append(dict.fromkeys(case.elements, delayed(given, case.t0 - start)))
        shared = in_one_range(case, streams)
        local.forget()
        folded = answer_many(shared, streams, local, chunk_windows=None)
        for elements, got in zip(streams, folded, strict=True):
            single = replace(shared, elements=elements)
            assert not compare_reports(answer(single, placed=local), got), single

"""Each input is named once: nested OPTIONALs read the events of each triple pattern once, whatever the depth."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from time import process_time

import pytest
from sqlglot import exp

from hydrograph.compile.output_queries import by_report
from hydrograph.compile.printers import Target
from hydrograph.compile.program import Let, Program
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Facts, plan
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.stream import Element
from tests.support.random_cases import Case
from tests.support.replay_adapter import answer

HEAD = "PREFIX : <urn:> SELECT * FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE { WINDOW :w { %s } }"


def program_of(pattern: str) -> Program:
    return plan(parse(HEAD % pattern), RSPQL, 0).program(Facts({}))


def scans(program: Program) -> Counter[str]:
    """Count the tables a program reads when every step is written where it is read, as Spark does."""
    steps = {step.name: step.query for step in program.steps if isinstance(step, Let)}

    def count(query: exp.Query) -> Counter[str]:
        found: Counter[str] = Counter()
        for table in query.find_all(exp.Table):
            found += count(steps[table.name]) if table.name in steps else Counter({table.name: 1})
        return found

    return count(by_report(program))


def nested(depth: int, block: str) -> str:
    inner = ""
    for level in reversed(range(depth)):
        inner = f"{block} {{ ?x{level} :p{level} ?x{level + 1} {inner} }}"
    return f"?a :p ?x0 {inner}"


@pytest.mark.parametrize("block", ["OPTIONAL", "MINUS", "FILTER EXISTS", "FILTER NOT EXISTS"])
@pytest.mark.parametrize("depth", [1, 2, 5, 9])
def test_nested_blocks_scan_each_pattern_once(block: str, depth: int) -> None:
    assert scans(program_of(nested(depth, block))) == {"w0": depth + 1}


def test_a_chain_of_optionals_scans_each_pattern_once() -> None:
    chain = " ".join(f"OPTIONAL {{ ?a :p{n} ?x{n} }}" for n in range(8))
    assert scans(program_of(f"?a :p ?b {chain}")) == {"w0": 9}


def test_exists_inside_a_larger_condition_scans_each_pattern_once() -> None:
    assert scans(program_of("?a :p ?b FILTER(EXISTS { ?b :q ?c } || NOT EXISTS { ?a :r ?d } || ?b > 3)")) == {"w0": 3}


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("block", ["OPTIONAL", "MINUS", "FILTER EXISTS", "FILTER NOT EXISTS"])
def test_the_text_of_nested_blocks_grows_by_as_much_with_every_level(block: str, target: Target) -> None:
    """But for the columns of the rows that are carried up: one variable more with every level."""
    sizes = [len(program_of(nested(depth, block)).text(target, pretty=False)) for depth in (2, 4, 8, 16)]
    two, four, eight = (later - earlier for earlier, later in pairwise(sizes))
    assert four < 3 * two
    assert eight < 3 * four


@pytest.mark.slow
@pytest.mark.parametrize("block", ["OPTIONAL", "MINUS"])
def test_the_time_of_nested_blocks_grows_with_their_depth(block: str) -> None:
    """Compiling, planning and running: twice as deep takes at most about twice as long."""

    def seconds(depth: int) -> float:
        query = parse(HEAD % nested(depth, block))
        elements = {Iri("urn:s"): chain(depth)}
        case = Case(0, query, elements)
        times = []
        with Local(threads=1) as local:
            for _ in range(5):
                start = process_time()
                answer(case, placed=local)
                times.append(process_time() - start)
        return min(times)

    four, eight, sixteen = (seconds(depth) for depth in (4, 8, 16))
    assert eight < 3 * four
    assert sixteen < 3 * eight


def chain(depth: int) -> tuple[Element, ...]:
    """Return elements that match each level of a nested block."""
    predicates = ["p", *(f"p{level}" for level in range(depth))]
    return tuple(
        Element(
            1_000 * number,
            number,
            frozenset({Triple(Iri(f"urn:x{number}"), Iri(f"urn:{p}"), Iri(f"urn:x{number + 1}"))}),
        )
        for number, p in enumerate(predicates)
    )


@pytest.mark.parametrize("block", ["FILTER EXISTS", "FILTER NOT EXISTS"])
def test_blocks_as_deep_as_a_query_may_be_compile_at_once(block: str) -> None:
    """If every level looked twice into the levels below, this would never end."""
    start = process_time()
    assert scans(program_of(nested(40, block))) == {"w0": 41}
    assert process_time() - start < 30

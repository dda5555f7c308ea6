"""Each input is named once: nested OPTIONALs read the events of each triple pattern once, whatever the depth."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlglot import exp

from hydrograph.compile.finals import by_report
from hydrograph.compile.program import Let, Program
from hydrograph.language import parse
from hydrograph.runtime.plan import Facts, plan
from hydrograph.windows.profile import RSPQL

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

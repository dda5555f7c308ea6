"""The query tests of the W3C: syntax, and every query of the evaluation tests.

The suite is not part of this repository: set W3C to the folder `sparql` of a checkout of
https://github.com/w3c/rdf-tests, or to any folder that holds its `sparql11`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pyoxigraph
import pytest

from hydrograph.errors import HydrographError
from hydrograph.language import parse, print_query, print_sparql
from hydrograph_gauge.functional.w3c_manifest import Entry, Kind, read_tests

COUNTS = {Kind.POSITIVE_SYNTAX: 63, Kind.NEGATIVE_SYNTAX: 40, Kind.EVALUATION: 225}

ROOT = os.environ.get("W3C", "")
SUITE = Path(ROOT) / "sparql11"
without_suite = pytest.mark.skipif(
    not (SUITE / "manifest-sparql11-query.ttl").is_file(),
    reason="set W3C to the folder `sparql` of a checkout of https://github.com/w3c/rdf-tests to run its tests",
)

UNEQUAL = ("RAND", "UUID", "NOW", "BNODE")
"""Functions whose answers differ from run to run."""


@cache
def suite() -> tuple[Entry, ...]:
    """Return all query tests, or none where the suite is missing."""
    file = SUITE / "manifest-sparql11-query.ttl"
    return tuple(read_tests(file)) if file.is_file() else ()


def named(kind: Kind) -> list[object]:
    """Return the tests of a kind as parameters."""
    tests = [test for test in suite() if test.kind == kind]
    return [pytest.param(test, id=test.name) for test in tests] or [
        pytest.param(None, marks=without_suite, id="no suite")
    ]


@without_suite
def test_the_suite_is_whole() -> None:
    assert Counter(test.kind for test in suite()) == COUNTS


@pytest.mark.parametrize("test", named(Kind.POSITIVE_SYNTAX))
def test_positive_syntax(test: Entry) -> None:
    query = parse(test.text, "sparql", base=test.query.as_uri())
    assert parse(print_query(query)) == query


@pytest.mark.parametrize("test", named(Kind.NEGATIVE_SYNTAX))
def test_negative_syntax(test: Entry) -> None:
    with pytest.raises(HydrographError, match=r"line [0-9]+, column [0-9]+: "):
        parse(test.text, "sparql", base=test.query.as_uri())


@pytest.mark.parametrize("test", named(Kind.EVALUATION))
def test_evaluation_queries(test: Entry) -> None:
    query = parse(test.text, "sparql", base=test.query.as_uri())
    assert parse(print_query(query)) == query


@pytest.mark.parametrize("test", named(Kind.EVALUATION))
def test_what_is_printed_means_the_same(test: Entry) -> None:
    """An evaluator of its own answers the text and what is printed of its algebra alike."""
    if "FROM" in test.text:
        pytest.skip("names its data itself")
    store = pyoxigraph.Store()
    for file in test.data:
        store.load(path=file, base_iri=file.as_uri())
    for file in test.graphs:
        store.load(path=file, base_iri=file.as_uri(), to_graph=pyoxigraph.NamedNode(file.as_uri()))
    printed = print_sparql(parse(test.text, "sparql", base=test.query.as_uri()))
    # pyoxigraph accepts no relative IRIs: give it the base as the text itself would.
    given = answers(store, f"BASE <{test.query.as_uri()}>\n{test.text}")
    found = answers(store, printed)
    if any(word in test.text.upper() for word in UNEQUAL):
        assert len(found) == len(given)
    else:
        assert found == given


def answers(store: pyoxigraph.Store, text: str) -> Counter[str]:
    """Return the answers as a bag of texts."""
    result = store.query(text)
    if isinstance(result, pyoxigraph.QueryBoolean):
        return Counter([str(bool(result))])
    if isinstance(result, pyoxigraph.QueryTriples):
        return Counter(re.sub(r"_:\w+", "_:", str(triple)) for triple in result)  # new blank nodes in each run
    columns = sorted(range(len(result.variables)), key=lambda n: result.variables[n].value)
    return Counter(" ".join(str(row[n]) for n in columns) for row in result)

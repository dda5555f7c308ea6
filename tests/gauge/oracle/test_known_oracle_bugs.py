"""The known errors of pyoxigraph are errors still, and rdflib knows better."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hydrograph_gauge.oracle import rdflib_arbiter as arbiter
from hydrograph_gauge.oracle import window_store
from hydrograph_gauge.oracle.compare import compare
from tests.support.known_oracle_bugs import KNOWN_BUGS, KnownBug

HANDBOOK = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text("utf-8")
CASES = pytest.mark.parametrize("entry", KNOWN_BUGS, ids=lambda entry: entry.name.replace(" ", "-"))


@CASES
def test_pyoxigraph_is_still_wrong(entry: KnownBug) -> None:
    # An entry that fails here has been fixed upstream: remove it from the list.
    assert Counter(window_store.evaluate(entry.text, entry.dataset)) != Counter(entry.right)


@CASES
def test_rdflib_is_right_or_known_to_be_wrong_too(entry: KnownBug) -> None:
    difference = compare(Counter(entry.right), Counter(arbiter.answer(entry.text, entry.dataset)))
    assert bool(difference) is not entry.rdflib_is_right


@CASES
def test_the_handbook_lists_it(entry: KnownBug) -> None:
    assert f"| {entry.name} | {entry.reason} |" in HANDBOOK

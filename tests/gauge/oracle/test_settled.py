"""The known errors of pyoxigraph are errors still, and rdflib knows better."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hydrograph_gauge.oracle import arbiter, oxigraph
from hydrograph_gauge.oracle.compare import compare
from tests.support.known_oracle_bugs import SETTLED, Settled

HANDBOOK = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text("utf-8")
CASES = pytest.mark.parametrize("entry", SETTLED, ids=lambda entry: entry.name.replace(" ", "-"))


@CASES
def test_pyoxigraph_is_still_wrong(entry: Settled) -> None:
    # An entry that fails here has been mended: take it off the list.
    assert Counter(oxigraph.answer(entry.text, entry.dataset)) != Counter(entry.right)


@CASES
def test_rdflib_is_right_or_known_to_be_wrong_too(entry: Settled) -> None:
    difference = compare(Counter(entry.right), Counter(arbiter.answer(entry.text, entry.dataset)))
    assert bool(difference) is not entry.rdflib_is_right


@CASES
def test_the_handbook_lists_it(entry: Settled) -> None:
    assert f"| {entry.name} | {entry.reason} |" in HANDBOOK

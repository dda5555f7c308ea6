"""The checks of the worked examples hold, and fail for queries and data that are a little different."""

from __future__ import annotations

from typing import Any

from hydrograph.bench.features.selectivity import Conjunction, selectivities
from hydrograph.bench.features.structure import structure
from hydrograph.bench.worlds import features
from hydrograph.language import parse


def test_the_worked_examples_come_out() -> None:
    no_spark: Any = None
    assert [check.name for check in features.check(no_spark) if not check.passed] == []


def test_other_examples_do_not() -> None:
    other_tree = features._TREE.replace("?u :p6 ?z", "?u :p6 ?y")
    assert not features.tree(structure(parse(features._plain(other_tree)))).passed
    conjunction = Conjunction.of(parse(features._plain(features._SUBSCRIBERS)))
    for triple in features._GRAPH:
        assert not features.fractions(selectivities(conjunction, features._GRAPH - {triple})).passed
    joined = features._HYBRID.replace("?e :t5 ?f", "?d :t5 ?f")
    assert not features.units(Conjunction.of(parse(joined))).passed

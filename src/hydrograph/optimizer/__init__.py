"""Optimizer: rewrites of the algebra that keep every answer; a rule is a file, a line in `RULES` and a case file."""

from __future__ import annotations

from collections.abc import Callable

from hydrograph.algebra.nodes import Pattern
from hydrograph.optimizer.merge_repeats import merge_repeats
from hydrograph.optimizer.optional_to_join import optional_to_join
from hydrograph.optimizer.prune_columns import prune_columns
from hydrograph.optimizer.push_filters import push_filters
from hydrograph.optimizer.push_windows import push_windows
from hydrograph.optimizer.reorder_joins import reorder_joins
from hydrograph.optimizer.substitute_constants import substitute_constants

Rule = Callable[[Pattern], Pattern]

RULES: tuple[Rule, ...] = (
    push_windows,
    optional_to_join,
    substitute_constants,
    merge_repeats,
    reorder_joins,
    push_filters,
    prune_columns,
)


def optimize(pattern: Pattern, rules: tuple[Rule, ...] = RULES) -> Pattern:
    """Return a pattern with the same answers at every instant, cheaper to compute."""
    for rule in rules:
        pattern = rule(pattern)
    return pattern

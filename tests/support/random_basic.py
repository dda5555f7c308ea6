"""Draws the parts of a basic query: blocks over windows, static patterns, conditions, aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hydrograph.algebra.expressions import Aggregate, AggregateName, Compare, Constant, Reference
from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    Order,
    OrderBy,
    Pattern,
    Project,
    Slice,
    Window,
)
from hydrograph.algebra.walk import visible_variables
from hydrograph.rdf.terms import Iri, Variable
from tests.support.random_data import INTEGERS, Features, is_numeric, random_bgp, random_condition, things

SOME = (1, 1, 2, 2, 3)
FEW = (1, 1, 1, 2)
"""Sizes of basic graph patterns: what is joined to another block stays small, or nothing matches."""


class Writer:
    """Draws the parts of one query; keeps the names it has given."""

    def __init__(self, rng: Random, features: Features, windows: tuple[Iri, ...]) -> None:
        """Draw with `rng` for a query over these windows."""
        self.rng = rng
        self.features = features
        self.windows = windows
        self._fresh = 0
        self._aggregates = 0

    def fresh(self) -> Variable:
        """Return a variable not used before."""
        self._fresh += 1
        return Variable(f"n{self._fresh}")

    def where(self) -> Pattern:
        """Draw a block for each window, perhaps static patterns beside them, perhaps a condition over all."""
        pattern: Pattern = self.windowed(self.windows[0])
        for name in self.windows[1:]:
            pattern = Join(pattern, self.windowed(name, FEW))
        if self.rng.random() < 0.35:
            pattern = Join(pattern, self.bgp(FEW))
        return self.filtered(pattern) if self.rng.random() < 0.4 else pattern

    def bgp(self, sizes: Sequence[int] = SOME) -> Bgp:
        """Draw triple patterns."""
        return random_bgp(self.rng, sizes, strings=self.features.strings)

    def windowed(self, name: Iri, sizes: Sequence[int] = SOME) -> Window:
        """Draw a WINDOW block."""
        inner: Pattern = self.bgp(sizes)
        return Window(name, self.filtered(inner) if self.rng.random() < 0.15 else inner)

    def filtered(self, inner: Pattern) -> Pattern:
        """Add a condition over the variables in scope, if there are any."""
        return Filter(random_condition(self.rng, inner, self.features), inner) if visible_variables(inner) else inner

    def select(self, inner: Pattern, *, top: bool) -> Pattern:
        """Draw what SELECT makes of a pattern: groups, distinct rows, the first few rows, or a projection."""
        columns = visible_variables(inner)
        kind = self.rng.random()
        if kind < 0.3 or not columns:
            return self.group(inner, top=top)
        chosen = tuple(sorted(self.rng.sample(columns, self.rng.randrange(1, len(columns) + 1))))
        if kind < 0.5:
            return Distinct(Project(inner, chosen))
        if kind < 0.6 and self.features.depth:
            ordered = OrderBy(inner, tuple(Order(Reference(variable)) for variable in chosen))
            return Slice(Project(ordered, chosen), self.rng.choice((0, 0, 1)), self.rng.randrange(4))
        return Project(inner, chosen)

    def group(self, inner: Pattern, *, top: bool) -> Pattern:
        """Draw aggregates, with or without GROUP BY; what needs numbers gets numbers."""
        columns = visible_variables(inner)
        if not columns:
            return self._named(Group(inner, (), self._kept([Aggregate("COUNT", None)]), implicit=True))
        values = [variable for variable in columns if variable not in things(inner)] or columns
        argument = self.rng.choice(values if self.rng.random() < 0.8 else columns)
        keys = tuple(sorted(self.rng.sample(columns, min(len(columns), self.rng.choice((0, 1, 1, 2))))))
        if self.rng.random() < 0.3:
            aggregates = [Aggregate("COUNT", None)]
        else:
            aggregates = [self._aggregate(argument, top=top) for _ in range(self.rng.choice((1, 2)))]
        if any(aggregate.name != "COUNT" for aggregate in aggregates):
            inner = Filter(is_numeric(argument), inner)
        return self._named(Group(inner, keys, self._kept(aggregates), implicit=not keys))

    def _aggregate(self, argument: Variable, *, top: bool) -> Aggregate:
        """Draw an aggregate; a mean, which evaluators round differently, is never read again."""
        names: tuple[AggregateName, ...] = ("COUNT", "SUM", "MIN", "MAX", *(("AVG",) if top else ()))
        name: AggregateName = self.rng.choice(names)
        distinct = name in ("COUNT", "SUM") and self.rng.random() < 0.4
        return Aggregate(name, Reference(argument), distinct)

    def _kept(self, aggregates: list[Aggregate]) -> tuple[tuple[Variable, Aggregate], ...]:
        """Give each different aggregate a variable that no text can name, as the translation does."""
        kept = []
        for aggregate in dict.fromkeys(aggregates):
            self._aggregates += 1
            kept.append((Variable(f".a{self._aggregates}"), aggregate))
        return tuple(kept)

    def _named(self, group: Group) -> Pattern:
        """Draw HAVING, and name the aggregates as SELECT does."""
        first, aggregate = group.aggregates[0]
        pattern: Pattern = group
        if self.features.depth and aggregate.name == "COUNT" and self.rng.random() < 0.3:
            number = Constant(self.rng.choice(INTEGERS))
            pattern = Filter(Compare(self.rng.choice(("=", "!=", ">")), Reference(first), number), pattern)
        columns = list(group.keys)
        for variable, _ in group.aggregates:
            columns.append(self.fresh())
            pattern = Extend(pattern, columns[-1], Reference(variable))
        return Project(pattern, tuple(columns))

"""Random patterns with every operator of SPARQL, nested; each block looks into a window or at the static data."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hydrograph.algebra.expressions import Calculate, Constant, Exists, Or, Reference
from hydrograph.algebra.nodes import (
    Alternative,
    Extend,
    Filter,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    OneOrMore,
    Path,
    PathPattern,
    Pattern,
    Sequence,
    Union,
    Values,
    Window,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.algebra.walk import certain, variables, visible_variables
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph_gauge.oracle.plain_sparql import rewrite
from tests.support.random_basic import Writer
from tests.support.random_data import (
    INTEGERS,
    PREDICATES,
    SUBJECTS,
    VARIABLES,
    random_bgp,
    random_condition,
)

_OPERATORS = (
    "block", "join", "union", "filter", "optional", "optional", "minus", "minus", "exists", "exists", "or exists",
    "bind", "select", "values",
)  # fmt: skip


class DeepWriter(Writer):
    """Draws nested patterns: either all inside one WINDOW block, or each block in a window of its own."""

    def where(self) -> Pattern:
        """Draw a pattern of the depth asked for."""
        depth = self.rng.randrange(1, self.features.depth + 1)
        if self.rng.random() < 0.05:
            return Minus(self.pattern(depth - 1, self.windowed_leaf), self.windowed_leaf())
        if self.rng.random() < 0.5:
            return Window(self.rng.choice(self.windows), self.pattern(depth, self.leaf))
        return self.pattern(depth, self.windowed_leaf)

    def leaf(self) -> Pattern:
        """Draw triple patterns or a path."""
        if self.rng.random() < 0.15:
            ends = self.rng.choice(VARIABLES), self.rng.choice(VARIABLES)
            return PathPattern(ends[0], random_path(self.rng), ends[1])
        return random_bgp(self.rng)

    def windowed_leaf(self) -> Pattern:
        """Draw a block over a window, or sometimes over the static data."""
        leaf = self.leaf()
        return leaf if self.rng.random() < 0.2 else Window(self.rng.choice(self.windows), leaf)

    def pattern(self, depth: int, leaf: Callable[[], Pattern]) -> Pattern:
        """Draw a pattern of at most this depth."""
        operator = self.rng.choice(_OPERATORS) if depth else "block"
        if operator == "block":
            return leaf()
        inner = self.pattern(depth - 1, leaf)
        match operator:
            case "join":
                return Join(inner, self.pattern(depth - 1, leaf))
            case "union":
                return Union(inner, self.pattern(depth - 1, leaf))
            case "minus":
                return self.minus(inner, self.pattern(depth - 1, leaf))
            case "filter":
                return self.filtered(inner)
            case "optional":
                return self.optional(inner, self.pattern(depth - 1, leaf))
            case "exists" | "or exists":
                return self.exists(inner, leaf(), alone=operator == "exists")
            case "bind":
                return self.bind(inner)
            case "values":
                return Join(inner, self.values())
            case _:
                return self.select(inner, top=False)

    def minus(self, left: Pattern, right: Pattern) -> Pattern:
        """Draw MINUS of patterns that surely share a variable, or else UNION.

        MINUS without a shared variable removes nothing (S23), but inside other groups both evaluators let it remove
        rows: they count variables bound outside. So it is drawn only at the top.
        """
        return Minus(left, right) if certain(left) & certain(right) else Union(left, right)

    def optional(self, left: Pattern, right: Pattern) -> Pattern:
        """Draw OPTIONAL, sometimes with a condition that reads both sides."""
        both = LeftJoin(left, right)
        if visible_variables(both) and self.rng.random() < 0.4:
            return LeftJoin(left, right, random_condition(self.rng, both, self.features))
        return both

    def exists(self, inner: Pattern, block: Pattern, *, alone: bool) -> Pattern:
        """Draw FILTER [NOT] EXISTS, alone or as one side of ||."""
        exists = Exists(self.renamed_apart(block, inner), negated=alone and self.rng.random() < 0.5)
        if alone or not visible_variables(inner):
            return Filter(exists, inner)
        return Filter(Or((exists, random_condition(self.rng, inner, self.features, nested=True))), inner)

    def renamed_apart(self, block: Pattern, outer: Pattern) -> Pattern:
        """Give the variables only EXISTS knows names of their own: pyoxigraph lets it see those of sibling groups.

        Paths of length zero get longer: for an outer value that the block's graph lacks they mean more than a join.
        """
        known = variables(outer)
        names = {variable: self.fresh() for variable in sorted(variables(block) - known)}

        def change(node: object) -> object:
            if isinstance(node, Variable):
                return names.get(node, node)
            return OneOrMore(node.path) if isinstance(node, ZeroOrMore | ZeroOrOne) else node

        renamed: Pattern = rewrite(block, change)
        return renamed

    def bind(self, inner: Pattern) -> Pattern:
        """Draw BIND of a sum, unbound where there is no number."""
        columns = visible_variables(inner)
        if not columns:
            return inner
        total = Calculate("+", Reference(self.rng.choice(columns)), Constant(INTEGERS[1]))
        return Extend(inner, self.fresh(), total)

    def values(self) -> Values:
        """Draw inline data with one or two columns, some of it UNDEF."""
        columns = tuple(sorted(self.rng.sample(VARIABLES, self.rng.choice((1, 2)))))
        rows = [tuple(self._inline() for _ in columns) for _ in range(self.rng.randrange(1, 4))]
        return Values(columns, tuple(rows))

    def _inline(self) -> Iri | Literal | None:
        choices: tuple[Iri | Literal | None, ...] = (*SUBJECTS, *INTEGERS, None)
        return self.rng.choice(choices)


def random_path(rng: Random) -> Path:
    """Draw a path that repeats, over a short path that may turn around, branch or go on."""
    step: Path = Link(rng.choice(PREDICATES))
    kind = rng.random()
    if kind < 0.15:
        step = Inverse(step)
    elif kind < 0.3:
        step = Alternative(step, Link(rng.choice(PREDICATES)))
    elif kind < 0.45:
        step = Sequence(step, Link(rng.choice(PREDICATES)))
    return rng.choice((OneOrMore, ZeroOrMore, ZeroOrOne))(step)

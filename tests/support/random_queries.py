"""Random continuous queries, as records of the algebra; they always obey the scope rules of SPARQL.

`BasicQueryGenerator` draws blocks over windows, static patterns, conditions and aggregates. `NestedQueryGenerator`
nests every operator of SPARQL. One seed always gives the same query.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hydrograph.algebra.expressions import Aggregate, AggregateName, Calculate, Compare, Constant, Exists, Or, Reference
from hydrograph.algebra.nodes import (
    Alternative,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    OneOrMore,
    Order,
    OrderBy,
    Path,
    PathPattern,
    Pattern,
    Project,
    Sequence,
    Slice,
    Union,
    Values,
    Window,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.algebra.queries import ContinuousQuery, NamedWindow, Select, StreamOperator
from hydrograph.algebra.walk import certain, subpatterns, variables, visible_variables
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph_gauge.oracle.plain_sparql import rewrite
from tests.support.random_data import (
    BASIC,
    INTEGERS,
    NAMESPACE,
    PREDICATES,
    SUBJECTS,
    VARIABLES,
    Features,
    is_numeric,
    random_bgp,
    random_condition,
    random_window,
    things,
)

STREAMS = tuple(Iri(f"{NAMESPACE}stream{number}") for number in range(2))
WINDOWS = tuple(Iri(f"{NAMESPACE}w{number}") for number in range(2))


def random_query(rng: Random, features: Features = BASIC) -> ContinuousQuery:
    """Draw an RSP-QL query over one window, or over two windows of one grid."""
    definition = random_window(rng, counts=features.counts)
    names = WINDOWS[: rng.choice((1, 1, features.windows))]
    windows = tuple(NamedWindow(name, rng.choice(STREAMS), definition) for name in names)
    writer = (NestedQueryGenerator if features.depth else BasicQueryGenerator)(rng, features, names)
    pattern = _numbered(writer.select(writer.where(), top=True))
    operator = rng.choice((StreamOperator.RSTREAM, *StreamOperator))
    return ContinuousQuery(Select(_columns(pattern)), pattern, windows, operator=operator)


def _columns(pattern: Pattern) -> tuple[Variable, ...]:
    while isinstance(pattern, Slice | Distinct):
        pattern = pattern.inner
    assert isinstance(pattern, Project)
    return pattern.variables


def _numbered(pattern: Pattern) -> Pattern:
    """Name the aggregates in the order of the text, as the translation does."""
    groups = [node for node in subpatterns(pattern) if isinstance(node, Group)]
    found = [variable for group in groups for variable, _ in group.aggregates]
    names = {variable: Variable(f".a{number}") for number, variable in enumerate(found)}
    renamed: Pattern = rewrite(pattern, lambda node: names.get(node, node) if isinstance(node, Variable) else node)
    return renamed


SOME = (1, 1, 2, 2, 3)
FEW = (1, 1, 1, 2)
"""Sizes of basic graph patterns: what is joined to another block stays small, or nothing matches."""


class BasicQueryGenerator:
    """Generator of one basic query; it remembers the names that it has used."""

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

    def bgp(self, sizes: tuple[int, ...] = SOME) -> Bgp:
        """Draw triple patterns."""
        return random_bgp(self.rng, sizes, strings=self.features.strings)

    def windowed(self, name: Iri, sizes: tuple[int, ...] = SOME) -> Window:
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


_OPERATORS = (
    "block", "join", "union", "filter", "optional", "optional", "minus", "minus", "exists", "exists", "or exists",
    "bind", "select", "values",
)  # fmt: skip


class NestedQueryGenerator(BasicQueryGenerator):
    """Generator of nested patterns: either all inside one WINDOW block, or each block in a window of its own."""

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
    """Draw a path that repeats, over a short path that may be inverted, an alternative or a sequence."""
    step: Path = Link(rng.choice(PREDICATES))
    kind = rng.random()
    if kind < 0.15:
        step = Inverse(step)
    elif kind < 0.3:
        step = Alternative(step, Link(rng.choice(PREDICATES)))
    elif kind < 0.45:
        step = Sequence(step, Link(rng.choice(PREDICATES)))
    return rng.choice((OneOrMore, ZeroOrMore, ZeroOrOne))(step)

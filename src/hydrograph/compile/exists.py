"""S24: [NOT] EXISTS, alone or inside a larger expression.

Its pattern is asked for each solution with the solution's values put in. Where that is the same as joining the
pattern's own answers with the solutions, it is done so. Else the distinct values that the pattern can see become a
relation, the seed, which every leaf of the pattern is joined with; hidden keys keep its rows apart all the way up.
The values stay bound in the pattern, as in SPARQL 1.2, pyoxigraph and rdflib: both sides of a MINUS have them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from hydrograph.algebra.expressions import Constant, Exists, Expression, Not, Reference
from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Slice,
    Union,
    Values,
    Window,
)
from hydrograph.algebra.walk import (
    certain,
    expressions,
    has_exists,
    has_zero_length,
    mentioned,
    rewrite_expression,
    subpatterns,
    variables,
)
from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.expressions.demand import expression_demand, merge_demands, reads_clock
from hydrograph.compile.expressions.evaluate import condition
from hydrograph.compile.joins import join
from hydrograph.compile.outer_joins import JoinKind, compatibility_conditions, outer_join
from hydrograph.compile.rank_expansion import all_parts, match_validity
from hydrograph.compile.relation import Part, Parts, Relation
from hydrograph.compile.scope import PatternCompiler, Scope, restrict
from hydrograph.compile.set_operators import distinct
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Literal, Variable
from hydrograph.rdf.vocab import XSD_BOOLEAN

_ID: Parts = frozenset({Part.ID})
_TRUE = Constant(Literal("true", XSD_BOOLEAN))


def expression_reads(expression: Expression) -> dict[Variable, Parts]:
    """Return what an expression reads of each variable, the patterns of EXISTS included."""
    own, asked = _own_reads(expression)
    return merge_demands(own, *(_pattern_reads(pattern) for pattern in asked))


def _own_reads(expression: Expression) -> tuple[dict[Variable, Parts], list[Pattern]]:
    """Return what an expression reads itself, and the patterns of EXISTS in it."""
    asked: list[Pattern] = []

    def plain(node: Expression) -> Expression:
        if not isinstance(node, Exists):
            return node
        asked.append(node.pattern)
        return _TRUE

    return expression_demand(rewrite_expression(expression, plain)), asked


def _pattern_reads(pattern: Pattern) -> dict[Variable, Parts]:
    demands: list[dict[Variable, Parts]] = []
    for below in subpatterns(pattern):  # those of EXISTS are among them
        demands.append(dict.fromkeys(variables(below), _ID))
        demands += [_own_reads(expression)[0] for expression in expressions(below)]
    found = merge_demands(*demands)
    return {variable: parts | _ID for variable, parts in found.items()}


def join_outer_values(compilation: Compilation, scope: Scope, rows: Relation, expression: Expression) -> Relation:
    """Return the rows with the values that an EXISTS around them gives to variables of the expression."""
    if scope.seed is None:
        return rows
    read = mentioned(expression) & scope.seen & frozenset(scope.seed.layouts)
    outer = frozenset(variable for variable in read if variable not in rows.certain)
    if not outer:
        return rows
    seed = restrict(scope.seed, outer)
    return join(compilation, rows, seed, merge_demands(all_parts(rows), all_parts(seed)))


@dataclass(frozen=True, slots=True)
class ExistsCompiler:
    """Compiler of the EXISTS patterns inside expressions."""

    compilation: Compilation
    compile: PatternCompiler
    scope: Scope

    def filtered(self, rows: Relation, exists: Exists) -> Relation:
        """Return the rows at the instants at which the pattern has, or has not, an answer for them."""
        kind = JoinKind.ANTI if exists.negated else JoinKind.SEMI
        left, right, on = self._matches(rows, exists.pattern)
        return outer_join(self.compilation, left, right, on, kind)

    def marked(self, rows: Relation, expression: Expression) -> tuple[Relation, Expression]:
        """Return the rows with a boolean for every EXISTS in an expression, and the expression that reads them."""

        def replaced(node: Expression) -> Expression:
            nonlocal rows
            if not isinstance(node, Exists):
                return node
            mark = self.compilation.fresh()
            left, right, on = self._matches(rows, node.pattern)
            rows = outer_join(self.compilation, left, right, on, JoinKind.MARK, mark=mark)
            return Not(Reference(mark)) if node.negated else Reference(mark)

        changed = rewrite_expression(expression, replaced)
        return rows, changed

    def _matches(self, rows: Relation, pattern: Pattern) -> tuple[Relation, Relation, list[Sql]]:
        """Return both sides of the match, and when a pair is one."""
        outer = frozenset(rows.layouts)
        tests, inner = _stripped(pattern)
        if can_join(inner, outer):
            return self._joined(rows, inner, tests)
        return self._seeded(rows, pattern)

    def _joined(
        self, rows: Relation, pattern: Pattern, tests: list[Expression]
    ) -> tuple[Relation, Relation, list[Sql]]:
        wanted = merge_demands(
            dict.fromkeys(variables(pattern) & frozenset(rows.layouts), _ID),
            *[expression_demand(test) for test in tests],
        )
        right = self.compile(self.compilation, pattern, self.scope, wanted)
        left = match_validity(self.compilation, rows, right)
        pair = pair_relation(left, right)
        on = compatibility_conditions(left, right) + [
            condition(test, pair, self.compilation.constant) for test in tests
        ]
        return left, right, on

    def _seeded(self, rows: Relation, pattern: Pattern) -> tuple[Relation, Relation, list[Sql]]:
        rows = self.compilation.keep(rows)
        read = frozenset(_pattern_reads(pattern))
        shared = [variable for variable in rows.layouts if variable in read]
        if not rows.certain and any(isinstance(below, Minus) for below in subpatterns(pattern)):
            shared = list(rows.layouts)
        seed, keys = _seed(self.compilation, restrict(rows, frozenset(shared)))
        loose = {variable: key for variable, key in keys.items() if variable not in rows.certain}
        scope = Scope(
            self.scope.source,
            seed,
            frozenset(shared),
            bound=rows.certain | self.scope.bound,
            loose={**self.scope.loose, **loose},
        )
        right = self.compile(self.compilation, pattern, scope, dict.fromkeys(shared, _ID))
        left = match_validity(self.compilation, rows, right)
        on = compatibility_conditions(
            left, replace(right, keys=tuple(key for key in right.keys if key not in keys.values()))
        )
        for variable, key in keys.items():
            if key in right.keys:
                on.append(sql.equal(_keyed(left.part(variable, Part.ID, "l")), sql.col(key, "r")))
        return left, right, on


def _seed(compilation: Compilation, rows: Relation) -> tuple[Relation, dict[Variable, str]]:
    """Return the distinct solutions, each variable's id once more as a hidden key that is never NULL."""
    once = distinct(compilation, rows)
    keys = {variable: compilation.name("key") for variable in rows.layouts}
    columns = [sql.col(name) for name in once.all_columns()]
    added = [sql.alias(_keyed(once.part(variable, Part.ID)), key) for variable, key in keys.items()]
    query = sql.from_(sql.select(*columns, *added) if columns or added else sql.select(sql.num(1)), once.name)
    seeded = replace(once, keys=(*once.keys, *keys.values()))
    return compilation.keep(compilation.step(seeded, query, "seed")), keys


def _keyed(identity: Sql) -> Sql:
    return sql.coalesce(identity, sql.num(0))  # no term has the id 0


def _stripped(pattern: Pattern) -> tuple[list[Expression], Pattern]:
    """Return the conditions at the top of a pattern, which can be tested on pairs, and what is below them.

    A pair holds at several ranks, so it can't be asked what time it is.
    """
    tests: list[Expression] = []
    while isinstance(pattern, Filter) and not has_exists(pattern.condition) and not reads_clock(pattern.condition):
        tests.append(pattern.condition)
        pattern = pattern.inner
    return tests, pattern


@dataclass(frozen=True, slots=True)
class _Pair(Relation):
    """A row of l and a row of r that agree, as one row."""

    sides: tuple[Relation, Relation]

    def part(self, variable: Variable, part: Part, table: str | None = None) -> Sql:
        del table
        left, right = self.sides
        if variable not in left.layouts:
            return right.part(variable, part, "r")
        if variable in left.certain or variable not in right.layouts:
            return left.part(variable, part, "l")
        return sql.coalesce(left.part(variable, part, "l"), right.part(variable, part, "r"))


def pair_relation(left: Relation, right: Relation) -> Relation:
    """Return pairs of two relations, named l and r, as rows that conditions can read."""
    layouts = {**right.layouts, **left.layouts}
    names = {**right.names, **left.names}
    return _Pair("", layouts, left.certain | right.certain, (), left.validity, names, (left, right))


def can_join(pattern: Pattern, outer: frozenset[Variable]) -> bool:
    """Tell whether putting values of `outer` variables into a pattern is the same as joining with its answers."""
    alike: Callable[[Pattern], bool] = lambda inner: can_join(inner, outer)  # noqa: E731
    match pattern:
        case Bgp() | Values():
            return True
        case PathPattern(subject, path, target):
            return not (has_zero_length(path) and {subject, target} & outer)
        case Join(left, right) | Union(left, right):
            return alike(left) and alike(right)
        case Window(_, inner) | Graph(_, inner) | Distinct(inner) | Reduced(inner):
            return alike(inner)
        case OrderBy(inner, order):
            return alike(inner) and all(_knows(inner, each.expression, outer) for each in order)
        case Filter(test, inner):
            return alike(inner) and _knows(inner, test, outer)
        case Extend(inner, variable, expression):
            return alike(inner) and variable not in outer and _knows(inner, expression, outer)
        case LeftJoin(left, right, test):
            sure = certain(left)
            read = variables(right) | (mentioned(test) if test is not None else frozenset())
            return alike(left) and alike(right) and read & outer <= sure
        case Minus(left, right):
            # What the solution around binds is bound on both sides: there, sides always share a variable.
            share = not outer or certain(left) & certain(right)
            return bool(share) and alike(left) and alike(right) and variables(right) & outer <= certain(left)
        case Project(inner, kept):
            return can_join(inner, outer & frozenset(kept))
        case Group(inner, keys, aggregates):
            below = [one.argument for _, one in aggregates if one.argument is not None]
            own = not outer & {output for output, _ in aggregates}
            grouped = outer & variables(inner) <= frozenset(keys) and outer & frozenset(keys) <= certain(inner)
            return own and grouped and alike(inner) and all(_knows(inner, each, outer) for each in below)
        case Slice(inner):
            return not outer & variables(inner) and alike(inner)
        case _:
            assert_never(pattern)


def _knows(inner: Pattern, expression: Expression, outer: frozenset[Variable]) -> bool:
    """Tell whether an expression gets the values of outer variables from the pattern below it."""
    return mentioned(expression) & outer <= certain(inner)

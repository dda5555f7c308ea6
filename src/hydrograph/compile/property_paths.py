"""S26b: property paths. `/ | ^` are join, union and swap; `+ * ?` give each pair once, at every instant.

Repetition is a fixpoint with intervals: each round joins what the round before found with the edges, and keeps of that
only what is not known yet at that instant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from hydrograph.algebra.expressions import And, Compare, Constant, Expression, Reference
from hydrograph.algebra.nodes import (
    Alternative,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Inverse,
    Join,
    Link,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    Pattern,
    PatternTerm,
    Project,
    Sequence,
    TriplePattern,
    Union,
    Values,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.joins import join
from hydrograph.compile.outer_joins import JoinKind, compatibility_conditions, outer_join
from hydrograph.compile.program import Fixpoint, Let
from hydrograph.compile.relation import Demand, Part, Parts, Relation, layout_columns
from hydrograph.compile.scope import PatternCompiler, Scope, restrict, substitute_outer
from hydrograph.compile.set_operators import distinct, union
from hydrograph.rdf.encoding import encode
from hydrograph.rdf.terms import Iri, Variable

_ID: Parts = frozenset({Part.ID})


def expand_path(compilation: Compilation, pattern: PathPattern) -> Pattern | None:
    """Return a path as joins and unions of shorter ones; None for those that repeat."""
    subject, target = pattern.subject, pattern.object
    ends = tuple(dict.fromkeys(term for term in (subject, target) if isinstance(term, Variable)))
    match pattern.path:
        case Link(predicate):
            return Bgp((TriplePattern(subject, predicate, target),))
        case Inverse(path):
            return PathPattern(target, path, subject)
        case Sequence(left, right):
            middle = compilation.fresh()
            return Project(Join(PathPattern(subject, left, middle), PathPattern(middle, right, target)), ends)
        case Alternative(left, right):
            return Union(PathPattern(subject, left, target), PathPattern(subject, right, target))
        case NegatedSet(forward, backward, has_forward, has_backward):
            sides = []
            if has_forward:
                sides.append(_any_but(compilation, subject, forward, target, ends))
            if has_backward:
                sides.append(_any_but(compilation, target, backward, subject, ends))
            return sides[0] if len(sides) == 1 else Union(sides[0], sides[1])
        case ZeroOrMore() | OneOrMore() | ZeroOrOne():
            return None
        case _:
            assert_never(pattern.path)


def _any_but(
    compilation: Compilation,
    subject: PatternTerm,
    excluded: tuple[Iri, ...],
    target: PatternTerm,
    ends: tuple[Variable, ...],
) -> Pattern:
    predicate = compilation.fresh()
    tests: tuple[Expression, ...] = tuple(Compare("!=", Reference(predicate), Constant(iri)) for iri in excluded)
    edge: Pattern = Bgp((TriplePattern(subject, predicate, target),))
    return Project(Filter(And(tests), edge) if tests else edge, ends)


@dataclass(frozen=True, slots=True)
class PathCompiler:
    """Compiles the paths that repeat."""

    compilation: Compilation
    compile: PatternCompiler
    scope: Scope

    def repeated(self, pattern: PathPattern, demand: Demand) -> Relation:
        """Return the pairs of nodes that a path of `+`, `*` or `?` connects, each once at every instant."""
        subject, target = pattern.subject, pattern.object
        first, last = (self.compilation.fresh() for _ in range(2))
        wanted = {
            new: _ID | (demand.get(old, frozenset()) if isinstance(old, Variable) else frozenset())
            for new, old in ((first, subject), (last, target))
        }
        # Inside a repetition nothing is substituted: its ends are variables of its own.
        plain = Scope(self.scope.source)
        rows = self._pairs(pattern.path, (first, last), (subject, target), plain, wanted)
        if not isinstance(pattern.path, OneOrMore):
            zero = self._zero((first, last), (subject, target), plain, wanted)
            rows = union(self.compilation, rows, zero, wanted)
            for term in dict.fromkeys((subject, target)):
                if isinstance(term, Variable) and term in self.scope.seen:
                    rows = union(self.compilation, rows, self._given(rows, term, (first, last)), wanted)
            rows = distinct(self.compilation, rows)
        rows = self._ended(rows, (first, last), (subject, target))
        return substitute_outer(self.compilation, self.scope, rows, demand)

    def _pairs(
        self,
        path: Path,
        ends: tuple[Variable, Variable],
        terms: tuple[PatternTerm, PatternTerm],
        scope: Scope,
        wanted: Demand,
    ) -> Relation:
        """Return the pairs of at least one step, from the constant end if there is one."""
        match path:
            case ZeroOrOne(step) | ZeroOrMore(step) | OneOrMore(step):
                pass
            case _:
                raise AssertionError(path)
        edges = self.compile(self.compilation, PathPattern(ends[0], step, ends[1]), scope, wanted)
        if isinstance(path, ZeroOrOne):
            return self._starting(edges, ends[0], terms[0])
        edges = self.compilation.keep(distinct(self.compilation, edges))
        backwards = isinstance(terms[0], Variable) and not isinstance(terms[1], Variable)
        near, far = (1, 0) if backwards else (0, 1)
        start = self._starting(edges, ends[near], terms[near])
        return self.closure(start, edges, ends[near], ends[far])

    def _starting(self, edges: Relation, end: Variable, term: PatternTerm) -> Relation:
        if isinstance(term, Variable):
            return edges
        query = sql.from_(sql.select(*[sql.col(name) for name in edges.all_columns()]), edges.name)
        query = query.where(sql.equal(edges.part(end, Part.ID), sql.num(encode(term).id)), copy=False)
        return self.compilation.step(edges, query, "start")

    def closure(self, start: Relation, edges: Relation, near: Variable, far: Variable) -> Relation:
        """Return the pairs `(near, far)` that steps along the edges connect."""
        compilation = self.compilation
        name, delta = compilation.name("path"), compilation.name("delta")
        columns = [sql.col(column) for column in start.all_columns()]
        first = sql.from_(sql.select(*columns), start.name)
        known = start.renamed(name)
        outside, compilation.steps = compilation.steps, []
        middle = compilation.fresh()
        found = _view(known.renamed(delta), {near: near, far: middle})
        step = _view(edges, {near: middle, far: far})
        parts = {variable: frozenset(Part) for variable in (near, far)}
        longer = join(compilation, found, step, parts)
        longer = distinct(compilation, restrict(longer, frozenset({near, far})))
        fresh = outer_join(compilation, longer, known, compatibility_conditions(longer, known), JoinKind.ANTI)
        query = sql.from_(sql.select(*[column.copy() for column in columns]), fresh.name)
        compilation.let(query, "found")
        steps, compilation.steps = compilation.steps, outside
        assert all(isinstance(inner, Let) for inner in steps)
        compilation.steps.append(Fixpoint(name, first, delta, tuple(s for s in steps if isinstance(s, Let))))
        return known

    def _zero(
        self,
        ends: tuple[Variable, Variable],
        terms: tuple[PatternTerm, PatternTerm],
        scope: Scope,
        wanted: Demand,
    ) -> Relation:
        """Return the paths of length zero: a constant always, else the nodes of the graph and those substituted."""
        first, last = ends
        constants = [term for term in terms if not isinstance(term, Variable)]
        if constants:
            both = tuple(tuple(term for _ in ends) for term in constants[:1])
            return self.compile(self.compilation, Values(ends, both), scope, wanted)
        loose = [self.compilation.fresh() for _ in range(4)]
        begins = Bgp((TriplePattern(first, loose[0], loose[1]),))
        stops = Bgp((TriplePattern(loose[2], loose[3], first),))
        nodes = Distinct(Project(Union(begins, stops), (first,)))
        return self.compile(self.compilation, Extend(nodes, last, Reference(first)), scope, wanted)

    def _given(self, rows: Relation, variable: Variable, ends: tuple[Variable, Variable]) -> Relation:
        """Return the paths of length zero at the values that an EXISTS around the path puts in for a variable.

        They are constants then, and so need not be nodes of the graph.
        """
        seed = self.scope.seed
        assert seed is not None
        keys = tuple(key for key in seed.keys if key in rows.keys or key == "chunk" or key in self.inputs_keys)
        layout = seed.layouts[variable]
        names = {end: self.compilation.stem(end) for end in ends}
        copies = [
            sql.alias(sql.col(old), new)
            for end in ends
            for old, new in zip(seed.columns(variable), layout_columns(names[end], layout), strict=True)
        ]
        kept = [sql.col(name) for name in (*keys, *seed.validity.columns)]
        query = sql.from_(sql.select(*kept, *copies), seed.name)
        query = query.where(sql.not_null(seed.part(variable, Part.ID)), copy=False)
        given = Relation(seed.name, dict.fromkeys(ends, layout), frozenset(ends), keys, seed.validity, names)
        return self.compilation.step(given, query, "given")

    @property
    def inputs_keys(self) -> tuple[str, ...]:
        """The hidden keys of the input tables."""
        return self.compilation.inputs.keys

    def _ended(
        self, rows: Relation, ends: tuple[Variable, Variable], terms: tuple[PatternTerm, PatternTerm]
    ) -> Relation:
        """Return the pairs as bindings of the pattern's own terms."""
        tests = [
            sql.equal(rows.part(end, Part.ID), sql.num(encode(term).id))
            for end, term in zip(ends, terms, strict=True)
            if not isinstance(term, Variable)
        ]
        if terms[0] == terms[1] and not tests:
            tests.append(sql.equal(rows.part(ends[0], Part.ID), rows.part(ends[1], Part.ID)))
        named = {term: end for end, term in zip(ends, terms, strict=True) if isinstance(term, Variable)}
        layouts = {term: rows.layouts[end] for term, end in named.items()}
        names = {term: self.compilation.stem(term) for term in named}
        columns = [sql.col(key) for key in rows.keys]
        for term, end in named.items():
            new = layout_columns(names[term], layouts[term])
            columns += [sql.alias(sql.col(old), name) for old, name in zip(rows.columns(end), new, strict=True)]
        columns += [sql.col(name) for name in rows.validity.columns]
        query = sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), rows.name).where(*tests, copy=False)
        result = replace(rows, layouts=layouts, certain=frozenset(named), names=names)
        return self.compilation.step(result, query, "path")


def _view(rows: Relation, names: dict[Variable, Variable]) -> Relation:
    """Return the rows with other variables for the same columns."""
    return replace(
        rows,
        layouts={new: rows.layouts[old] for old, new in names.items()},
        names={new: rows.names[old] for old, new in names.items()},
        certain=frozenset(names.values()),
    )

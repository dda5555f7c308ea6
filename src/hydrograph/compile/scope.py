"""Scope of a pattern: the graph that its triple patterns read, and the outer solutions of an EXISTS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hydrograph.algebra.nodes import Pattern
from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.graphs import MergedGraph, NamedGraph, NamedGraphs, graph_names
from hydrograph.compile.inputs import Inputs, StaticInput, StreamInput
from hydrograph.compile.joins import join
from hydrograph.compile.relation import Always, Demand, Relation
from hydrograph.rdf.terms import Variable

Source: TypeAlias = StreamInput | StaticInput | NamedGraph | NamedGraphs | MergedGraph | None


def default_source(inputs: Inputs) -> Source:
    """Return what patterns outside all blocks read: static data, and windows that feed the default graph (A9)."""
    static = inputs.statics.get(None)
    streams = tuple(inputs.windows[name] for name in inputs.feeding)
    if not streams:
        return static
    has_static = static is not None or bool(inputs.merged and inputs.quads is not None)
    return streams[0] if len(streams) == 1 and not has_static else MergedGraph(streams, static, has_static)


@dataclass(frozen=True, slots=True)
class Scope:
    """Surroundings of a pattern.

    `seed` holds the solutions for which the pattern of an EXISTS is asked: its hidden keys are carried by every row
    inside, and the variables in `seen` are replaced by their values there, as the definition of substitution requires.
    """

    source: Source
    seed: Relation | None = None
    seen: frozenset[Variable] = frozenset()
    bound: frozenset[Variable] = frozenset()
    """The variables that every solution around an EXISTS binds: both sides of a MINUS have them (S23)."""
    loose: Mapping[Variable, str] = field(default_factory=dict)
    """The variables that some of those solutions bind, with the hidden keys that are 0 where one does not."""

    def reading(self, source: Source) -> Scope:
        """Return the scope of a pattern that reads another graph."""
        return replace(self, source=source)

    def showing(self, kept: tuple[Variable, ...]) -> Scope:
        """Return the scope inside a subquery, whose other variables are its own."""
        loose = {variable: key for variable, key in self.loose.items() if variable in kept}
        return replace(self, seen=self.seen & frozenset(kept), bound=self.bound & frozenset(kept), loose=loose)


PatternCompiler: TypeAlias = Callable[[Compilation, Pattern, Scope, Demand], Relation]
"""Compiles a pattern inside another."""


def unit_relation(compilation: Compilation) -> Relation:
    """Return the one solution that binds nothing."""
    name = compilation.let(sql.select(sql.alias(sql.num(1), "one")), "unit")
    return Relation(name, {}, frozenset(), (), Always(), {})


def scope_keys(compilation: Compilation, scope: Scope) -> Relation | None:
    """Return one row without variables for each value of the scope's hidden keys; None where it has none."""
    found = None
    if scope.seed is not None:
        found = replace(scope.seed, layouts={}, certain=frozenset(), names={})
    if isinstance(scope.source, NamedGraphs):
        names = graph_names(compilation, scope.source, None, {})
        found = names if found is None else join(compilation, found, names, {})
    return found


def add_scope_keys(compilation: Compilation, scope: Scope, rows: Relation, demand: Demand) -> Relation:
    """Return rows that come from no graph with the hidden keys of the scope."""
    keys = scope_keys(compilation, scope)
    return rows if keys is None else join(compilation, rows, keys, demand)


def substitute_outer(compilation: Compilation, scope: Scope, rows: Relation, demand: Demand) -> Relation:
    """Return the rows of a leaf that agree with the solutions of an EXISTS around it."""
    if scope.seed is None:
        return rows
    shown = frozenset(rows.layouts) & scope.seen
    return join(compilation, rows, restrict(scope.seed, shown), demand)


def restrict(rows: Relation, kept: frozenset[Variable]) -> Relation:
    """Return the rows with fewer variables in scope."""
    layouts = {variable: layout for variable, layout in rows.layouts.items() if variable in kept}
    return replace(rows, layouts=layouts, certain=rows.certain & kept)

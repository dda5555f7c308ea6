"""Named graphs: static quads beside a list of graph names, so that GRAPH also finds empty graphs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.inputs import StaticInput, StreamInput
from hydrograph.compile.relation import (
    Always,
    Demand,
    EncodedLayout,
    Part,
    Parts,
    Relation,
    TermLayout,
    layout_columns,
    null_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind, encode
from hydrograph.rdf.terms import Iri, Variable


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """One static named graph: the rows of the quads with its name; without a name, one that the query does not see."""

    quads: StaticInput
    name: Iri | None

    def conditions(self) -> list[Sql]:
        """Return the test that a quad belongs to it."""
        return [sql.FALSE.copy() if self.name is None else sql.equal(sql.col("g_id"), sql.num(encode(self.name).id))]


@dataclass(frozen=True, slots=True)
class MergedGraph:
    """Several windows as one graph, with static data if there is some: a triple of two of them is there once (A4)."""

    streams: tuple[StreamInput, ...]
    static: StaticInput | None
    has_static: bool


@dataclass(frozen=True, slots=True)
class NamedGraphs:
    """All static named graphs that a query sees, told apart by a hidden key."""

    quads: StaticInput
    names: StaticInput
    key: str
    only: tuple[Iri, ...] | None = None
    """The graphs of FROM NAMED; None where the query names no graph, and so sees all."""

    def conditions(self) -> list[Sql]:
        """Return the test that a graph is one of those seen."""
        if self.only is None:
            return []
        wanted = [sql.equal(sql.col("g_id"), sql.num(encode(name).id)) for name in self.only]
        return [sql.any_of(wanted)]


def graph_names(compilation: Compilation, graphs: NamedGraphs, variable: Variable | None, demand: Demand) -> Relation:
    """Return the hidden key of every graph, and its name as `variable` where one is given."""
    if graphs.names not in compilation.statics:
        compilation.statics.append(graphs.names)
    columns = [sql.alias(sql.col("g_id"), graphs.key)]
    layouts: dict[Variable, TermLayout] = {}
    if variable is not None:
        layout = layouts[variable] = EncodedLayout(demand.get(variable, frozenset()) | {Part.ID})
        names = layout_columns(compilation.stem(variable), layout)
        columns += [sql.alias(value, name) for name, value in zip(names, _parts(layout.parts), strict=True)]
    query = sql.from_(sql.select(*columns), graphs.names.name).where(*graphs.conditions(), copy=False)
    stems = {known: compilation.stem(known) for known in layouts}
    return Relation(compilation.let(query, "graphs"), layouts, frozenset(layouts), (graphs.key,), Always(), stems)


def _parts(parts: Parts) -> list[Sql]:
    # TriG names graphs with blank nodes too.
    first = sql.call("left", sql.col("g"), exp.Literal.number(1))
    kind = sql.when((sql.equal(first, sql.text("_")), sql.num(Kind.BLANK)), otherwise=sql.num(Kind.IRI))
    values = {
        Part.ID: sql.col("g_id"),
        Part.TEXT: sql.col("g"),
        Part.KIND: sql.cast(kind, "TINYINT"),
    }
    return [values[part].copy() if part in values else null_part(part) for part in Part if part in parts]

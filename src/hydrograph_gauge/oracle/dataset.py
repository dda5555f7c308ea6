"""What an evaluator sees at one report: static graphs, and the windows as graphs (A9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hydrograph.algebra.queries import ContinuousQuery, NamedWindow
from hydrograph.rdf.terms import Iri, Term
from hydrograph.windows.stream import Graph

Row: TypeAlias = tuple[Term | None, ...]
"""One solution in the order of SELECT; None is unbound."""

Answer: TypeAlias = tuple[Row, ...]
"""All solutions in the evaluator's order; ASK gives one row of one boolean."""


@dataclass(frozen=True, slots=True)
class StaticData:
    """The data that does not stream: a default graph and named graphs (S27)."""

    default: Graph = frozenset()
    named: Mapping[Iri, Graph] = field(default_factory=dict)


NO_STATIC = StaticData()


@dataclass(frozen=True, slots=True)
class Dataset:
    """An RDF dataset; empty named graphs exist too, as windows without content do (A9)."""

    default: Graph = frozenset()
    named: tuple[tuple[Iri, Graph], ...] = ()


Evaluator: TypeAlias = Callable[[str, Dataset], Answer]
"""Answers a plain SPARQL query over a dataset."""


def static_names(query: ContinuousQuery, static: StaticData) -> tuple[Iri, ...]:
    """Return the static named graphs a query sees: those it names, or all if it names no graph at all."""
    if query.dataset.default or query.dataset.named:
        return tuple(name for name in query.dataset.named if name in static.named)
    return tuple(static.named)


def dataset_of(query: ContinuousQuery, static: StaticData, contents: Iterable[tuple[NamedWindow, Graph]]) -> Dataset:
    """Return the dataset of one report: a graph for each named window, the others merged into the default one (A4)."""
    default = static.default.union(*(static.named.get(name, frozenset()) for name in query.dataset.default))
    named = [(name, static.named[name]) for name in static_names(query, static)]
    for window, graph in contents:
        if window.name is None:
            default |= graph
        else:
            named.append((window.name, graph))
    return Dataset(default, tuple(named))

"""Streams as sequences of elements (S2): a graph, its event time and its place in the log.

Blank nodes have been scoped to their element already (S4), so a label means the same node everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from hydrograph.rdf.terms import Triple
from hydrograph.temporal import Duration, Instant

Graph: TypeAlias = frozenset[Triple]
"""A graph that a query sees at an instant: a set of triples (S3)."""


@dataclass(frozen=True, slots=True)
class Element:
    """One event `(graph, τ, seq)`; windows never split it."""

    t: Instant
    seq: int
    triples: Graph

    @classmethod
    def of(cls, t: Instant, seq: int, *triples: Triple) -> Element:
        """Return the element that holds these triples."""
        return cls(t, seq, frozenset(triples))


def canonical(elements: Iterable[Element]) -> tuple[Element, ...]:
    """Return the elements in canonical order: by time, then by place in the log (S2).

    >>> [element.seq for element in canonical([Element.of(7, 0), Element.of(3, 2), Element.of(3, 1)])]
    [1, 2, 0]
    """
    return tuple(sorted(elements, key=lambda element: (element.t, element.seq)))


def delayed(elements: Iterable[Element], by: Duration) -> tuple[Element, ...]:
    """Return the same elements, each `by` milliseconds later."""
    return tuple(Element(element.t + by, element.seq, element.triples) for element in elements)


def merged(elements: Iterable[Element]) -> Graph:
    """Return the graph these elements form together: the union of their graphs (S3)."""
    return frozenset[Triple]().union(*(element.triples for element in elements))

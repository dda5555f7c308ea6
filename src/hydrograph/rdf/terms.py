"""RDF terms and statements as frozen records; equality is RDF term identity (S5).

>>> Literal("1", XSD_INTEGER) == Literal("01", XSD_INTEGER)
False
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hydrograph.rdf.vocab import RDF_LANG_STRING, XSD_INTEGER, XSD_STRING

__all__ = [
    "XSD_INTEGER",
    "BlankNode",
    "Iri",
    "Literal",
    "Object",
    "Predicate",
    "Quad",
    "Subject",
    "Term",
    "Triple",
    "Variable",
]


@dataclass(frozen=True, slots=True, order=True)
class Iri:
    """An absolute [IRI](https://www.w3.org/TR/rdf11-concepts/#section-IRIs), without its angle brackets."""

    value: str


@dataclass(frozen=True, slots=True, order=True)
class BlankNode:
    """A [blank node](https://www.w3.org/TR/rdf11-concepts/#section-blank-nodes); the label is without `_:`."""

    label: str


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """A [literal](https://www.w3.org/TR/rdf11-concepts/#section-Graph-Literal).

    A language tag is kept in lower case and implies the datatype `rdf:langString`.
    """

    lexical: str
    datatype: str = XSD_STRING
    language: str | None = None

    @classmethod
    def tagged(cls, lexical: str, language: str) -> Literal:
        """Return a language-tagged string.

        >>> Literal.tagged("chat", "FR").language
        'fr'
        """
        return cls(lexical, RDF_LANG_STRING, language.lower())


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A query variable; the name is without `?` or `$`."""

    name: str


Term: TypeAlias = Iri | BlankNode | Literal
Subject: TypeAlias = Iri | BlankNode
Predicate: TypeAlias = Iri
Object: TypeAlias = Iri | BlankNode | Literal


@dataclass(frozen=True, slots=True)
class Triple:
    """A statement of a graph."""

    subject: Subject
    predicate: Predicate
    object: Object


@dataclass(frozen=True, slots=True)
class Quad:
    """A statement of a dataset; `graph` is None in the default graph."""

    subject: Subject
    predicate: Predicate
    object: Object
    graph: Subject | None = None

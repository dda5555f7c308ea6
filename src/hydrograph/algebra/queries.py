"""A continuous query: what is asked, over which windows, and which stream the answers form."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from hydrograph.algebra.nodes import Pattern, TemplateTerm
from hydrograph.algebra.windows import WindowDefinition
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.temporal import Duration


class StreamOperator(Enum):
    """Relation to stream (S29)."""

    RSTREAM = "rstream"
    ISTREAM = "istream"
    DSTREAM = "dstream"


@dataclass(frozen=True, slots=True)
class NamedWindow:
    """`FROM NAMED WINDOW name ON stream [definition]`; an unnamed window feeds the default graph (A9)."""

    name: Iri | None
    stream: Iri
    definition: WindowDefinition


@dataclass(frozen=True, slots=True)
class Dataset:
    """The static graphs a query names; nothing is ever fetched, the user binds them."""

    default: tuple[Iri, ...] = ()
    named: tuple[Iri, ...] = ()


@dataclass(frozen=True, slots=True)
class Select:
    """SELECT: solutions with these variables, in this order."""

    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """ASK: one boolean."""


@dataclass(frozen=True, slots=True)
class TemplateTriple:
    """One triple of a CONSTRUCT template; `graph` if it is in a GRAPH block."""

    subject: TemplateTerm
    predicate: Iri | Variable
    object: TemplateTerm
    graph: Iri | Variable | None = None


@dataclass(frozen=True, slots=True)
class Construct:
    """CONSTRUCT: the triples of a template for each solution."""

    template: tuple[TemplateTriple, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE: the concise bounded description of each resource (A13)."""

    resources: tuple[Iri | Variable, ...]


Form: TypeAlias = Select | Ask | Construct | Describe


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """A query as its text means it, before the profile of an engine (report, tick, t0) is applied."""

    form: Form
    pattern: Pattern
    windows: tuple[NamedWindow, ...] = ()
    dataset: Dataset = Dataset()
    operator: StreamOperator | None = None
    """None if the text names no operator: the profile of the dialect decides."""
    name: str | None = None
    """The name or IRI given in REGISTER."""
    every: Duration | None = None
    """COMPUTED EVERY: reports come at this period instead of at the closes of windows (S13)."""
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """The prefixes of the text, for printing only."""

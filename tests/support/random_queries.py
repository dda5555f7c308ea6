"""Random continuous queries, as records of the algebra: always valid by SPARQL's rules of scope."""

from __future__ import annotations

from random import Random

from hydrograph.algebra.nodes import Distinct, Group, Pattern, Project, Slice
from hydrograph.algebra.queries import ContinuousQuery, NamedWindow, Select, StreamOperator
from hydrograph.algebra.walk import subpatterns
from hydrograph.rdf.terms import Iri, Variable
from hydrograph_gauge.oracle.prepare import rewrite
from tests.support.random_basic import Writer
from tests.support.random_data import BASIC, NAMESPACE, Features, random_window
from tests.support.random_patterns import DeepWriter

STREAMS = tuple(Iri(f"{NAMESPACE}stream{number}") for number in range(2))
WINDOWS = tuple(Iri(f"{NAMESPACE}w{number}") for number in range(2))


def random_query(rng: Random, features: Features = BASIC) -> ContinuousQuery:
    """Draw an RSP-QL query over one window, or over two windows of one grid."""
    definition = random_window(rng, counts=features.counts)
    names = WINDOWS[: rng.choice((1, 1, features.windows))]
    windows = tuple(NamedWindow(name, rng.choice(STREAMS), definition) for name in names)
    writer = (DeepWriter if features.depth else Writer)(rng, features, names)
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

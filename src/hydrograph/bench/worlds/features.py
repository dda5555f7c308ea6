"""The worked examples of the Stream WatDiv thesis: what `hydrograph features` says of them, to the last fraction."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from hydrograph.bench.features.selectivity import Conjunction, Selectivities, StaticUnit, selectivities
from hydrograph.bench.features.structure import Structure, structure
from hydrograph.bench.worlds.checks import Check
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple, Variable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TREE = "?x :p1 ?a . ?x :p2 ?b . ?x :p3 ?c . ?x :p4 ?y . ?y :p5 ?z . ?u :p6 ?z . ?w :p7 ?z"
_SUBSCRIBERS = "?c :homepage ?d . ?b :subscribes ?c . ?b :location ?a"
_GRAPH = frozenset(
    Triple(Iri(f"urn:{s}"), Iri(f"urn:{p}"), Iri(f"urn:{o}"))
    for s, p, o in (
        *(("W1", "homepage", "P2"), ("W2", "homepage", "P3"), ("W3", "homepage", "P1"), ("W4", "homepage", "P4")),
        *(("U1", "subscribes", "W2"), ("U2", "subscribes", "W1"), ("U3", "subscribes", "W3")),
        *(("U1", "location", "City1"), ("U2", "location", "City2")),
    )
)
"""Data that give all published values: the figure itself was not to be had as text."""
_HYBRID = """PREFIX : <urn:> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 5s STEP 1s]
WHERE { WINDOW :w { ?a :t1 ?b . ?c :t4 ?e } ?b :t2 ?c . ?c :t3 ?d . ?e :t5 ?f . ?f :t6 ?g }"""


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield the comparison of figures 2.1, 2.2 to 2.6 and 3.1 with ours; `spark` is not used."""
    del spark
    yield tree(structure(parse(_plain(_TREE))))
    yield fractions(selectivities(Conjunction.of(parse(_plain(_SUBSCRIBERS))), _GRAPH))
    yield units(Conjunction.of(parse(_HYBRID)))


def tree(found: Structure) -> Check:
    """Return whether figure 2.1 has its patterns and join vertices."""
    vertices = [(vertex.degree, *sorted(str(type_) for type_ in vertex.types)) for vertex in found.vertices]
    said = f"{found.patterns} patterns, join vertices {', '.join(' '.join(map(str, one)) for one in vertices)}"
    right = (found.patterns, vertices) == (7, [(4, "SS+"), (2, "SO+"), (3, "OO+")])
    return Check("features: figure 2.1", right, said)


def fractions(found: Selectivities) -> Check:
    """Return whether figures 2.2 to 2.6 have their cardinality and selectivities."""
    b, c = Variable("b"), Variable("c")
    right = (
        found.cardinality == 2
        and found.patterns == (Fraction(4, 9), Fraction(3, 9), Fraction(2, 9))
        and found.restricted == (Fraction(1, 2), Fraction(2, 3), Fraction(1))
        and found.joined == ({c: Fraction(3, 4)}, {c: Fraction(1), b: Fraction(2, 3)}, {b: Fraction(1)})
    )
    said = (
        f"cardinality {found.cardinality}, homepage {found.patterns[0]} of the graph, "
        f"{found.restricted[0]} in answers, {found.joined[0].get(c)} joined"
    )
    return Check("features: figures 2.2 to 2.6", right, said)


def units(found: Conjunction) -> Check:
    """Return whether the static patterns of figure 3.1 count as two components."""
    sizes = {unit: sorted(len(one) for one in found.units(unit)) for unit in StaticUnit}
    right = sizes == {StaticUnit.PATTERN: [1] * 6, StaticUnit.COMPONENT: [1, 1, 2, 2]}
    said = f"{len(sizes[StaticUnit.PATTERN])} patterns in units of {sizes[StaticUnit.COMPONENT]}"
    return Check("features: figure 3.1", right, said)


def _plain(patterns: str) -> str:
    return f"PREFIX : <urn:> SELECT * WHERE {{ {patterns} }}"

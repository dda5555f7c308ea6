"""Constants found by asking: a query is run with its constants as variables, and their commonest values are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from hydrograph.algebra.nodes import Bgp, Distinct, Pattern, PatternTerm, Project, TriplePattern
from hydrograph.algebra.queries import ContinuousQuery, Select
from hydrograph.algebra.walk import everywhere
from hydrograph.api import Query
from hydrograph.errors import DataError
from hydrograph.language import DIALECTS, parse
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.temporal import MINUTE
from hydrograph.windows.profile import preset
from hydrograph_gauge.worlds.manifest import WorldManifest
from hydrograph_gauge.worlds.queries.load import SOURCE, SetQuery
from hydrograph_gauge.worlds.queries.places import static_graphs, streams_of

LOOK = MINUTE
"""So much of the stream is looked at, in event time."""


def asked_constants(queries: Iterable[SetQuery], directory: Path, manifest: WorldManifest) -> dict[str, str]:
    """Return for the constants of each query, which are IRIs, those with which it has the most answers.

    Where it has none with any, they are such as stand in their patterns at all.
    """
    found: dict[str, str] = {}
    for query in queries:
        if query.about.constants:
            values = next(filter(None, _choices(query, directory, manifest)), None)
            if values is None:
                raise DataError(f"{directory}: nothing stands at the place of {', '.join(query.about.constants)}")
            found |= values
    return found


def _choices(query: SetQuery, directory: Path, manifest: WorldManifest) -> Iterator[dict[str, str]]:
    """Yield the commonest constants of the whole query, then of those patterns alone that have them.

    Published ones stay where there are answers with them, and where there are none with any.
    """
    names, usual = query.about.constants, query.about.usual
    yield _commonest(query, names, directory, manifest, alone=False)
    found = dict(usual)
    for name in (one for one in names if one not in usual):
        found |= _commonest(query, (name,), directory, manifest, alone=True)
    yield found if len(found) == len(names) else {}


def _commonest(
    query: SetQuery, names: tuple[str, ...], directory: Path, manifest: WorldManifest, *, alone: bool
) -> dict[str, str]:
    stands = {name: f"urn:constant:{name}" for name in query.about.constants}
    asked = Query(_opened(parse(query.text(stands)), stands, names, alone=alone), preset(DIALECTS[SOURCE].preset))
    first = min(manifest.streams[name].first or 0 for name in query.about.streams)
    counted: Counter[tuple[str | None, ...]] = Counter()
    streams, static = streams_of(query, directory), static_graphs(directory)
    with asked.over(streams, static, placement="local", until=first + LOOK) as run:
        for report in run.reports():
            counted.update(report.rows)
    return chosen(counted, names, query.about.usual)


def chosen(
    counted: Counter[tuple[str | None, ...]], names: tuple[str, ...], usual: Mapping[str, str]
) -> dict[str, str]:
    """Return the commonest of the counted values, by name: of those with the usual ones, if there are any.

    >>> found = Counter({("<urn:a>", "<urn:1>"): 5, ("<urn:b>", "<urn:2>"): 3, ("<urn:c>", "<urn:2>"): 1})
    >>> chosen(found, ("X", "Y"), {"Y": "urn:2"})
    {'X': 'urn:b', 'Y': 'urn:2'}
    """
    values = [
        ({name: (text or "")[1:-1] for name, text in zip(names, row, strict=True)}, n) for row, n in counted.items()
    ]
    kept = [one for one in values if all(one[0][name] == usual[name] for name in names if name in usual)]
    return min(kept or values, key=lambda one: (-one[1], *one[0].values()), default=({}, 0))[0]


def _opened(query: ContinuousQuery, stands: dict[str, str], names: tuple[str, ...], *, alone: bool) -> ContinuousQuery:
    """Return the query with variables for what stands for its constants, and only those of `names` as columns."""
    variables: dict[PatternTerm, Variable] = {Iri(stand): Variable(name) for name, stand in stands.items()}
    columns = tuple(Variable(name) for name in names)

    def opened(node: Pattern) -> Pattern:
        if not isinstance(node, Bgp):
            return node
        triples = [
            replace(one, subject=variables.get(one.subject, one.subject), object=variables.get(one.object, one.object))
            for one in node.patterns
        ]
        return Bgp(tuple(one for one in triples if not alone or _has(one, columns)))

    assert isinstance(query.pattern, Project), "the queries of the sets are SELECTs of columns"
    inner = everywhere(query.pattern.inner, opened)
    project = Project(inner, columns)
    return replace(query, form=Select(columns), pattern=Distinct(project) if alone else project)


def _has(triple: TriplePattern, columns: tuple[Variable, ...]) -> bool:
    return triple.subject in columns or triple.object in columns

"""Constants of the queries, chosen from a generated world so that the queries have answers.

A published constant is kept if the query has answers with it. The constants of WatDiv's templates are found by running
a query with variables in place of its constants, and taking the most frequent values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from hydrograph.algebra.nodes import Bgp, Distinct, Pattern, PatternTerm, Project, TriplePattern
from hydrograph.algebra.queries import ContinuousQuery, Select
from hydrograph.algebra.walk import everywhere
from hydrograph.api import Query
from hydrograph.errors import DataError
from hydrograph.language import DIALECTS, parse
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.temporal import MINUTE
from hydrograph.windows.profile import preset
from hydrograph_gauge.queries.query_sets import (
    SOURCE,
    SetQuery,
    locate_static_graphs,
    locate_streams,
    read_query_set,
    read_set_description,
)
from hydrograph_gauge.worlds.manifest import ManifestPart, WorldManifest
from hydrograph_gauge.worlds.sensors.settings import OM_OWL, SSW
from hydrograph_gauge.worlds.sensors.static import WGS84
from hydrograph_gauge.worlds.social.triples import FOAF, NAMES, SIOC

LOOK = MINUTE
"""Length of the part of the stream that is searched, in event time."""


def find_commonest_constants(queries: Iterable[SetQuery], directory: Path, manifest: WorldManifest) -> dict[str, str]:
    """Return the IRIs with which each query has the most answers, by constant.

    If a query has no answers with any, each constant at least matches its own patterns.
    """
    found: dict[str, str] = {}
    for query in queries:
        if query.about.constants:
            values = next(filter(None, _choices(query, directory, manifest)), None)
            if values is None:
                raise DataError(f"{directory}: no data matches the constants {', '.join(query.about.constants)}")
            found |= values
    return found


def _choices(query: SetQuery, directory: Path, manifest: WorldManifest) -> Iterator[dict[str, str]]:
    """Yield the commonest constants of the whole query, then of the patterns that contain them.

    Published constants are kept if the query has answers with them, or no answers at all.
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
    iris = {name: f"urn:constant:{name}" for name in query.about.constants}
    opened = _open_constants(parse(query.text(iris)), iris, names, alone=alone)
    first = min(manifest.streams[name].first or 0 for name in query.about.streams)
    counted: Counter[tuple[str | None, ...]] = Counter()
    streams, static = locate_streams(query, directory), locate_static_graphs(directory)
    profile = preset(DIALECTS[SOURCE].preset)
    with Query(opened, profile).over(streams, static, placement="local", until=first + LOOK) as run:
        for report in run.reports():
            counted.update(report.rows)
    return pick_commonest(counted, names, query.about.usual)


def pick_commonest(
    counted: Counter[tuple[str | None, ...]], names: tuple[str, ...], usual: Mapping[str, str]
) -> dict[str, str]:
    """Return the commonest values by name, preferring rows that have the usual ones.

    >>> found = Counter({("<urn:a>", "<urn:1>"): 5, ("<urn:b>", "<urn:2>"): 3, ("<urn:c>", "<urn:2>"): 1})
    >>> pick_commonest(found, ("X", "Y"), {"Y": "urn:2"})
    {'X': 'urn:b', 'Y': 'urn:2'}
    """
    values = [
        ({name: (text or "")[1:-1] for name, text in zip(names, row, strict=True)}, n) for row, n in counted.items()
    ]
    kept = [one for one in values if all(one[0][name] == usual[name] for name in names if name in usual)]
    return min(kept or values, key=lambda one: (-one[1], *one[0].values()), default=({}, 0))[0]


def _open_constants(
    query: ContinuousQuery, iris: dict[str, str], names: tuple[str, ...], *, alone: bool
) -> ContinuousQuery:
    """Return the query with variables in place of the constants' IRIs, and with those of `names` as columns."""
    variables: dict[PatternTerm, Variable] = {Iri(iri): Variable(name) for name, iri in iris.items()}
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


DISTANCE = "0.5"
"""Degrees within which a photo is near: people live within a tenth of a degree of a place, and photos show places."""

_BUSY = """
WITH posts AS (SELECT s AS author, count(*) AS n FROM read_parquet($posts) WHERE p = $creator_of GROUP BY s),
friends AS (
    SELECT k.s AS author, sum(f.n) AS n FROM read_parquet($static) AS k JOIN posts AS f ON f.author = k.o
    WHERE k.p = $knows GROUP BY k.s
)
SELECT p.author FROM posts AS p JOIN friends AS f USING (author) ORDER BY least(p.n, f.n) DESC, p.author LIMIT 1
"""


def choose_constants(name: str, directory: Path) -> dict[str, str]:
    """Return the constants of the set `name` for a generated world; a set without constants has none."""
    return dict(_CHOSEN[name](directory)) if name in _CHOSEN else {}


def choose_lsbench_constants(directory: Path) -> dict[str, str]:
    """Return the constants of LSBench for a generated social network: a user who posts, with friends who post."""
    manifest = _manifest(directory, "lsbench")
    if manifest.static is None:
        raise DataError(f"{directory}: expected static data, got none")
    found = duckdb.execute(
        _BUSY,
        {
            "posts": _files(directory, manifest.streams["posts"]),
            "static": _files(directory, manifest.static),
            "creator_of": f"<{SIOC}creator_of>",
            "knows": f"<{FOAF}knows>",
        },
    ).fetchone()
    if found is None:
        raise DataError(f"{directory}: no user posts and has friends who post: generate more users")
    user = found[0][1:-1]
    number = user.removeprefix(NAMES["user"])
    return {"USER": user, "PERSON": f"{NAMES['person']}{number}", "DISTANCE": DISTANCE}


def _files(directory: Path, part: ManifestPart) -> list[str]:
    return [str(directory / part.path / name) for name in part.files]


def _manifest(directory: Path, name: str) -> WorldManifest:
    """Return the manifest of a world that a set can be asked of."""
    manifest, wanted = WorldManifest.read(directory), read_set_description(name).world
    if manifest.world != wanted:
        raise DataError(f"{directory}: expected a world of the kind {wanted}, got {manifest.world}")
    return manifest


def choose_csrbench_constants(directory: Path) -> dict[str, str]:
    """Return thresholds, and the sensor with the lowest air temperature: all others are warmer."""
    found = _Observed(directory, "csrbench")
    low, high = found.between("RelativeHumidity", 24, 49)
    return {
        "TEMP": found.below("AirTemperature", 80, 0.9),
        "WARM": found.below("AirTemperature", 75, 0.5),
        "LOW": low,
        "HIGH": high,
        "SENSOR": found.coldest(),
    }


def choose_yabench_constants(directory: Path) -> dict[str, str]:
    """Return the thresholds of the experiments."""
    return {"TEMP": _Observed(directory, "yabench").below("AirTemperature", 50, 0.5), "VARIATION": "0.0"}


_POINT = """
SELECT a.o, b.o FROM read_parquet($static) AS a JOIN read_parquet($static) AS b ON a.s = b.s
WHERE a.p = $latitude AND b.p = $longitude ORDER BY a.s LIMIT 1
"""


def choose_srbench_constants(directory: Path) -> dict[str, str]:
    """Return the location of the first station; every station observes everything."""
    manifest = _manifest(directory, "srbench")
    if manifest.static is None:
        raise DataError(f"{directory}: expected static data, got none: generate the world with --static")
    names = {"latitude": f"<{WGS84}lat>", "longitude": f"<{WGS84}long>"}
    row = duckdb.execute(_POINT, {"static": _files(directory, manifest.static), **names}).fetchone()
    assert row is not None, "a world has stations"
    latitude, longitude = (_number(text) for text in row)
    return {"LATITUDE": latitude, "LONGITUDE": longitude}


def choose_watdiv_constants(directory: Path) -> dict[str, str]:
    """Return the entities with which the templates have the most answers, found by asking without them."""
    return find_commonest_constants(read_query_set("watdiv"), directory, _manifest(directory, "watdiv"))


_CHOSEN: Mapping[str, Callable[[Path], dict[str, str]]] = {
    "lsbench": choose_lsbench_constants,
    "csrbench": choose_csrbench_constants,
    "yabench": choose_yabench_constants,
    "srbench": choose_srbench_constants,
    "watdiv": choose_watdiv_constants,
}


class _Observed:
    """What the stations of a world observed."""

    def __init__(self, directory: Path, name: str) -> None:
        manifest = _manifest(directory, name)
        self.directory, self.files = directory, _files(directory, manifest.streams["sensors"])

    def below(self, observed: str, published: float, share: float) -> str:
        """Return the published bound if a value is above it, else one that a share of the values does not exceed."""
        sql = """SELECT max(o_num), least(quantile_disc(o_num, $share), max(o_num) - 1)
        FROM read_parquet($files) WHERE p = $p AND s LIKE $s"""
        most, bound = self._ask(sql, observed, share=share)
        return str(published if most > published else bound)

    def between(self, observed: str, low: float, high: float) -> tuple[str, str]:
        """Return the published bounds if a value is strictly between them, else some around the middle half."""
        sql = """SELECT count(*) FILTER (o_num > $low AND o_num < $high), quantile_disc(o_num, 0.25) - 1,
        quantile_disc(o_num, 0.75) + 1 FROM read_parquet($files) WHERE p = $p AND s LIKE $s"""
        inside, first, last = self._ask(sql, observed, low=low, high=high)
        return (str(low), str(high)) if inside else (str(first), str(last))

    def coldest(self) -> str:
        """Return the IRI of the sensor with the lowest air temperature."""
        sql = "SELECT s FROM read_parquet($files) WHERE p = $p AND s LIKE $s ORDER BY o_num, s LIMIT 1"
        (measure,) = self._ask(sql, "AirTemperature")
        station = measure.removeprefix(f"<{SSW}MeasureData_AirTemperature_").partition("_")[0]
        return f"{SSW}System_{station}"

    def _ask(self, sql: str, observed: str, **bounds: float) -> tuple[Any, ...]:
        given = {"files": self.files, "p": f"<{OM_OWL}floatValue>", "s": f"<{SSW}MeasureData#_{observed}#_%", **bounds}
        row = duckdb.execute(sql.replace("LIKE $s", "LIKE $s ESCAPE '#'"), given).fetchone()
        if row is None or row[0] is None:
            raise DataError(f"{self.directory}: no station observes {observed}: generate with --properties {observed}")
        return row


def _number(text: str) -> str:
    """Return the number of a literal as queries write it."""
    term = decode(text)
    assert isinstance(term, Literal), text
    return term.lexical

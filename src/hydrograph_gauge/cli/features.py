"""Command `hydrograph features`: the structure of queries and, given data, their cardinality and selectivities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import click

from hydrograph.cli.options import read_query
from hydrograph.language import dialect_of, parse
from hydrograph_gauge.features import conditions as wanted
from hydrograph_gauge.features.conditions import fulfil_all, read_conditions
from hydrograph_gauge.features.printing import (
    QueryFeatures,
    describe_features,
    format_features,
    format_patterns,
    list_units,
)
from hydrograph_gauge.features.selectivity import Conjunction, StaticUnit, explain_undefined
from hydrograph_gauge.features.structure import find_structure


@click.command(name="features")
@click.argument("files", nargs=-1, required=True, metavar="QUERY…")
@click.option("--dialect", metavar="NAME", help="The queries' language; detected from each text by default.")
@click.option("--stream", "streams", multiple=True, metavar="[IRI=]PATH", help="A recorded stream to measure on.")
@click.option("--static", "static", multiple=True, metavar="[IRI=]PATH", help="Static data to measure on.")
@click.option(
    "--static-unit",
    type=click.Choice([unit.value for unit in StaticUnit]),
    default=StaticUnit.PATTERN.value,
    show_default=True,
    help="Unit of averages over static patterns.",
)
@click.option("--windows", type=click.IntRange(1), metavar="N", help="Measure only the first N windows.")
@click.option(
    "--each", is_flag=True, help="Show every window and pattern, not only means over the run; JSON always has them."
)
@click.option(
    "--where",
    metavar="CONDITIONS",
    help="Show only queries that fulfil these, such as 'shape = star, cardinality > 900'.",
)
@click.option(
    "--like", metavar="QUERY", help="Show only queries with structure and number of answers similar to this one."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each query instead of text.")
def command(
    *,
    files: tuple[str, ...],
    dialect: str | None,
    streams: tuple[str, ...],
    static: tuple[str, ...],
    static_unit: str,
    windows: int | None,
    each: bool,
    where: str | None,
    like: str | None,
    as_json: bool,
) -> None:
    """Show the structure of each QUERY; with data also cardinality and selectivities, by window and over a run.

    Queries without windows are measured on static data alone.
    """
    by_component = StaticUnit(static_unit) is StaticUnit.COMPONENT

    def features(file: str) -> QueryFeatures:
        text = read_query(None, file)
        language = dialect_of(text, dialect).name
        algebra = parse(text, language)
        found = QueryFeatures(find_structure(algebra), units=list_units(algebra) if by_component else ())
        if not streams and not static:
            return found
        return _measured(found, text, language, streams, static, StaticUnit(static_unit), windows)

    conditions = read_conditions(where) if where else ()
    if like:
        model = features(like)
        conditions = (*conditions, *wanted.derive_conditions(model.structure, model.run))
    for file in files:
        found = features(file)
        if not _wanted(conditions, found):
            continue
        if as_json:
            click.echo(json.dumps({"query": file, **describe_features(found)}, ensure_ascii=False))
        else:
            click.echo("\n".join([file, *(f"  {line}" for line in format_features(found, each=each))]))


def _wanted(conditions: Sequence[wanted.FeatureCondition], found: QueryFeatures) -> bool:
    run = found.run
    return fulfil_all(conditions, found.structure, None if run is None else lambda: run)


def _measured(
    found: QueryFeatures,
    text: str,
    dialect: str,
    streams: tuple[str, ...],
    static: tuple[str, ...],
    unit: StaticUnit,
    most: int | None,
) -> QueryFeatures:
    """Return the features with those of each window; modules that read data are imported here, only when needed."""
    from hydrograph.api import query as query_of
    from hydrograph.cli.options import recorded_streams, static_graphs
    from hydrograph.rdf.terms import Iri
    from hydrograph_gauge.features.measurement import measure_windows
    from hydrograph_gauge.oracle.dataset import StaticData, elements_of, graph_of

    query = query_of(text, dialect=dialect)
    if not query.algebra.windows and not static:
        return found
    # A query without windows reads no stream; others of the same call may.
    given = recorded_streams(query, streams, "fail") if query.algebra.windows else {}
    elements = {Iri(name): elements_of(stream) for name, stream in given.items()}
    graphs = static_graphs(static)
    default = frozenset() if graphs.default is None else graph_of(graphs.default)
    # Names are canonical texts, with brackets.
    named = {Iri(name.strip("<>")): graph_of(table) for name, table in (graphs.named or {}).items()}
    data = StaticData(default, named)
    values = tuple(measure_windows(query.algebra, elements, data, query.profile, unit=unit, most=most))
    if why := explain_undefined(query.algebra):
        return replace(found, windows=values, undefined=why)
    return replace(found, windows=values, patterns=format_patterns(Conjunction.of(query.algebra)))

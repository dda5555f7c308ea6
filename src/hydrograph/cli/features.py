"""`hydrograph features`: what makes queries hard, from their texts and, where data is given, from the data."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from hydrograph.bench.features import wanted
from hydrograph.bench.features.selectivity import Measured, Spread, StaticUnit, over_the_run
from hydrograph.bench.features.structure import Structure, structure
from hydrograph.bench.features.wanted import fulfils, read_conditions
from hydrograph.cli.texts import query_text
from hydrograph.language import dialect_of, parse
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Variable


@click.command(name="features")
@click.argument("files", nargs=-1, required=True, metavar="QUERY…")
@click.option("--dialect", metavar="NAME", help="The queries' language; by default each text tells.")
@click.option("--stream", "streams", multiple=True, metavar="[IRI=]PATH", help="A recorded stream to measure on.")
@click.option("--static", "static", multiple=True, metavar="[IRI=]PATH", help="Static data to measure on.")
@click.option(
    "--static-unit",
    type=click.Choice([unit.value for unit in StaticUnit]),
    default=StaticUnit.PATTERN.value,
    show_default=True,
    help="What counts once when static patterns are averaged.",
)
@click.option("--windows", type=click.IntRange(1), metavar="N", help="Measure only the first N windows.")
@click.option("--where", metavar="CONDITIONS", help="Show only queries such as 'shape = star, cardinality > 900'.")
@click.option("--like", metavar="QUERY", help="Show only queries like this one, in structure and number of answers.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each query instead of text.")
def command(
    *,
    files: tuple[str, ...],
    dialect: str | None,
    streams: tuple[str, ...],
    static: tuple[str, ...],
    static_unit: str,
    windows: int | None,
    where: str | None,
    like: str | None,
    as_json: bool,
) -> None:
    """Show the structure of each QUERY; with --stream also cardinality and selectivities, by window and over a run."""

    def features(file: str) -> tuple[Structure, list[tuple[int, Measured]]]:
        text = query_text(None, file)
        language = dialect_of(text, dialect).name
        found = structure(parse(text, language))
        return found, _measured(text, language, streams, static, StaticUnit(static_unit), windows) if streams else []

    conditions = read_conditions(where) if where else ()
    if like:
        found, values = features(like)
        conditions = (*conditions, *wanted.like(found, _run(values)))
    for file in files:
        found, values = features(file)
        run = _run(values)
        if not fulfils(conditions, found, None if run is None else partial(over_the_run, [run])):
            continue
        if as_json:
            click.echo(json.dumps({"query": file, **_object(found, values)}, ensure_ascii=False))
        else:
            click.echo("\n".join([file, *(f"  {line}" for line in _lines(found, values))]))


def _run(values: list[tuple[int, Measured]]) -> Measured | None:
    return over_the_run([value for _, value in values]) if values else None


def _measured(
    text: str, dialect: str, streams: tuple[str, ...], static: tuple[str, ...], unit: StaticUnit, most: int | None
) -> list[tuple[int, Measured]]:
    """Return the features of each window; loads what reads data only now."""
    from hydrograph.api import query as query_of
    from hydrograph.bench.features.windows import by_window
    from hydrograph.bench.oracle.recorded import elements_of, graph_of
    from hydrograph.cli.inputs import static_of, streams_of
    from hydrograph.rdf.terms import Iri

    query = query_of(text, dialect=dialect)
    elements = {Iri(name): elements_of(stream) for name, stream in streams_of(query, streams, "fail").items()}
    triples = frozenset(triple for table in static_of(static).tables for triple in graph_of(table))
    return list(by_window(query.algebra, elements, triples, query.profile, unit=unit, most=most))


def _object(found: Structure, values: list[tuple[int, Measured]]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": found.kind,
        "patterns": found.patterns,
        "streaming": found.streaming,
        "streams": found.streams,
        "shape": found.shape,
        "classes": found.classes,
        "vertices": [
            {"term": _shown(vertex.term), "degree": vertex.degree, "types": sorted(vertex.types)}
            for vertex in found.vertices
        ],
    }
    if values:
        shown["run"] = asdict(over_the_run([value for _, value in values]))
        shown["windows"] = [{"t": t, **asdict(value)} for t, value in values]
    return shown


def _shown(term: Any) -> str:
    return f"?{term.name}" if isinstance(term, Variable) else term_text(term)


def _lines(found: Structure, values: list[tuple[int, Measured]]) -> list[str]:
    lines = [
        f"{found.kind}, {found.shape}: {_counted(found.patterns, 'pattern')}, {_counted(found.streams, 'stream')}",
        f"classes: {', '.join(found.classes) or 'none'}",
    ]
    lines += [
        f"join vertex {_shown(vertex.term)}: degree {vertex.degree}, {', '.join(sorted(vertex.types))}"
        for vertex in found.vertices
    ]
    if values:
        run = over_the_run([value for _, value in values])
        lines += [
            f"over {_counted(len(values), 'window')}, means (deviation over the patterns)",
            f"  result cardinality {run.cardinality:.1f}",
            f"  f-TP selectivity   {_spread(run.patterns)}",
            f"  BGP-restricted     {_spread(run.restricted)}",
            f"  join-restricted    {_spread(run.joined)}",
        ]
    return lines


def _spread(spread: Spread) -> str:
    return f"{spread.mean:.4f} ({spread.deviation:.4f})"


def _counted(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"

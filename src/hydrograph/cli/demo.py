"""`hydrograph demo`: real queries on a small recorded stream, checked against the oracle, windows printed."""

from __future__ import annotations

from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from hydrograph import api
from hydrograph.bench.oracle.compare import compare_reports
from hydrograph.bench.oracle.dataset import StaticData
from hydrograph.bench.oracle.evaluate import Report as Expected
from hydrograph.bench.oracle.evaluate import expected
from hydrograph.bench.oracle.recorded import elements_of, graph_of
from hydrograph.errors import MismatchError
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.runtime.reports import Report
from hydrograph.streams.sources import open_stream
from hydrograph.streams.static import read_static

QUERIES = ("meet", "mean", "hot")
_STREAM = Iri("http://example.org/building")
_SHOWN = 3  # reports of each query that are printed


@click.command(name="demo")
@click.option("--placement", default="spark", type=click.Choice(["spark", "local"]), show_default=True)
def command(placement: str) -> None:
    """Run three queries on a small recorded stream, check every report with the oracle, print some windows."""
    console = Console(highlight=False)
    with as_file(files("hydrograph.bench.workloads") / "rooms") as rooms:
        reports = sum(_demonstrate(console, rooms, name, placement) for name in QUERIES)
    console.print(f"demo: {len(QUERIES)} queries on {placement}, {reports} reports, all equal to the oracle's")


def _demonstrate(console: Console, rooms: Path, name: str, placement: str) -> int:
    """Run one query, print the start of its answers and return how many reports were checked."""
    text = (rooms / f"{name}.rq").read_text("utf-8")
    query = api.query(text)
    stream = open_stream(str(rooms / "building.tnt"), name=_STREAM.value)
    static = read_static(str(rooms / "building.nt"))
    with query.over({_STREAM.value: stream}, static, placement=placement) as run:
        reports = list(run.reports())
    console.print(text.strip(), style="dim", soft_wrap=True)
    for report in reports[:_SHOWN]:
        console.print(f"window [{report.open}, {report.close})", style="bold")
        console.print(_table(report))
    console.print(f"… {len(reports) - _SHOWN} more reports\n")
    wanted = expected(query.algebra, {_STREAM: elements_of(stream)}, StaticData(graph_of(static)))
    got = [Expected(r.t, r.open, r.close, Counter(r.terms())) for r in reports]
    if differences := compare_reports(wanted, got):
        raise MismatchError(f"query {name} differs from the oracle; first: {differences[0]}")
    return len(reports)


def _table(report: Report) -> Table:
    table = Table()
    for variable in report.variables:
        table.add_column(f"?{variable}")
    for row in report.rows:
        table.add_row(*["" if text is None else _short(text) for text in row])
    if not report.rows:
        table.add_row(*["-" for _ in report.variables])
    return table


def _short(text: str) -> str:
    match decode(text):
        case Iri(value):
            return ":" + value.rpartition("/")[2]
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return lexical

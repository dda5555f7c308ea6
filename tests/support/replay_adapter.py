"""Hydrograph's replay as an engine under test: oracle cases in memory, one by one or many streams in one plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from hydrograph.compile.inputs import Chunking
from hydrograph.compile.output_queries import by_report
from hydrograph.compile.program import Program
from hydrograph.rdf.encoding import EVENT_COLUMNS, TRIPLE_COLUMNS, encode
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_FLOAT
from hydrograph.runtime import report_ranks as replay
from hydrograph.runtime.placement.local import Local, as_columns
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import Facts, Plan, plan
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.runtime.reports import Report, Row, rows_of
from hydrograph.streams.schema import EVENTS, TRIPLES
from hydrograph.windows.report import Held, Range
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.evaluate import Report as Expected
from tests.support.random_cases import Case

_INEXACT = (XSD_FLOAT, XSD_DOUBLE)
CASE = "case_number"
"""The hidden key that keeps many streams apart in one plan."""


def encode_triples(triples: Iterable[Triple]) -> pa.Table:
    """Return a static graph in the encoded schema."""
    return _table((_columns(triple) for triple in triples), TRIPLES)


def encode_elements(elements: Iterable[Element]) -> pa.Table:
    """Return a stream in the encoded schema, without the times of next arrivals."""
    rows = ((e.t, e.seq, None, *_columns(triple)) for e in elements for triple in e.triples)
    return _table(rows, EVENTS)


def _columns(triple: Triple) -> tuple[object, ...]:
    s, p, o = encode(triple.subject), encode(triple.predicate), encode(triple.object)
    return s.text, p.text, o.text, s.id, p.id, o.id, int(o.kind), o.num, o.dec


def _table(rows: Iterable[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema)


def case_plan(case: Case) -> Plan:
    """Return the plan of a case's query."""
    return plan(case.query, case.profile, case.t0)


def case_ranks(planned: Plan, elements: Mapping[Iri, Sequence[Element]], case: Case) -> ReportRanks:
    """Return the reports of a case: by default from the first window that holds an event to the last (A1)."""
    held: dict[Iri, Held] = {}
    for window in planned.query.windows:
        assert window.name is not None
        grid = planned.windows[window.name]
        times = [e.t for e in elements[window.stream] if grid.ranks(e.t)]
        held[window.name] = (min(times), max(times)) if times else None
    return replay.report_ranks(planned, held, Range(case.from_, case.until))


def answer(
    case: Case, *, chunk_windows: int | None = None, ranks: ReportRanks | None = None, placed: Local | None = None
) -> list[Expected]:
    """Return the reports of a case in the local placement; `chunk_windows` cuts it by time into chunks that long.

    `placed` is a database that is used again and again.
    """
    if placed is None:
        with Local(threads=1, small=True) as opened:
            return answer(case, chunk_windows=chunk_windows, ranks=ranks, placed=opened)
    planned = case_plan(case)
    reported = case_ranks(planned, case.elements, case) if ranks is None else ranks
    chunks = Chunking(chunk_windows * replay.overlap(planned), 4) if chunk_windows else None
    program = planned.program(_facts(case, [case.elements]), chunks)
    placed.forget()
    for stream in program.streams:
        placed.add_table(stream.name, encode_elements(case.elements[stream.stream]))
    _add_rest(placed, program, case, replay.domain(chunks, reported), chunks)
    table = placed.rows(program, by_report(program), replay.parameters(planned, program, reported))
    columns = as_columns(table)
    found: dict[int, list[Row]] = defaultdict(list)
    for rank, row in zip(columns["r"], rows_of(program, columns), strict=True):
        found[rank].append(row)
    return as_expected(replay.reports_of(planned, reported, found))


def in_one_range(case: Case, streams: Sequence[Mapping[Iri, Sequence[Element]]]) -> Case:
    """Return the case with the report range that all of its streams need, unless it has a range."""
    if case.from_ is not None and case.until is not None:
        return case
    planned = case_plan(case)
    ranges = [ranks for elements in streams if len(ranks := case_ranks(planned, elements, case))]
    if not ranges:
        return replace(case, from_=planned.grid.close(0) - 1, until=planned.grid.close(0))
    first, last = min(ranks.start for ranks in ranges), max(ranks.end for ranks in ranges)
    return replace(case, from_=planned.grid.close(first) - 1, until=planned.grid.close(last - 1))


def answer_many(
    case: Case, streams: Sequence[Mapping[Iri, Sequence[Element]]], placed: Local | Spark, *, chunk_windows: int | None
) -> list[list[Expected]]:
    """Return the reports of one query over many streams in one plan, with the stream's number as hidden key."""
    planned = case_plan(case)
    assert case.from_ is not None, "streams of one plan share their report range"
    assert case.until is not None, "streams of one plan share their report range"
    reported = replay.ranks_within(planned, Range(case.from_, case.until))
    chunks = Chunking(chunk_windows * replay.overlap(planned), 4) if chunk_windows else None
    program = planned.program(_facts(case, streams), chunks, keys=(CASE,), prefix=placed.prefix)
    for input_ in program.streams:
        tables = [encode_elements(elements[input_.stream]) for elements in streams]
        placed.add_table(input_.name, pa.concat_tables([_numbered(table, n) for n, table in enumerate(tables)]))
    domain = [{CASE: n, **row} for n in range(len(streams)) for row in replay.domain(chunks, reported)]
    _add_rest(placed, program, case, domain, chunks, keys=(CASE,))
    table = placed.rows(program, by_report(program), replay.parameters(planned, program, reported))
    columns = as_columns(table)
    found: dict[int, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    # An answer that reads no stream carries no number: it is that of every stream.
    numbers = columns[CASE] if CASE in program.keys else [None] * table.num_rows
    for number, rank, row in zip(numbers, columns["r"], rows_of(program, columns), strict=True):
        for stream in range(len(streams)) if number is None else [number]:
            found[stream][rank].append(row)
    return [as_expected(replay.reports_of(planned, reported, found[n])) for n in range(len(streams))]


def _facts(case: Case, streams: Sequence[Mapping[Iri, Sequence[Element]]]) -> Facts:
    """Return what a replay would know about the data of a case."""
    graphs = [case.static.default, *(e.triples for each in streams for elements in each.values() for e in elements)]
    objects = (triple.object for graph in graphs for triple in graph)
    inexact = any(isinstance(term, Literal) and term.datatype in _INEXACT for term in objects)
    return Facts({}, static=True, exact_numbers=not inexact)


def _numbered(table: pa.Table, number: int) -> pa.Table:
    return table.append_column(CASE, pa.array([number] * table.num_rows, pa.int64()))


def _add_rest(
    placed: Local | Spark,
    program: Program,
    case: Case,
    domain: list[dict[str, int]],
    chunks: Chunking | None,
    keys: tuple[str, ...] = (),
) -> None:
    for static in program.statics:
        placed.add_table(static.name, encode_triples(case.static.default))
    if program.domain is not None:
        placed.add_table(program.domain, replay.domain_table(domain, chunks, keys))


def as_expected(reports: Iterable[Report]) -> list[Expected]:
    """Return the engine's reports in the oracle's form."""
    return [Expected(report.t, report.open, report.close, Counter(report.terms())) for report in reports]


__all__ = [
    "CASE",
    "EVENT_COLUMNS",
    "TRIPLE_COLUMNS",
    "answer",
    "answer_many",
    "encode_elements",
    "encode_triples",
    "in_one_range",
]

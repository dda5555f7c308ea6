"""Oracle cases with any window, report and profile, put to the engine's programs in memory, in either placement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import pyarrow as pa

from hydrograph.compile import output_queries as finals
from hydrograph.compile.inputs import CLOSES, STATIC, Chunking, TimeVisibility
from hydrograph.compile.program import Program
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import report_ranks as replay
from hydrograph.runtime.placement.local import Local, as_columns
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import Facts, Plan, plan
from hydrograph.runtime.report_ranks import nonempty_ranks
from hydrograph.runtime.reports import Report, Row, rows_of
from hydrograph.windows.report import Held, Range
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.evaluate import Report as Expected
from tests.support.random_cases import Case
from tests.support.replay_adapter import encode_elements, encode_triples

BUCKET = 7
"""Milliseconds of a bucket: few enough that the small streams of random cases fill several."""


def answer_any(case: Case, placed: Local | Spark, *, chunk: int | None = None) -> list[Expected]:
    """Return the reports of a case; `chunk` cuts it into chunks of so many ranks, or of so many windows on a grid."""
    return as_expected(reports_any(case, placed, chunk=chunk))


def reports_any(case: Case, placed: Local | Spark, *, chunk: int | None = None) -> list[Report]:
    """Return the same as the engine gives them."""
    first = min((e.t for window in case.query.windows for e in case.elements[window.stream]), default=None)
    planned = plan(case.query, case.profile, case.t0).starting(first)
    held = {name: _held(planned, name, case.elements[_stream(planned, name)]) for name in planned.visibilities}
    within = Range(case.from_, case.until)
    chunks = None if chunk is None else Chunking(chunk * replay.overlap(planned) if planned.reports else chunk, 4)
    has_static = bool(case.static.default) or not planned.feeding  # else the windows alone are the default graph
    facts = Facts({}, static=has_static, within=within, bucket=BUCKET)
    program = planned.program(facts, chunks, prefix=placed.prefix)
    for number, window in enumerate(planned.query.windows):
        placed.add_table(f"{placed.prefix}w{number}", encode_elements(case.elements[window.stream]))
    if program.statics:
        placed.add_table(f"{placed.prefix}{STATIC}", encode_triples(case.static.default))
    if planned.reports is None:
        placed.add_table(f"{placed.prefix}{CLOSES}", replay.scheduled_instants(planned, held, within))
        asked = [finals.by_report(program), finals.instants(program)]
        upper = 2 * sum(map(len, case.elements.values())) + 1_000
        parameters = replay.parameters(planned, program, replay.ReportRanks(0, upper))
        rows, found = placed.run(placed.prepare(program, asked), parameters)
        return list(replay.reports_at(planned, replay.read_instants(found), _by_rank(program, rows)))
    ranks = replay.report_ranks(planned, held, within)
    if program.domain is not None:
        placed.add_table(program.domain, replay.domain_table(replay.domain(chunks, ranks), chunks))
    rows = placed.rows(program, finals.by_report(program), replay.parameters(planned, program, ranks))
    content = nonempty_ranks(planned.inputs(facts, placed.prefix), placed, ranks) if planned.needs_content else None
    return list(replay.reports_of(planned, ranks, _by_rank(program, rows), content))


def _stream(planned: Plan, name: Iri) -> Iri:
    return next(window.stream for window in planned.query.windows if window.name == name)


def _held(planned: Plan, name: Iri, elements: Sequence[Element]) -> Held:
    visibility = planned.visibilities[name]
    since = [e.t for e in elements if e.t >= planned.t0]
    inside = [t for t in since if not isinstance(visibility, TimeVisibility) or planned.windows[name].ranks(t)]
    return (min(inside), max(inside)) if inside else None


def _by_rank(program: Program, table: pa.Table) -> dict[int, list[Row]]:
    columns = as_columns(table)
    found: dict[int, list[Row]] = defaultdict(list)
    for rank, row in zip(columns["r"], rows_of(program, columns), strict=True):
        found[rank].append(row)
    return found


def as_expected(reports: Iterable[Report]) -> list[Expected]:
    """Return the engine's reports in the oracle's form."""
    return [Expected(r.t, r.open, r.close, Counter(r.terms()), seq=r.seq) for r in reports]

"""From what was played and what was expected to the records of a run: a verdict on every window and every query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pyarrow.parquet as pq

from hydrograph.algebra.windows import TimeWindow
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Duration, Instant
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.verdict import Outcome as Ending
from hydrograph_gauge.engines.verdict import Phase, Verdict
from hydrograph_gauge.experiments.data import elements
from hydrograph_gauge.experiments.expected_reports import found, goes_by_hand_over, profile_of, streams_of
from hydrograph_gauge.experiments.run_folder import PlayedRecord, read_answers, read_handed, read_record, read_samples
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.judge_input import Due, DueAt, Said, Trial, from_close, from_trigger
from hydrograph_gauge.judge.judge_query import judge
from hydrograph_gauge.judge.mismatch import Blocks, comparable, eager, mismatch
from hydrograph_gauge.judge.values import Values
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.job import FAILED, folder_of, read_reports
from hydrograph_gauge.oracle.recorded import graph_of
from hydrograph_gauge.player import Handed
from hydrograph_gauge.results import Key, Mismatch, Record, Sampled

NOT_JUDGED = "not judged"
"""The verdict where the oracle has no answer."""


def judged(place: Path, target: Path, profile: str | None = None) -> Iterator[Record]:
    """Yield the records of one run of an engine: for each query its windows, its resources and last its outcome.

    `target` is where the expected reports lie; `profile` the habits that they follow, if not those of the record.
    """
    record = read_record(place)
    samples = read_samples(place)
    handed = _handed(place, record)
    due_at = _due_at(record, handed)
    static = _static_triples(record)
    for name in record.questions:
        key = Key(
            test=record.test,
            engine=record.engine,
            query=name,
            repetition=record.repetition,
            settings=record.settings,
        )
        ended = record.endings.get(name)
        ending = None if ended is None else Ending(Verdict(ended.verdict), Phase(ended.phase), ended.words)
        reports = found(target, record, name)
        failed = folder_of(reports.target, name) / FAILED
        unasked = failed.exists() or (ending is not None and ending.phase is Phase.REGISTRATION)
        trial = Trial(
            key=key,
            due=() if unasked else list(_due(reports.target, name)),
            said=() if unasked else [Said(at, rows, t) for at, t, rows in read_answers(place, name)],
            ending=ending,
            due_at=due_at,
            handed=handed,
            slide=_slide(record, name),
            t0=reports.t0 if reports.searched else None,
            seconds=record.seconds,
            executions=record.executions.get(name, 0),
            paced=record.measure != "cmet",
            hurried=record.hurried,
            static=static,
            last=handed[-1].at if handed and goes_by_hand_over(record) else None,
            elements=record.elements,
            triples=record.triples,
            samples=samples,
        )
        evidence = _Evidence(place, record, target, name, profile, reports.t0)
        judgement = judge(trial, evidence, gracious=record.judging.gracious)
        yield from judgement.windows
        yield from (Sampled(key=key, at=s.at, memory=s.memory, cpu=s.cpu, threads=s.threads) for s in samples)
        outcome = judgement.outcome
        if failed.exists() and ending is None:
            words = f"the oracle can not answer: {failed.read_text('utf-8').strip()}"
            outcome = outcome.model_copy(update={"verdict": NOT_JUDGED, "words": words})
        yield outcome


def _static_triples(record: PlayedRecord) -> int:
    """Return the triples of the default graph, where worlds put all of theirs, or else of the named graphs."""
    files = [record.static[""]] if "" in record.static else list(record.static.values())
    return sum(pq.read_metadata(file).num_rows for file in files)


def _due(target: Path, query: str) -> Iterator[Due]:
    for report, seq in read_reports(target, query):
        content = None if report.content < 0 else report.content
        yield Due(report.t, report.open, report.close, report.rows, content, seq)


def _handed(place: Path, record: PlayedRecord) -> list[Handed]:
    """Return when each element was handed over."""
    table = read_handed(place)
    if not table.num_rows:
        return []
    known = {
        (name, element.t, element.seq): element
        for name, location in record.streams.items()
        for element in elements(name, location)
    }
    return [
        Handed(Iri(line["stream"]), known[line["stream"], line["t"], line["seq"]], line["due"], line["at"])
        for line in table.to_pylist()
    ]


def _due_at(record: PlayedRecord, handed: Sequence[Handed]) -> DueAt:
    """Return when answers could have come first.

    Without a pace of event time, a window has ended when the first element behind it is handed over.
    """
    if goes_by_hand_over(record):
        return from_close()
    if record.speed is not None:
        return from_close(record.first or 0, record.speed)
    return from_trigger(handed)


def _slide(record: PlayedRecord, query: str) -> Duration | None:
    """Return the slides by which an eager engine is judged."""
    engine = registry.known(record.engine)
    eager = record.judging.eager
    if not (engine is not None and engine.eager if eager is None else eager):
        return None
    definitions = [window.definition for window in parse(record.questions[query].text).windows]
    timed = [each.slide or each.width for each in definitions if isinstance(each, TimeWindow)]
    return min(timed, default=None)


class _Evidence:
    """Makes what a query was asked over, if a wrong answer asks for it."""

    def __init__(
        self, place: Path, record: PlayedRecord, target: Path, query: str, profile: str | None, t0: Instant | None
    ) -> None:
        self._given = place, record, target, query, profile, t0

    def __call__(self) -> Evidence:
        place, record, target, query, profile, t0 = self._given
        question = record.questions[query]
        streams = {
            Iri(name): elements(name, stream.location) for name, stream in streams_of(place, record, target).items()
        }
        graphs = {name: graph_of(pq.read_table(file)) for name, file in record.static.items()}
        static = StaticData(graphs.pop("", frozenset()), {Iri(name): graph for name, graph in graphs.items()})
        return Evidence(
            parse(question.text),
            streams,
            static,
            profile=profile_of(record, profile),
            t0=t0,
            text=question.oracle_text,
        )


def mismatches(places: Sequence[Path]) -> Iterator[Mismatch]:
    """Yield how much of each engine's output the others miss, for runs of one test, repetition and settings.

    An engine that refused a query has no output to compare.
    """
    records = [(place, read_record(place)) for place in places]
    queries = dict.fromkeys(name for _, record in records for name in record.questions)
    for query in queries:
        values = Values()
        outputs = {
            record.engine: _output(place, record, query, values)
            for place, record in records
            if query in record.questions and not _is_refused(record, query)
        }
        flat = {engine: [row for block in blocks for row in block] for engine, blocks in outputs.items()}
        one = records[0][1]
        most = Fraction(one.judging.comparable).limit_denominator(10_000)
        for left, right in permutations(outputs, 2):
            pair = {engine: outputs[engine] for engine in (left, right)}
            yield Mismatch(
                test=one.test,
                query=query,
                settings=one.settings,
                repetition=one.repetition,
                one=left,
                other=right,
                value=float(mismatch(outputs[left], flat[right])),
                comparable=comparable(pair, most),
            )


def _is_refused(record: PlayedRecord, query: str) -> bool:
    ended = record.endings.get(query)
    return ended is not None and ended.verdict in (Verdict.NOT_SUPPORTED, Verdict.SYNTAX_ERROR)


def _output(place: Path, record: PlayedRecord, query: str, values: Values) -> Blocks[int]:
    """Return the output in blocks of row numbers: of an eager engine each row, of others each execution."""
    blocks = [[values.number(row) for row in rows.elements()] for _, _, rows in read_answers(place, query)]
    engine = registry.known(record.engine)
    return eager([row for block in blocks for row in block]) if engine is not None and engine.eager else blocks

"""Judging a run of an engine: records with a verdict on every window and every query."""

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
from hydrograph_gauge.engines.outcome import Origin, Outcome, Phase, Verdict
from hydrograph_gauge.experiments.data import read_elements
from hydrograph_gauge.experiments.expected_reports import (
    choose_profile,
    is_judged_by_clock,
    locate_expected,
    open_streams,
)
from hydrograph_gauge.experiments.run_folder import (
    PlayedRun,
    is_fed_independently,
    read_answers,
    read_handed,
    read_played,
    read_samples,
)
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.judge_input import (
    DueAt,
    EngineAnswer,
    ExpectedReport,
    JudgeInput,
    due_at_close,
    due_at_trigger,
)
from hydrograph_gauge.judge.judge_query import judge_query
from hydrograph_gauge.judge.mismatch import Blocks, are_comparable, blocks_of_rows, mismatch
from hydrograph_gauge.judge.row_compare import RowNumbers
from hydrograph_gauge.oracle.dataset import StaticData, graph_of
from hydrograph_gauge.oracle.job import FAILED, folder_of, read_reports
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import Key, MismatchRecord, Record, SampleRecord

NOT_JUDGED = "not judged"
"""The verdict where the oracle has no answer, or every window closes after the last element."""


def judge_run(place: Path, target: Path, profile: str | None = None) -> Iterator[Record]:
    """Yield the records of one run of an engine: for each query its windows, its resources and last its outcome.

    `target` is the folder of the expected reports; `profile` is theirs, if it is not that of the record.
    """
    record = read_played(place)
    samples = read_samples(place)
    static = _static_triples(record)
    common = None if is_fed_independently(place) else _handed(place, record)
    for name in record.questions:
        handed = _handed(place, record, name) if common is None else common
        due_at = _due_at(record, handed)
        key = Key(
            test=record.test,
            engine=record.engine,
            query=name,
            repetition=record.repetition,
            settings=record.settings,
        )
        ended = record.endings.get(name)
        ending = None
        if ended is not None:
            ending = Outcome(Verdict(ended.verdict), Phase(ended.phase), ended.words, ended.output_error, ended.origin)
        reports = locate_expected(target, record, name)
        failed = folder_of(reports.target, name) / FAILED
        unasked = failed.exists() or (ending is not None and ending.phase is Phase.REGISTRATION)
        trial = JudgeInput(
            key=key,
            due=() if unasked else list(_due(reports.target, name)),
            said=() if unasked else [EngineAnswer(at, rows, t) for at, t, rows in read_answers(place, name)],
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
            last=_last(record, name, handed),
            comparison=record.judging.comparison,
            elements=record.elements,
            triples=record.triples,
            samples=samples,
        )
        evidence = _Evidence(place, record, target, name, profile, reports.t0)
        judgement = judge_query(trial, evidence, gracious=record.judging.gracious)
        yield from judgement.windows
        yield from (SampleRecord(key=key, at=s.at, memory=s.memory, cpu=s.cpu, threads=s.threads) for s in samples)
        outcome = judgement.outcome
        words = ""
        if failed.exists() and ending is None:
            words = f"the oracle cannot answer: {failed.read_text('utf-8').strip()}"
        elif outcome.after_last and not outcome.windows and outcome.verdict == Verdict.OK:
            words = "every window closes after the last element; `oracle.ends = true` demands answers to them"
        if words:
            outcome = outcome.model_copy(update={"verdict": NOT_JUDGED, "words": words})
        yield outcome.model_copy(update=_attribution(record, name, outcome.verdict, ending))


def _attribution(record: PlayedRun, query: str, verdict: str, ending: Outcome | None) -> dict[str, object]:
    """Return what failed, and the lines of standard error that may explain it; nothing for what did not fail."""
    if verdict in (Verdict.OK, Verdict.NOT_ASKED, NOT_JUDGED):
        return {}
    origin = ending.origin if ending is not None and ending.verdict == verdict else None
    errors = (*record.errors.get(query, ()), *record.errors.get("", ()))
    return {"origin": origin or Origin.ENGINE, "errors": tuple(dict.fromkeys(errors))}


def _last(record: PlayedRun, query: str, handed: Sequence[Handed]) -> float | None:
    """Return when the last element of the query's streams came, in the time of the windows.

    None where the experiment ends the stream: an engine that goes by event time is told so.
    """
    read = {window.stream for window in parse(record.questions[query].text).windows}
    mine = [each for each in handed if each.stream in read]
    if is_judged_by_clock(record):
        return mine[-1].at if mine else None
    if record.judging.ends or record.judging.until is not None:
        return None
    return max((float(each.element.t) for each in mine), default=None)


def _static_triples(record: PlayedRun) -> int:
    """Return the triples of the default graph, where worlds put all of theirs, or else of the named graphs."""
    files = [record.static[""]] if "" in record.static else list(record.static.values())
    return sum(pq.read_metadata(file).num_rows for file in files)


def _due(target: Path, query: str) -> Iterator[ExpectedReport]:
    for report, seq in read_reports(target, query):
        content = None if report.content < 0 else report.content
        yield ExpectedReport(report.t, report.open, report.close, report.rows, content, seq)


def _handed(place: Path, record: PlayedRun, query: str | None = None) -> list[Handed]:
    """Return when the engine, or one of its queries, took each element."""
    table = read_handed(place, query)
    if not table.num_rows:
        return []
    known = {
        (name, element.t, element.seq): element
        for name, location in record.streams.items()
        for element in read_elements(name, location)
    }
    return [
        Handed(
            Iri(line["stream"]),
            known[line["stream"], line["t"], line["seq"]],
            line["due"],
            line["at"],
            line.get("told"),
        )
        for line in table.to_pylist()
    ]


def _due_at(record: PlayedRun, handed: Sequence[Handed]) -> DueAt:
    """Return when answers could have come first.

    Without a pace of event time, a window has ended when the first element behind it is handed over.
    """
    if is_judged_by_clock(record):
        return due_at_close()
    if record.speed is not None:
        return due_at_close(record.first or 0, record.speed)
    return due_at_trigger(handed)


def _slide(record: PlayedRun, query: str) -> Duration | None:
    """Return the slides by which an eager engine is judged."""
    engine = registry.find_engine(record.engine)
    eager = record.judging.eager
    if not (engine is not None and engine.eager if eager is None else eager):
        return None
    definitions = [window.definition for window in parse(record.questions[query].text).windows]
    timed = [each.slide or each.width for each in definitions if isinstance(each, TimeWindow)]
    return min(timed, default=None)


class _Evidence:
    """Makes what a query was asked over, if a wrong answer asks for it."""

    def __init__(
        self, place: Path, record: PlayedRun, target: Path, query: str, profile: str | None, t0: Instant | None
    ) -> None:
        self._given = place, record, target, query, profile, t0

    def __call__(self) -> Evidence:
        place, record, target, query, profile, t0 = self._given
        question = record.questions[query]
        streams = {
            Iri(name): read_elements(name, stream.location)
            for name, stream in open_streams(place, record, target, query).items()
        }
        graphs = {name: graph_of(pq.read_table(file)) for name, file in record.static.items()}
        static = StaticData(graphs.pop("", frozenset()), {Iri(name): graph for name, graph in graphs.items()})
        return Evidence(
            parse(question.text),
            streams,
            static,
            profile=choose_profile(record, profile),
            t0=t0,
            text=question.oracle_text,
        )


def compare_outputs(places: Sequence[Path]) -> Iterator[MismatchRecord]:
    """Yield how much of each engine's output the others miss, for runs of one test, repetition and settings.

    An engine that refused a query has no output to compare.
    """
    records = [(place, read_played(place)) for place in places]
    queries = dict.fromkeys(name for _, record in records for name in record.questions)
    for query in queries:
        values = RowNumbers(records[0][1].judging.comparison)
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
            yield MismatchRecord(
                test=one.test,
                query=query,
                settings=one.settings,
                repetition=one.repetition,
                one=left,
                other=right,
                value=float(mismatch(outputs[left], flat[right])),
                comparable=are_comparable(pair, most),
            )


def _is_refused(record: PlayedRun, query: str) -> bool:
    ended = record.endings.get(query)
    return ended is not None and ended.verdict in (Verdict.NOT_ASKED, Verdict.NOT_SUPPORTED, Verdict.SYNTAX_ERROR)


def _output(place: Path, record: PlayedRun, query: str, values: RowNumbers) -> Blocks[int]:
    """Return the output in blocks of row numbers: of an eager engine each row, of others each execution."""
    blocks = [[values.number(row) for row in rows.elements()] for _, _, rows in read_answers(place, query)]
    engine = registry.find_engine(record.engine)
    return blocks_of_rows([row for block in blocks for row in block]) if engine is not None and engine.eager else blocks

"""Playing streams to an engine: the plan of a run, the run itself, and the files it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import assert_never

from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.rdf.terms import Iri
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery as Asked
from hydrograph_gauge.engines.session import SessionInput, SessionResult, run_session
from hydrograph_gauge.experiments.data import ExperimentData, read_elements, resolve_stream_names
from hydrograph_gauge.experiments.model import ExperimentTest, PlayTable
from hydrograph_gauge.experiments.queries import ExperimentQuery
from hydrograph_gauge.experiments.run_folder import (
    JudgeSettings,
    PlayedFailure,
    PlayedQuery,
    PlayedRun,
    find_errors_file,
    is_played,
    write_played,
)
from hydrograph_gauge.player import AsFastAsTaken, AtRandom, AtRate, ByEventTime, Pace, burst, constant, ramp

_MEGABYTE = 1 << 20


def plan_runs(
    test: ExperimentTest, data: ExperimentData, queries: Sequence[ExperimentQuery], engine: str, repetition: int
) -> Iterator[PlayedRun]:
    """Return the runs of an engine in one repetition of a test, before they are done."""
    for group in [tuple(queries)] if test.together else [(query,) for query in queries]:
        read = dict.fromkeys(window.stream.value for query in group for window in query.algebra.windows)
        if unknown := [name for name in read if name not in data.streams]:
            known = ", ".join(data.streams) or "none"
            raise UsageError(f"test {test.name}: no stream <{unknown[0]}> in its data; there are {known}")
        yield PlayedRun(
            test=test.name,
            engine=engine,
            repetition=repetition,
            settings=test.settings,
            measure=test.measure,
            questions={query.name: _question(query, engine) for query in group},
            streams={name: data.streams[name].location for name in read},
            static={name or "": place for name, place in data.static.items()},
            speed=test.play.speed if test.play.pace == "event-time" else None,
            hurried=test.play.pace in ("fast", "step") and not _is_stepwise(test, engine),
            judging=JudgeSettings.model_validate({**test.oracle.model_dump(), "comparable": test.comparable}),
        )


def _question(query: ExperimentQuery, engine: str) -> PlayedQuery:
    try:
        words = query.text_for(engine)
    except UnsupportedError:
        words = None
    return PlayedQuery(asked=words, text=query.text, oracle_text=query.oracle_text, variables=query.variables)


def play(
    test: ExperimentTest, data: ExperimentData, planned: PlayedRun, queries: Sequence[ExperimentQuery], folder: Path
) -> PlayedRun | None:
    """Do a run and write it down; return None if it is there already."""
    if is_played(folder, planned):
        return None
    unsaid = {
        query.name: PlayedFailure(
            verdict=Verdict.NOT_ASKED, phase=Phase.REGISTRATION, words=f"because {_why(query, planned.engine)}"
        )
        for query in queries
        if query.name in planned.questions and planned.questions[query.name].asked is None
    }
    read = {query.name: frozenset(window.stream for window in query.algebra.windows) for query in queries}
    asked = {
        name: Asked(question.asked, question.variables, read.get(name))
        for name, question in planned.questions.items()
        if question.asked is not None
    }
    streams = {Iri(name): read_elements(name, data.streams[name].location) for name in planned.streams}
    errors_file = find_errors_file(folder, planned)
    played = _run(test, data, planned, asked, streams, errors_file) if asked else SessionResult()
    endings = {
        name: PlayedFailure(
            verdict=each.verdict,
            phase=each.phase,
            words=each.words,
            output_error=each.output_error,
            origin=each.origin,
        )
        for name, each in played.outcomes.items()
    }
    handed = [handed.element for handed in played.handed]
    done = planned.model_copy(
        update={
            "first": min((each[0].t for each in streams.values() if each), default=None),
            "seconds": played.seconds,
            "elements": len(handed),
            "triples": sum(len(element.triples) for element in handed),
            "executions": dict(played.executions),
            "endings": endings | unsaid,
            "errors": played.errors,
        }
    )
    write_played(folder, done, played)
    return done


def _why(query: ExperimentQuery, engine: str) -> str:
    try:
        query.text_for(engine)
    except UnsupportedError as error:
        return str(error)
    return ""


def _run(
    test: ExperimentTest,
    data: ExperimentData,
    planned: PlayedRun,
    asked: Mapping[str, Asked],
    streams: Mapping[Iri, Sequence[Element]],
    errors_file: Path,
) -> SessionResult:
    limits = Limits(test.limits.seconds, test.limits.megabytes, int(test.limits.megabytes_output * _MEGABYTE))
    task = SessionInput(
        questions=asked,
        streams=streams,
        paces=_paces(test.play, data, streams, test.seed),
        static=data.triples,
        stepwise=_is_stepwise(test, planned.engine),
    )
    return run_session(registry.start_command(planned.engine), task, limits, errors_file)


def _is_stepwise(test: ExperimentTest, name: str) -> bool:
    """Tell whether an engine gets the next element after each execution.

    An engine that executes only when windows close, or reports executions only with rows, would block the player.
    """
    engine = registry.get_engine(name)
    return test.play.pace == "step" and engine.eager and engine.announces


def _paces(
    play: PlayTable, data: ExperimentData, streams: Mapping[Iri, Sequence[Element]], seed: int
) -> dict[Iri, Pace]:
    known = resolve_stream_names(data)
    if unknown := [name for name in play.rates if name not in known]:
        raise UsageError(f"no stream {unknown[0]!r} to have a rate; streams: {', '.join(known)}")
    rates = {known[name]: rate for name, rate in play.rates.items()}
    return {name: _pace(play, rates.get(name, play.rate), seed + place) for place, name in enumerate(streams)}


def _pace(play: PlayTable, rate: float | None, seed: int) -> Pace:
    if rate is None and play.pace in ("rate", "random", "ramp", "burst"):
        raise UsageError(f"the pace {play.pace} needs a rate for every stream")
    start, peak = rate or 0.0, play.peak or 0.0
    match play.pace:
        case "event-time":
            return ByEventTime(play.speed)
        case "fast" | "step":
            return AsFastAsTaken()
        case "rate":
            return AtRate(constant(start))
        case "random":
            return AtRandom(start, seed)
        case "ramp":
            return AtRate(ramp(start, peak, play.over))
        case "burst":
            return AtRate(burst(start, peak, play.period, play.length))
        case _:
            assert_never(play.pace)

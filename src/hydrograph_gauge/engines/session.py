"""Session with an engine: load static data, register queries, play streams, collect answers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.error_output import attribute, relevant_lines
from hydrograph_gauge.engines.outcome import AnswerBlock, Origin, Outcome, OutputError, Phase, Verdict
from hydrograph_gauge.engines.process import EngineProcess, EngineStoppedError, Limits, TimedReply, start_engine
from hydrograph_gauge.engines.protocol import (
    Answer,
    End,
    Ended,
    Failed,
    Finished,
    Load,
    Loaded,
    Refused,
    Register,
    Registered,
    Send,
    Taken,
    Unregister,
    Unregistered,
    rows_of,
)
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.engines.start_phase import Registration, StartPhase, stream_paces, wait_to_register
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.player import AsFastAsTaken, Handed, Pace, WallClock, play

_REFUSED = {
    "syntax": Verdict.SYNTAX_ERROR,
    "unsupported": Verdict.NOT_SUPPORTED,
    "error": Verdict.RUNTIME_ERROR,
}
_PATIENCE = 5.0  # seconds for queries to be taken back
_AHEAD = 1_000
"""Elements that may wait in front of the slowest query, where only the engine limits the rate."""


@dataclass(frozen=True, slots=True)
class EngineQuery:
    """Query in the language of an engine, with the variables of its answers in order."""

    text: str
    variables: tuple[str, ...]
    streams: frozenset[Iri] | None = None
    """What it reads; None: any stream may make it execute."""


@dataclass(frozen=True, slots=True)
class SessionInput:
    """Input of a session."""

    questions: Mapping[str, EngineQuery]
    streams: Mapping[Iri, Sequence[Element]]
    paces: Mapping[Iri, Pace]
    static: Mapping[str | None, str] = field(default_factory=dict)
    """Files of N-Triples by the name of their graph, None for the default graph."""
    stepwise: bool = False
    """Whether the next element waits until every query that reads this one has executed (cmet).

    Only for engines that execute at each element and say so; others would be waited for in vain.
    """
    start: StartPhase | None = None
    """Control of when queries are registered and streams begin; their paces are then by event time."""


@dataclass(slots=True)
class SessionResult:
    """Result of a session: answers and failures by query, hand-over times, resources."""

    blocks: dict[str, list[AnswerBlock]] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """Failures only; the judge decides whether answers are right."""
    handed: list[Handed] = field(default_factory=list)
    """Each element with the time at which the last query took it."""
    taken: dict[str, list[float | None]] = field(default_factory=dict)
    """By query, when it took each of `handed`, for engines that feed their queries independently."""
    errors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Relevant lines of standard error: by query those of its registration, without a name those of the play."""
    executions: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    registered: dict[str, Registration] = field(default_factory=dict)
    """When each query was registered."""


def run_session(
    command: Sequence[str], task: SessionInput, limits: Limits, errors_file: Path | None = None
) -> SessionResult:
    """Run an engine in a fresh process. Its failures are part of the result.

    The standard error of the engine is kept in a file, if one is given.
    """
    played = SessionResult(blocks={name: [] for name in task.questions})
    phase = Phase.REGISTRATION
    standing: list[str] = []
    with start_engine(command, limits, errors_file) as engine:
        position = 0
        try:
            _prepare(engine, task, played, standing)
            position = engine.error_position
            phase = Phase.EXECUTION
            if standing:
                _play(engine, task, standing, played)
        except EngineStoppedError as error:
            origin = _origin_of_stop(error, engine.read_errors())
            outcome = Outcome(error.verdict, phase, error.words, error.output_error, origin)
            for name in task.questions:
                played.outcomes.setdefault(name, outcome)
        if lines := relevant_lines(engine.read_errors(position)):
            played.errors[""] = lines
        played.samples = list(engine.samples)
        _take_back(engine, standing)
    for name in task.questions:
        if name not in played.outcomes and not any(block.rows for block in played.blocks[name]):
            played.outcomes[name] = Outcome(Verdict.NO_ANSWER, Phase.EXECUTION, origin=Origin.ENGINE)
    return played


def _origin_of_stop(error: EngineStoppedError, errors: str) -> Origin:
    """Return what is to blame for the end of a program: its adapter writes the replies, and starts the engine."""
    if error.output_error is OutputError.GARBAGE:
        return Origin.ADAPTER
    return attribute(errors) if error.verdict is Verdict.CRASH else Origin.ENGINE


_ORIGINS = {"syntax": Origin.TEXT, "unsupported": Origin.ENGINE}


def _refusal(refused: Refused) -> Outcome:
    origin = refused.origin or _ORIGINS.get(refused.why) or attribute(refused.words)
    return Outcome(_REFUSED[refused.why], Phase.REGISTRATION, refused.words, origin=origin)


def _failure(failed: Failed, phase: Phase) -> Outcome:
    origin = attribute(failed.words) if failed.origin is Origin.ENGINE else failed.origin
    return Outcome(Verdict.RUNTIME_ERROR, phase, failed.words, origin=origin)


def _prepare(engine: EngineProcess, task: SessionInput, played: SessionResult, standing: list[str]) -> None:
    """Load data and register queries; registered ones are noted one by one."""
    for graph, file in task.static.items():
        engine.tell(Load(file=file, graph=graph))
        heard = engine.hear().reply
        if not isinstance(heard, Loaded):
            words = heard.words if isinstance(heard, Failed) else heard.reply
            raise EngineStoppedError(Verdict.RUNTIME_ERROR, f"static data: {words}")
    for name, question in task.questions.items():
        position = engine.error_position
        while task.start is not None and (wait := wait_to_register(time.time() * 1000)) > 0:
            time.sleep(wait / 1000)
        told = time.time() * 1000
        engine.tell(Register(query=name, text=question.text))
        match engine.hear().reply:
            case Registered():
                standing.append(name)
                played.registered[name] = Registration(told, time.time() * 1000)
            case Refused() as refused:
                played.outcomes[name] = _refusal(refused)
            case Failed() as failed:
                played.outcomes[name] = _failure(failed, Phase.REGISTRATION)
            case other:
                raise EngineStoppedError(Verdict.RUNTIME_ERROR, f"expected registered or refused, got {other.reply}")
        if lines := relevant_lines(engine.read_errors(position)):
            played.errors[name] = lines


def _take_back(engine: EngineProcess, standing: Sequence[str]) -> None:
    """Unregister the queries: an engine that outlives the run would continue to answer them.

    The run is over, so nothing that goes wrong here changes its outcome.
    """
    end = time.monotonic() + _PATIENCE
    with suppress(EngineStoppedError):
        for name in standing:
            engine.tell(Unregister(query=name))
        left = len(standing)
        while left:
            heard = engine.hear(max(0.0, end - time.monotonic())).reply
            left -= isinstance(heard, Unregistered | Failed)


def _play(engine: EngineProcess, task: SessionInput, standing: list[str], played: SessionResult) -> None:
    begin = time.monotonic()
    listener = _Listener(engine, task, begin, played)
    listener.start()

    def hand_over(stream: Iri, element: Element) -> None:
        readers = [name for name in standing if _reads(task.questions[name], stream)]
        wanted = {name: played.executions[name] + 1 for name in readers}
        number = listener.acknowledged.tell(readers)
        engine.tell(Send(stream=stream.value, t=element.t, triples=triple_lines(element), n=number))
        if task.stepwise:
            listener.wait_for(wanted)
        elif isinstance(task.paces[stream], AsFastAsTaken):
            listener.wait_until_taken()

    paces = task.paces if task.start is None else stream_paces(task.start, played.registered, time.time() * 1000)
    try:
        play(task.streams, paces, hand_over, WallClock(), played.handed)
        engine.tell(End())
    except EngineStoppedError:
        listener.join()
        raise listener.failure or EngineStoppedError(Verdict.CRASH, "") from None
    else:
        listener.join()
    finally:
        played.seconds = time.monotonic() - begin
        _note_taken(played, listener.acknowledged, stopped=listener.failure is not None)
    if listener.failure is not None:
        raise listener.failure


def _reads(question: EngineQuery, stream: Iri) -> bool:
    return question.streams is None or stream in question.streams


def triple_lines(element: Element) -> tuple[str, ...]:
    """Return the triples of an element as lines of N-Triples."""
    return tuple(
        f"{term_text(triple.subject)} {term_text(triple.predicate)} {term_text(triple.object)} ."
        for triple in element.triples
    )


class _Acknowledged:
    """Times at which elements were taken, by all queries at once or by single ones; filled by two threads."""

    def __init__(self, begin: float) -> None:
        self._begin = begin
        self._epoch = time.time() - (time.monotonic() - begin)
        self._told: list[float] = []
        self._told_to: Counter[str] = Counter()
        self.by_all: dict[int, float] = {}
        self.by_query: dict[str, dict[int, float]] = {}

    def tell(self, readers: Sequence[str]) -> int:
        """Note that the next element is sent now, and return its number."""
        self._told_to.update(readers)
        self._told.append((time.monotonic() - self._begin) * 1000)
        return len(self._told) - 1

    def take(self, taken: Taken, heard: float) -> None:
        """Note an acknowledgement that was heard now; a clock that is not that of this machine is not believed."""
        target = self.by_all if taken.query is None else self.by_query.setdefault(taken.query, {})
        for number, at in enumerate(taken.at, start=taken.n):
            if not 0 <= number < len(self._told):
                raise DataError(f"element {number} was acknowledged, of {len(self._told)} that were sent")
            target[number] = min(max(at - self._epoch * 1000, self._told[number]), heard)

    def behind(self, failed: Iterable[str]) -> int:
        """Return how many elements the slowest query has not taken yet; 0 for an engine that does not acknowledge."""
        if self.by_all:
            return len(self._told) - len(self.by_all)
        if not self.by_query:
            return 0
        return max(
            (self._told_to[name] - len(self.by_query.get(name, ())) for name in self._told_to.keys() - set(failed)),
            default=0,
        )


def _note_taken(played: SessionResult, acknowledged: _Acknowledged, *, stopped: bool) -> None:
    """Replace the times at which elements were sent by those at which the engine took them.

    What a program had not taken when it ended was not handed over.
    """
    by_all, by_query = acknowledged.by_all, acknowledged.by_query
    if not by_all and not by_query:
        return
    kept: list[int] = []
    handed: list[Handed] = []
    for number, each in enumerate(played.handed):
        times = [by_all[number]] if number in by_all else [own[number] for own in by_query.values() if number in own]
        if times or not stopped:
            kept.append(number)
            handed.append(replace(each, at=max(times), told=each.at) if times else each)
    played.handed[:] = handed
    played.taken = {name: [own.get(number) for number in kept] for name, own in by_query.items()}


class _Listener(threading.Thread):
    """Reader of replies during the play, until the engine has ended or failed."""

    def __init__(self, engine: EngineProcess, task: SessionInput, begin: float, played: SessionResult) -> None:
        super().__init__(daemon=True)
        self.failure: EngineStoppedError | None = None
        self.acknowledged = _Acknowledged(begin)
        self._engine, self._task, self._begin, self._played = engine, task, begin, played
        self._open: dict[str, tuple[Counter[Row], Answer]] = {}
        self._changed = threading.Condition()

    def run(self) -> None:
        try:
            while True:
                heard = self._engine.hear()
                with self._changed:
                    done = self._take(heard)
                    self._changed.notify_all()
                if done:
                    return
        except EngineStoppedError as error:
            self.failure = error
        except DataError as error:
            self.failure = EngineStoppedError.for_output(OutputError.GARBAGE, str(error))
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, counts: Mapping[str, int]) -> None:
        """Come back when each query has been executed so often, or it or the engine has failed."""

        def reached() -> bool:
            done = all(
                self._played.executions[name] >= count or name in self._played.outcomes
                for name, count in counts.items()
            )
            return done or self.failure is not None or not self.is_alive()

        with self._changed:
            self._changed.wait_for(reached)

    def wait_until_taken(self) -> None:
        """Come back when few elements wait in front of the slowest query, or the engine has failed."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self.acknowledged.behind(self._played.outcomes) <= _AHEAD
                    or self.failure is not None
                    or not self.is_alive()
                )
            )

    def _take(self, heard: TimedReply) -> bool:
        """Note a reply; tell whether it is the last."""
        at = (heard.at - self._begin) * 1000
        match heard.reply:
            case Answer() | Finished() as named if named.query not in self._task.questions:
                raise DataError(f"no query {named.query!r} was registered")
            case Answer() as answer:
                rows = rows_of(answer, self._task.questions[answer.query].variables)
                before, _ = self._open.get(answer.query, (Counter(), answer))
                before.update(rows)  # in place: a large answer comes in many parts
                self._open[answer.query] = before, answer
            case Finished() as finished:
                self._played.executions[finished.query] += 1
                self._close(finished.query, at)
            case Failed() as failed:
                names = [failed.query] if failed.query is not None else list(self._task.questions)
                for name in names:
                    self._played.outcomes.setdefault(name, _failure(failed, Phase.EXECUTION))
            case Taken() as taken:
                self.acknowledged.take(taken, at)
            case Ended():
                for name in list(self._open):
                    self._close(name, at)
                return True
            case Unregistered():
                pass
            case other:
                raise EngineStoppedError(Verdict.RUNTIME_ERROR, f"unexpected reply {other.reply!r}")
        return False

    def _close(self, query: str, at: float) -> None:
        """Close the answer of an execution."""
        found = self._open.pop(query, None)
        if found is not None:
            self._played.blocks[query].append(AnswerBlock(at, found[0], found[1].t))

"""Session with an engine: load static data, register queries, play streams, collect answers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.outcome import AnswerBlock, Outcome, OutputError, Phase, Verdict
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
    Unregister,
    Unregistered,
    rows_of,
)
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.player import Handed, Pace, WallClock, play

_REFUSED = {
    "syntax": Verdict.SYNTAX_ERROR,
    "unsupported": Verdict.NOT_SUPPORTED,
    "error": Verdict.RUNTIME_ERROR,
}
_PATIENCE = 5.0  # seconds for queries to be taken back


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


@dataclass(slots=True)
class SessionResult:
    """Result of a session: answers and failures by query, hand-over times, resources."""

    blocks: dict[str, list[AnswerBlock]] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """Failures only; the judge decides whether answers are right."""
    handed: list[Handed] = field(default_factory=list)
    executions: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)


def run_session(command: Sequence[str], task: SessionInput, limits: Limits) -> SessionResult:
    """Run an engine in a fresh process. Its failures are part of the result."""
    played = SessionResult(blocks={name: [] for name in task.questions})
    phase = Phase.REGISTRATION
    standing: list[str] = []
    with start_engine(command, limits) as engine:
        try:
            _prepare(engine, task, played, standing)
            phase = Phase.EXECUTION
            if standing:
                _play(engine, task, standing, played)
        except EngineStoppedError as error:
            for name in task.questions:
                played.outcomes.setdefault(name, Outcome(error.verdict, phase, error.words, error.output_error))
        played.samples = list(engine.samples)
        _take_back(engine, standing)
    for name in task.questions:
        if name not in played.outcomes and not any(block.rows for block in played.blocks[name]):
            played.outcomes[name] = Outcome(Verdict.NO_ANSWER, Phase.EXECUTION)
    return played


def _prepare(engine: EngineProcess, task: SessionInput, played: SessionResult, standing: list[str]) -> None:
    """Load data and register queries; registered ones are noted one by one."""
    for graph, file in task.static.items():
        engine.tell(Load(file=file, graph=graph))
        heard = engine.hear().reply
        if not isinstance(heard, Loaded):
            words = heard.words if isinstance(heard, Failed) else heard.reply
            raise EngineStoppedError(Verdict.RUNTIME_ERROR, f"static data: {words}")
    for name, question in task.questions.items():
        engine.tell(Register(query=name, text=question.text))
        match engine.hear().reply:
            case Registered():
                standing.append(name)
            case Refused() as refused:
                played.outcomes[name] = Outcome(_REFUSED[refused.why], Phase.REGISTRATION, refused.words)
            case Failed() as failed:
                played.outcomes[name] = Outcome(Verdict.RUNTIME_ERROR, Phase.REGISTRATION, failed.words)
            case other:
                raise EngineStoppedError(Verdict.RUNTIME_ERROR, f"expected registered or refused, got {other.reply}")


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
        wanted = {name: played.executions[name] + 1 for name in standing if _reads(task.questions[name], stream)}
        engine.tell(Send(stream=stream.value, t=element.t, triples=triple_lines(element)))
        if task.stepwise:
            listener.wait_for(wanted)

    try:
        play(task.streams, task.paces, hand_over, WallClock(), played.handed)
        engine.tell(End())
    except EngineStoppedError:
        listener.join()
        raise listener.failure or EngineStoppedError(Verdict.CRASH, "") from None
    else:
        listener.join()
    finally:
        played.seconds = time.monotonic() - begin
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


class _Listener(threading.Thread):
    """Reader of replies during the play, until the engine has ended or failed."""

    def __init__(self, engine: EngineProcess, task: SessionInput, begin: float, played: SessionResult) -> None:
        super().__init__(daemon=True)
        self.failure: EngineStoppedError | None = None
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
                    outcome = Outcome(Verdict.RUNTIME_ERROR, Phase.EXECUTION, failed.words)
                    self._played.outcomes.setdefault(name, outcome)
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

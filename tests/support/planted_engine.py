"""Engine with a planted fault behind the ordinary adapter interface, and a session with it by recorded time.

The engine holds all elements and answers a window over those between its borders, so that borders can lie anywhere.
Without a plan it is right. Noise that no judge may blame is added to its answers: the order of rows, labels of blank
nodes, other lexical forms of the same numbers, small delays. No time passes: elements come at their event time, and an
answer comes at the time of the element that made it, plus what the engine took.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

import pyoxigraph as ox

from hydrograph.errors import DataError
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.vocab import XSD
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.adapter import EngineAdapter, Replies
from hydrograph_gauge.engines.outcome import AnswerBlock, Outcome, OutputError, Phase, Verdict
from hydrograph_gauge.engines.oxigraph import IncrementalOxigraph, WindowedQuery
from hydrograph_gauge.engines.process import EngineStoppedError
from hydrograph_gauge.engines.protocol import Answer, Failed, Finished, line_of, read_reply, rows_of
from hydrograph_gauge.engines.session import EngineQuery, SessionResult, triple_lines
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.player import Handed

Emit = Callable[[int, Answer], Iterable[Answer]]
"""Answers that an engine gives in place of the one with a number, counted from 0."""


def as_it_is(_: int, answer: Answer) -> Iterable[Answer]:
    """Return the answer itself."""
    return (answer,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Deviation of an engine from a right one; without settings it is right."""

    start: int = 0
    """Milliseconds by which windows begin later."""
    end: int = 0
    """Milliseconds by which windows end later."""
    waver: int = 0
    """Milliseconds up to which the borders of each window are moved together, back or forth."""
    kept: float = 0.0
    """Share of the elements that are never evicted."""
    dropped: float = 0.0
    """Share of the elements that are lost."""
    busy: int = 0
    """Milliseconds of each execution; elements that come meanwhile are lost."""
    cost: int = 0
    """Milliseconds of each execution; elements that come meanwhile wait."""
    late: int = 0
    """Milliseconds between execution and answer."""
    emit: Callable[[Random], Emit] = lambda _: as_it_is
    text: Callable[[str], str] = lambda text: text
    """The query that is evaluated instead."""
    stop: EngineStoppedError | None = None
    """What happens in the middle of the stream."""
    garbage: bytes = b""
    """What is written in the middle of the stream."""
    fails: str = ""
    """What the engine reports in the middle of the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Differences of answers that are none."""

    seed: int
    named: bool = True
    """Whether answers name the time of their report."""
    silent_when_empty: bool = False
    ends: bool = True
    """Whether windows that are open at the end of the stream are answered."""
    jitter: float = 0.0
    """Milliseconds that an answer takes at most."""


class PlantedEngine(IncrementalOxigraph):
    """Engine that follows a plan."""

    def __init__(self, plan: Plan, noise: Noise) -> None:
        """Take the deviation, and the noise."""
        super().__init__()
        self.plan, self.noise = plan, noise
        self.now = 0.0
        """Milliseconds since the start, set by the session."""
        self.free = 0.0
        """When the last execution is done."""
        self.raw: list[Answer] = []
        """Answers before noise."""
        self._random = Random(f"engine {noise.seed}")
        self._noise = Random(f"noise {noise.seed}")
        self._emit = plan.emit(Random(f"emit {noise.seed}"))
        self._log: dict[str, list[tuple[int, bool, list[int], list[ox.Triple]]]] = {}
        self._held: dict[str, set[int]] = {}
        self._labels = count()
        self._seen = 0

    def register(self, name: str, text: str) -> None:
        """Register the query that is evaluated."""
        super().register(name, self.plan.text(text))
        self._log[name], self._held[name] = [], set()

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Answer the windows that are over by `t`, then take the element, unless it is lost."""
        self._seen += 1
        if self._seen == STOP_AFTER:
            yield from self._break()
        for name, query in self.queries.items():
            if stream not in query.windows:
                continue
            is_lost = self._random.random() < self.plan.dropped or (self.plan.busy and self.now < self.free)
            stays = self._random.random() < self.plan.kept
            yield from self._close(name, query, t)
            if query.next_close is None:
                query.next_close = query.grid.close(query.grid.ranks(t)[0])
            if not is_lost:
                read = [q.triple for q in ox.parse("\n".join(triples).encode(), format=ox.RdfFormat.N_TRIPLES)]
                self._log[name].append((t, stays, query.windows[stream], read))
            query.last = t

    def _break(self) -> Iterator[Failed]:
        if self.plan.stop is not None:
            raise self.plan.stop
        if self.plan.garbage:
            raise _WrittenError(self.plan.garbage)
        if self.plan.fails:
            yield Failed(words=self.plan.fails)

    def end(self) -> Replies:
        """Answer the windows that are still open, if the engine does that."""
        if self.noise.ends:
            for name, query in self.queries.items():
                yield from self._close(name, query, query.last + query.grid.width + self.plan.end)

    def _close(self, name: str, query: WindowedQuery, until: int) -> Replies:
        while query.next_close is not None and query.next_close + self.plan.end <= until:
            close = query.next_close
            moved = self._random.randint(-self.plan.waver, self.plan.waver)
            self._hold(name, query, close - query.grid.width + self.plan.start + moved, close + self.plan.end + moved)
            self.free = max(self.now, self.free) + self.plan.cost + self.plan.busy
            answer = Answer(query=name, rows=query.rows(), t=close)
            for said in self._emit(len(self.raw), answer):
                yield from self._say(said)
            self.raw.append(answer)
            query.next_close += query.grid.step

    def _say(self, answer: Answer) -> Replies:
        rows = list(answer.rows)
        if not rows and self.noise.silent_when_empty:
            return
        self._noise.shuffle(rows)
        names: dict[str, str] = {}
        said = tuple({name: self._written(term, names) for name, term in row.items()} for row in rows)
        yield answer.model_copy(update={"rows": said, "t": answer.t if self.noise.named else None})
        yield Finished(query=answer.query)

    def _written(self, term: str, names: dict[str, str]) -> str:
        """Return a term in another way: blank nodes with new labels, numbers with other digits."""
        if term.startswith("_:"):
            return names.setdefault(term, f"_:n{next(self._labels)}")
        for datatype, ways in _FORMS.items():
            if term.endswith(datatype):
                lexical = term[1 : -len(datatype) - 1]
                return f'"{self._noise.choice(ways)(lexical)}"{datatype}'
        return term

    def _hold(self, name: str, query: WindowedQuery, start: int, end: int) -> None:
        """Make the elements between two borders the content of the windows."""
        log, held = self._log[name], self._held[name]
        wanted = {place for place, (t, stays, _, _) in enumerate(log) if start <= t < end or (stays and t < end)}
        for place in held - wanted:
            for window in log[place][2]:
                query.store.remove(window, log[place][3])
        for place in wanted - held:
            for window in log[place][2]:
                query.store.add(window, log[place][3])
        self._held[name] = wanted


STOP_AFTER = 45
"""Elements after which an engine stops, where it does."""

_FORMS: Mapping[str, Sequence[Callable[[str], str]]] = {
    f"^^<{XSD}decimal>": (str, lambda text: f"{text}0" if "." in text else f"{text}.0", lambda text: f"0{text}"),
    f"^^<{XSD}integer>": (str, lambda text: f"0{text}", lambda text: f"+{text}"),
    f"^^<{XSD}double>": (str, lambda text: f"{float(text):.17e}", lambda text: repr(float(text))),
}


class _WrittenError(Exception):
    """Bytes that an engine wrote instead of a reply."""

    def __init__(self, line: bytes) -> None:
        super().__init__(line)
        self.line = line


@dataclass(slots=True)
class _Listening:
    """Replies of an engine as a session collects them."""

    name: str
    variables: tuple[str, ...]
    limit: float
    """Milliseconds after which the run is ended."""
    output: int
    """Bytes after which it is ended."""
    blocks: list[AnswerBlock] = field(default_factory=list)
    open: Counter[Row] | None = None
    t: int | None = None
    written: int = 0

    def take(self, line: bytes, at: float) -> Outcome | None:
        """Take a line; return the failure of the query if it tells one."""
        self.written += len(line)
        if self.written > self.output:
            raise EngineStoppedError.for_output(OutputError.FLOOD, f"more than {self.output} bytes")
        if at > self.limit:
            raise EngineStoppedError(Verdict.TIMEOUT, f"not done after {self.limit / 1000:.0f} s")
        try:
            reply = read_reply(line)
        except DataError as error:
            raise EngineStoppedError.for_output(OutputError.GARBAGE, str(error)) from None
        match reply:
            case Answer():
                self.open, self.t = (self.open or Counter()) + rows_of(reply, self.variables), reply.t
            case Finished():
                self.blocks.append(AnswerBlock(at, self.open or Counter(), self.t))
                self.open = self.t = None
            case Failed():
                return Outcome(Verdict.RUNTIME_ERROR, Phase.EXECUTION, reply.words)
            case other:
                raise AssertionError(other)
        return None


def play_by_recorded_time(
    engine: PlantedEngine, name: str, question: EngineQuery, stream: Iri, elements: Sequence[Element]
) -> SessionResult:
    """Play a stream to an engine, with its lines read as those of a process are."""
    adapter: EngineAdapter = engine
    adapter.register(name, question.text)
    first, length = elements[0].t, elements[-1].t - elements[0].t
    listening = _Listening(name, question.variables, 1.5 * length, 2_000_000)
    delays = Random(f"delay {engine.noise.seed}")
    played = SessionResult(blocks={name: listening.blocks})
    handed = played.handed

    def listen(replies: Replies) -> None:
        for reply in replies:
            at = max(engine.now, engine.free) + engine.plan.late + delays.uniform(0, engine.noise.jitter)
            last = listening.blocks[-1].at if listening.blocks else 0.0
            failure = listening.take(line_of(reply), max(at, last))
            if failure is not None:
                played.outcomes[name] = failure

    try:
        for element in elements:
            engine.now = float(element.t - first)
            handed.append(Handed(stream, element, engine.now, engine.now))
            listen(adapter.send(stream.value, element.t, triple_lines(element)))
        listen(adapter.end())
        played.seconds = max([engine.now, *(block.at for block in listening.blocks)]) / 1000
    except _WrittenError as written:
        stopped = EngineStoppedError.for_output(OutputError.GARBAGE, written.line.decode())
        played.outcomes[name] = Outcome(stopped.verdict, Phase.EXECUTION, stopped.words, stopped.output_error)
        played.seconds = engine.now / 1000
    except EngineStoppedError as stopped:
        played.outcomes[name] = Outcome(stopped.verdict, Phase.EXECUTION, stopped.words, stopped.output_error)
        played.seconds = listening.limit / 1000 if stopped.verdict is Verdict.TIMEOUT else engine.now / 1000
    if name not in played.outcomes and not any(block.rows for block in listening.blocks):
        played.outcomes[name] = Outcome(Verdict.NO_ANSWER, Phase.EXECUTION)
    played.executions[name] = len(listening.blocks)
    return played

"""`make test-gauge`: faults planted in a right engine are named by the gauge, and an honest engine is never blamed.

A seed draws faults from the catalogue, with the distances and shares in them, over streams that it draws too. Every
run goes the ordinary way: adapter, files of a run, oracle, judge. The last line is
`gauge: <faults> planted, <named> named, <runs> honest runs, <blamed> blamed`; anything but all named and none blamed
fails.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

import click
import pyarrow.parquet as pq

from hydrograph.rdf.terms import BlankNode, Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD, XSD_DECIMAL
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.engines.process import EngineStoppedError
from hydrograph_gauge.engines.protocol import Answer
from hydrograph_gauge.engines.session import EngineQuery
from hydrograph_gauge.experiments.expected_reports import compute_expected
from hydrograph_gauge.experiments.judge_run import judge_run
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.run_folder import JudgeSettings, PlayedFailure, PlayedQuery, PlayedRun, write_played
from hydrograph_gauge.judge.faults import FaultKind
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.run_records import OutcomeRecord
from tests.support.planted_engine import Emit, Noise, Plan, PlantedEngine, play_by_recorded_time
from tests.support.replay_adapter import encode_elements

STREAM = Iri("urn:x:stream")
WIDTH, STEP = 4000, 2000
_WINDOW = (
    f"FROM NAMED WINDOW <urn:x:w> ON <{STREAM.value}> [RANGE PT{WIDTH // 1000}S STEP PT{STEP // 1000}S]\n"
    "WHERE { WINDOW <urn:x:w> { %s } }"
)
_WARM = " FILTER(?v > 20)"
_DIFFERENT = " FILTER(?a != ?b)"
_PAIRS = "?a <urn:x:in> ?room . ?b <urn:x:in> ?room"


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """Query of the trials."""

    text: str
    variables: tuple[str, ...]


def _asked(head: str, pattern: str, tail: str = "") -> AskedQuery:
    names = tuple(word.strip("?)") for word in head.replace("(", " ").split() if word.startswith("?"))
    if " AS " in head:
        names = ("room", "n", "mean")
    return AskedQuery(f"SELECT {head}\n{_WINDOW % pattern}{tail}", names)


QUERIES = {
    "readings": _asked("?s ?v", "?s <urn:x:reads> ?v"),
    "warm": _asked("?s ?v", f"?s <urn:x:reads> ?v{_WARM}"),
    "mean": _asked(
        "?room (COUNT(?v) AS ?n) (AVG(?v) AS ?mean)", "?s <urn:x:in> ?room . ?s <urn:x:reads> ?v", "\nGROUP BY ?room"
    ),
    "joined": _asked("?s ?room ?v", "?s <urn:x:in> ?room . ?s <urn:x:reads> ?v"),
    "blank": _asked("?o ?s ?room", "?o <urn:x:of> ?s . ?s <urn:x:in> ?room"),
    "pairs": _asked("?a ?b", _PAIRS),
    "others": _asked("?a ?b", f"{_PAIRS}{_DIFFERENT}"),
}
_VALUES = ("readings", "warm", "mean")
_SOME_ROWS = ("readings", "joined", "blank")
"""Queries for faults of some rows of an answer."""
_TRACED = ("readings", "joined")
"""Queries for lost input: with blank nodes, rows cannot be traced to elements, and the judge names lost rows."""


def draw_stream(seed: int) -> list[Element]:
    """Return readings of a few sensors over about 24 seconds, no two of them equal."""
    random = Random(f"stream {seed}")
    sensors = [Iri(f"urn:x:sensor{number}") for number in range(random.randint(4, 7))]
    rooms = {sensor: Iri(f"urn:x:room{random.randrange(3)}") for sensor in sensors}
    elements: list[Element] = []
    t = random.randrange(900)
    while t < 24_000:
        sensor = random.choice(sensors)
        value = Decimal(random.randrange(10_000, 30_000)) / 1000 + Decimal(len(elements) % 10) / 10_000
        triples = (
            Triple(sensor, Iri("urn:x:reads"), Literal(f"{value:.4f}", XSD_DECIMAL)),
            Triple(sensor, Iri("urn:x:in"), rooms[sensor]),
            Triple(BlankNode(f"o{len(elements)}"), Iri("urn:x:of"), sensor),
        )
        elements.append(Element.of(t, len(elements), *triples))
        t += random.randint(120, 560)
    return elements


PlanMaker = Callable[[Random], Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """Fault of the catalogue, with the name that the gauge must give it."""

    name: str
    kind: FaultKind
    plan: PlanMaker
    queries: tuple[str, ...] = ("readings", "joined", "blank")
    also: frozenset[FaultKind] = frozenset()
    """Further faults that the same deviation is."""
    named: bool | None = None
    """Whether answers must, or must not, name the time of their report; None: either."""


def _emit(change: Callable[[Random, int, Answer], Iterable[Answer]]) -> PlanMaker:
    """Return the plan of an engine that gives other answers, answer by answer."""

    def make(random: Random) -> Emit:
        return lambda number, answer: change(random, number, answer)

    return lambda _: Plan(emit=make)


def _rows(change: Callable[[Random, tuple[dict[str, str], ...]], Sequence[dict[str, str]]]) -> PlanMaker:
    """Return the plan of an engine that changes the rows of its answers."""
    return _emit(lambda random, _, answer: [answer.model_copy(update={"rows": tuple(change(random, answer.rows))})])


def _terms(change: Callable[[str], str]) -> PlanMaker:
    return _rows(lambda _, rows: [{name: change(term) for name, term in row.items()} for row in rows])


def _lose_one(random: Random, rows: tuple[dict[str, str], ...]) -> Sequence[dict[str, str]]:
    place = random.randrange(max(len(rows), 1))
    return rows[:place] + rows[place + 1 :]


def _round(term: str) -> str:
    datatype = f'"^^<{XSD_DECIMAL}>'
    return f'"{Decimal(term[1 : -len(datatype)]):.1f}{datatype}' if term.endswith(datatype) else term


def _raise(term: str) -> str:
    datatype = f'"^^<{XSD_DECIMAL}>'
    return f'"{Decimal(term[1 : -len(datatype)]) + 7}{datatype}' if term.endswith(datatype) else term


def _swapping(_: Random) -> Emit:
    waiting: list[Answer] = []

    def emit(number: int, answer: Answer) -> Iterable[Answer]:
        if number % 4 == 1:
            waiting.append(answer)
            return ()
        return (answer, waiting.pop()) if waiting else (answer,)

    return emit


def _repeating(_: Random) -> Emit:
    last: list[Answer] = []

    def emit(number: int, answer: Answer) -> Iterable[Answer]:
        said = answer.model_copy(update={"rows": last[-1].rows}) if number % 3 == 2 else answer
        last.append(answer)
        return (said,)

    return emit


def _later(random: Random) -> int:
    return random.randint(500, 1500)


def _between(_: Random, number: int, answer: Answer) -> Iterable[Answer]:
    """Say something more between two reports."""
    assert answer.t is not None
    more = answer.model_copy(update={"t": answer.t + STEP // 2, "rows": answer.rows[:1]})
    return (answer, more) if number % 3 == 1 else (answer,)


def _another_time(_: Random, __: int, answer: Answer) -> Iterable[Answer]:
    assert answer.t is not None
    return (answer.model_copy(update={"t": answer.t + 700}),)


def _stop(verdict: Verdict, words: str) -> PlanMaker:
    return lambda _: Plan(stop=EngineStoppedError(verdict, words))


CATALOGUE = (
    # The way a run ends.
    PlantedFault(name="dies", kind=FaultKind.CRASHES, plan=_stop(Verdict.CRASH, "exit 1: out of ideas")),
    PlantedFault(name="hangs", kind=FaultKind.HANGS, plan=_stop(Verdict.TIMEOUT, "not done after 36 s")),
    PlantedFault(
        name="slow",
        kind=FaultKind.TOO_SLOW,
        plan=lambda random: Plan(cost=random.randint(4500, 6000)),
        also=frozenset({FaultKind.LATE}),
    ),
    PlantedFault(
        name="memory", kind=FaultKind.OUT_OF_MEMORY, plan=_stop(Verdict.OUT_OF_MEMORY, "more than 4096 megabytes")
    ),
    PlantedFault(name="garbage", kind=FaultKind.GARBAGE, plan=lambda _: Plan(garbage=b"Result: 42\n")),
    PlantedFault(
        name="flood",
        kind=FaultKind.FLOODS,
        plan=_emit(lambda _, n, answer: [answer.model_copy(update={"rows": answer.rows * (9_999 if n == 5 else 1)})]),
    ),
    PlantedFault(name="failure", kind=FaultKind.FAILS, plan=lambda _: Plan(fails="NullPointerException")),
    # Whole answers.
    PlantedFault(name="silent", kind=FaultKind.SILENT, plan=_emit(lambda *_: ())),
    PlantedFault(
        name="lost windows",
        kind=FaultKind.UNANSWERED,
        plan=_emit(lambda _, number, answer: () if number % 3 == 1 else (answer,)),
    ),
    PlantedFault(
        name="output ends early",
        kind=FaultKind.UNANSWERED,
        plan=_emit(lambda _, number, answer: () if number > 6 else (answer,)),
    ),
    PlantedFault(name="answers between reports", kind=FaultKind.UNEXPECTED, plan=_emit(_between), named=True),
    PlantedFault(
        name="another time named",
        kind=FaultKind.UNEXPECTED,
        plan=_emit(_another_time),
        also=frozenset({FaultKind.UNANSWERED}),
        named=True,
    ),
    PlantedFault(
        name="doubled answers",
        kind=FaultKind.REPEATS,
        plan=_emit(lambda _, number, answer: [answer] * (1 + number % 2)),
    ),
    PlantedFault(name="disordered answers", kind=FaultKind.DISORDER, plan=lambda _: Plan(emit=_swapping)),
    PlantedFault(name="stale answers", kind=FaultKind.STALE, plan=lambda _: Plan(emit=_repeating)),
    PlantedFault(name="late answers", kind=FaultKind.LATE, plan=lambda random: Plan(late=random.randint(2600, 4000))),
    PlantedFault(
        name="answers before the close",
        kind=FaultKind.EARLY,
        plan=lambda random: Plan(end=-random.randint(2700, 3000)),
        also=frozenset({FaultKind.CLOSES_EARLY}),
    ),
    # Rows and terms.
    PlantedFault(name="lost rows", kind=FaultKind.LOSES_ROWS, plan=_rows(_lose_one), queries=_SOME_ROWS),
    PlantedFault(
        name="truncated answers",
        kind=FaultKind.LOSES_ROWS,
        plan=_rows(lambda _, rows: rows[:3]),
        queries=("readings", "pairs"),
    ),
    PlantedFault(
        name="doubled rows",
        kind=FaultKind.REPEATS,
        plan=_rows(lambda random, rows: (*rows, random.choice(rows))),
        queries=_SOME_ROWS,
    ),
    PlantedFault(
        name="doubles for decimals",
        kind=FaultKind.DATATYPE,
        plan=_terms(lambda term: term.replace(f"{XSD}decimal", f"{XSD}double")),
        queries=_VALUES,
    ),
    PlantedFault(
        name="texts for decimals",
        kind=FaultKind.DATATYPE,
        plan=_terms(lambda term: term.partition("^^")[0]),
        queries=_VALUES,
    ),
    PlantedFault(name="wrong values", kind=FaultKind.VALUES, plan=_terms(_raise), queries=_VALUES),
    PlantedFault(name="rounded values", kind=FaultKind.ROUNDS, plan=_terms(_round), queries=_VALUES),
    PlantedFault(
        name="one blank node for all",
        kind=FaultKind.BLANK_NODES,
        plan=_terms(lambda term: "_:x" if term.startswith("_:") else term),
        queries=("blank",),
    ),
    PlantedFault(
        name="invented rows",
        kind=FaultKind.INVENTS_ROWS,
        plan=_rows(lambda random, rows: (*rows, {name: f"<urn:y:{random.random()}>" for name in rows[0]})),
    ),
    PlantedFault(
        name="filter ignored",
        kind=FaultKind.INVENTS_ROWS,
        plan=lambda _: Plan(text=lambda text: text.replace(_WARM, "")),
        queries=("warm",),
    ),
    PlantedFault(
        name="self pairs lost",
        kind=FaultKind.SELF_PAIRS,
        plan=lambda _: Plan(text=lambda text: text.replace(_PAIRS, f"{_PAIRS}{_DIFFERENT}")),
        queries=("pairs",),
    ),
    PlantedFault(
        name="self pairs added",
        kind=FaultKind.SELF_PAIRS,
        plan=lambda _: Plan(text=lambda text: text.replace(_DIFFERENT, "")),
        queries=("others",),
    ),
    # Content of windows.
    PlantedFault(
        name="shifted to later times",
        kind=FaultKind.SHIFTS,
        plan=lambda random: Plan(start=(by := _later(random)), end=by),
    ),
    PlantedFault(
        name="shifted to earlier times",
        kind=FaultKind.SHIFTS,
        plan=lambda random: Plan(start=-(by := _later(random)), end=-by),
    ),
    PlantedFault(name="late start", kind=FaultKind.OPENS_LATE, plan=lambda random: Plan(start=_later(random))),
    PlantedFault(name="early start", kind=FaultKind.EVICTS_LATE, plan=lambda random: Plan(start=-_later(random))),
    PlantedFault(name="late end", kind=FaultKind.CLOSES_LATE, plan=lambda random: Plan(end=_later(random))),
    PlantedFault(name="early end", kind=FaultKind.CLOSES_EARLY, plan=lambda random: Plan(end=-_later(random))),
    PlantedFault(name="wavering borders", kind=FaultKind.WAVERS, plan=lambda _: Plan(waver=700)),
    PlantedFault(name="no eviction", kind=FaultKind.NO_EVICTION, plan=lambda _: Plan(kept=1.0)),
    PlantedFault(
        name="some evictions missing",
        kind=FaultKind.NO_EVICTION,
        plan=lambda random: Plan(kept=random.uniform(0.2, 0.4)),
        queries=_SOME_ROWS,
    ),
    PlantedFault(
        name="dropped elements",
        kind=FaultKind.DROPS,
        plan=lambda random: Plan(dropped=random.uniform(0.1, 0.25)),
        queries=_TRACED,
    ),
    PlantedFault(name="input skipped while busy", kind=FaultKind.SKIPS, plan=lambda _: Plan(busy=800), queries=_TRACED),
)
"""Faults that can be planted."""


def find_kinds(outcome: OutcomeRecord) -> set[FaultKind]:
    """Return the kinds of the faults in a record."""
    longest = sorted(FaultKind, key=lambda kind: -len(kind))
    return {next(kind for kind in longest if fault.startswith(kind)) for fault in outcome.faults}


def run_trial(
    folder: Path,
    query: str,
    plan: Plan,
    noise: Noise,
    *,
    ends: bool = True,
    comparison: Comparison = Comparison.EXACT,
) -> OutcomeRecord:
    """Play the stream of the noise's seed to an engine, and return what the gauge finds."""
    elements, asked = draw_stream(noise.seed), QUERIES[query]
    engine = PlantedEngine(plan, noise)
    question = EngineQuery(asked.text, asked.variables)
    played = play_by_recorded_time(engine, query, question, STREAM, elements)
    stream = folder / f"stream-{noise.seed}.parquet"
    if not stream.exists():
        pq.write_table(encode_elements(elements), stream)
    record = PlayedRun(
        test="planted",
        engine="planted",
        repetition=noise.seed,
        questions={query: PlayedQuery(asked=asked.text, text=asked.text, variables=asked.variables)},
        streams={STREAM.value: str(stream)},
        first=elements[0].t,
        speed=1.0,
        judging=JudgeSettings(ends=ends, comparison=comparison),
        seconds=played.seconds,
        elements=len(played.handed),
        triples=3 * len(played.handed),
        executions=dict(played.executions),
        endings={
            name: PlayedFailure(
                verdict=each.verdict, phase=each.phase, words=each.words, output_error=each.output_error
            )
            for name, each in played.outcomes.items()
        },
    )
    place = write_played(folder, record, played)
    target = compute_expected(folder, place, record, RunOptions(processes=1))
    return next(each for each in judge_run(place, target) if isinstance(each, OutcomeRecord))


def run_honest(folder: Path, number: int, seed: int) -> OutcomeRecord:
    """Let an honest engine answer under noise that the number draws."""
    random = Random(f"honest {seed} {number}")
    ends = random.random() < 0.5
    noise = Noise(
        seed=1000 * seed + number,
        named=random.random() < 0.6,
        silent_when_empty=random.random() < 0.3,
        ends=ends or random.random() < 0.5,
        jitter=random.uniform(0, 300),
    )
    query = list(QUERIES)[number % len(QUERIES)]
    return run_trial(folder, query, Plan(), noise, ends=ends, comparison=random.choice(list(Comparison)))


@dataclass(frozen=True, slots=True)
class Trial:
    """One planted fault with what the gauge said about it."""

    fault: PlantedFault
    query: str
    outcome: OutcomeRecord

    @property
    def is_named(self) -> bool:
        """Whether the gauge names the fault, and no other."""
        found = find_kinds(self.outcome)
        return self.fault.kind in found and found <= {self.fault.kind} | self.fault.also

    def __str__(self) -> str:
        """Return the trial in one line."""
        said = "; ".join(self.outcome.faults) or self.outcome.verdict
        expected = "" if self.is_named else f", expected: {self.fault.kind}"
        return f"{self.fault.name}, {self.query}: {said}{expected}"


def plant(folder: Path, fault: PlantedFault, seed: int) -> Trial:
    """Plant a fault with distances and shares that the seed draws, under noise."""
    random = Random(f"plant {seed} {fault.name}")
    noise = Noise(
        seed=1000 * seed + random.randrange(1000),
        named=random.random() < 0.7 if fault.named is None else fault.named,
        jitter=random.uniform(0, 100),
    )
    query = random.choice(fault.queries)
    return Trial(fault, query, run_trial(folder, query, fault.plan(random), noise))


def draw_faults(number: int, seed: int) -> Iterator[PlantedFault]:
    """Yield faults of the catalogue in random order; each once before one comes again."""
    random = Random(f"faults {seed}")
    left: list[PlantedFault] = []
    for _ in range(number):
        left = left or random.sample(CATALOGUE, len(CATALOGUE))
        yield left.pop()


@click.command()
@click.option("--faults", default=20, show_default=True, help="Faults that are planted.")
@click.option("--honest", default=200, show_default=True, help="Runs of the honest engine.")
@click.option("--seed", default=1, show_default=True)
def main(faults: int, honest: int, seed: int) -> None:
    """Plant faults, and let an honest engine answer under the same noise."""
    named = blamed = 0
    with tempfile.TemporaryDirectory(prefix="hydrograph-gauge-") as place:
        folder = Path(place)
        for number, fault in enumerate(draw_faults(faults, seed)):
            trial = plant(folder, fault, seed + number)
            named += trial.is_named
            click.echo(str(trial))
        for number in range(honest):
            outcome = run_honest(folder, number, seed)
            if outcome.verdict != Verdict.OK or outcome.faults:
                blamed += 1
                said = "; ".join(outcome.faults)
                click.echo(f"honest run {number} of seed {seed}, {outcome.key.query}: {outcome.verdict}: {said}")
    click.echo(f"gauge: {faults} planted, {named} named, {honest} honest runs, {blamed} blamed")
    if named < faults or blamed:
        sys.exit(1)


if __name__ == "__main__":
    main()

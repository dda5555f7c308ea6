"""Functional suite on an engine: all cases in one process, and each alone if that process dies, several times.

An engine that goes by the clock is asked at a controlled phase (`start_phase`). A case that is right in some runs and
wrong in others is unstable: that is a verdict of its own.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from pathlib import Path
from typing import Protocol

from hydrograph.algebra.nodes import Values
from hydrograph.algebra.queries import ContinuousQuery, Select
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import UnsupportedError
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import AnswerBlock, Origin, Outcome, Phase, Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session
from hydrograph_gauge.engines.start_phase import StartPhase
from hydrograph_gauge.functional.cases import CASES, PHASE, UNIT
from hydrograph_gauge.oracle.compare import Difference, compare, format_row
from hydrograph_gauge.oracle.dataset import Row, StaticData
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import AsFastAsTaken, ByEventTime, Pace
from hydrograph_gauge.run_records import FunctionalRecord

_DIED = {Verdict.CRASH, Verdict.TIMEOUT, Verdict.OUT_OF_MEMORY}
_LIMITS = Limits(seconds=120)


class SuiteTest(Protocol):
    """Case of the suite, ours or the W3C's."""

    @property
    def group(self) -> str:
        """The column of the matrix."""

    @property
    def name(self) -> str:
        """The row of the matrix."""

    @property
    def static(self) -> str:
        """Key of its static data: cases with equal keys share a process."""

    def query(self) -> ContinuousQuery:
        """Return the query."""

    def start(self, phase: Duration) -> Instant:
        """Return the time at which the clock of an engine is started."""

    def elements(self, *, phase: Duration | None = None) -> Mapping[Iri, tuple[Element, ...]]:
        """Return the streams, with a phase for an engine that goes by the clock."""

    def static_data(self) -> StaticData:
        """Return the static data."""

    def expected(self) -> Mapping[Instant, Counter[Row]] | None:
        """Return the answers by the time of their report, where they are known."""

    def until(self) -> Instant:
        """Return the time of the last report that is judged."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A case as an engine is asked it: its streams have names of their own, so that all cases can run at once."""

    case: SuiteTest
    number: int

    @property
    def key(self) -> str:
        return f"q{self.number}"

    def query(self) -> ContinuousQuery:
        query = self.case.query()
        windows = tuple(replace(window, stream=self._own(window.stream)) for window in query.windows)
        return replace(query, windows=windows)

    def streams(self, phase: Duration | None) -> dict[Iri, tuple[Element, ...]]:
        return {self._own(name): each for name, each in self.case.elements(phase=phase).items()}

    def period(self) -> Duration:
        """Return after how many milliseconds the windows repeat."""
        windows = [window.definition for window in self.case.query().windows]
        return lcm(*(window.slide for window in windows if isinstance(window, TimeWindow) and window.slide))

    def _own(self, stream: Iri) -> Iri:
        return Iri(f"{stream.value}-{self.number}")


def run_suite(
    engine: str,
    cases: Sequence[SuiteTest] = CASES,
    limits: Limits = _LIMITS,
    *,
    repeat: int = 1,
    phase: Duration = PHASE,
) -> Iterator[FunctionalRecord]:
    """Yield how an engine does in each case over all runs; a case that its language cannot express is not run.

    Each run has processes of its own. The phase is that of an engine that goes by the clock. A run in which elements
    were taken so late that the phase is lost proves nothing: it does not count, and the case is run again, at most as
    often as it is to be run.
    """
    by_case: dict[int, list[FunctionalRecord]] = {number: [] for number in range(len(cases))}
    for attempt in range(2 * repeat):
        wanted = [n for n, found in by_case.items() if attempt < repeat or _is_short(found, repeat)]
        for n, record in _run_once(engine, {n: cases[n] for n in wanted}, limits, phase):
            by_case[n].append(record)
    yield from map(merge_runs, by_case.values())


def _is_short(found: Sequence[FunctionalRecord], repeat: int) -> bool:
    """Tell whether a case has fewer runs that count than it was to have, because others were disturbed."""
    return any(map(_is_disturbed, found)) and sum(each.passed is not None for each in found) < repeat


def _is_disturbed(record: FunctionalRecord) -> bool:
    return record.passed is None and record.words.startswith(_DISTURBED)


def merge_runs(found: Sequence[FunctionalRecord]) -> FunctionalRecord:
    """Return one record for all runs of a case; its message is that of the first wrong run."""
    asked = [(number, each) for number, each in enumerate(found, start=1) if each.passed is not None]
    if len(found) == 1 or not asked:
        return found[0]
    rights = tuple(bool(each.passed) for _, each in asked)
    wrong = [(number, each) for number, each in asked if not each.passed]
    words = ""
    if wrong:
        number, first = wrong[0]
        words = f"right in {sum(rights)} of {len(rights)} runs; run {number}: {first.words}"
        disturbed = sum(map(_is_disturbed, found))
        words += f"; {disturbed} more disturbed" if disturbed else ""
    return asked[0][1].model_copy(update={"passed": all(rights), "rights": rights, "words": words})


def _run_once(
    engine: str, cases: Mapping[int, SuiteTest], limits: Limits, phase: Duration
) -> Iterator[tuple[int, FunctionalRecord]]:
    asked = [_Asked(case, number) for number, case in cases.items()]
    texts: dict[int, str] = {}
    for each in asked:
        try:
            texts[each.number] = registry.print_for_engine(engine, each.query())
        except UnsupportedError as error:
            yield each.number, _record(engine, each.case, None, str(error))
    able = [each for each in asked if each.number in texts]
    with tempfile.TemporaryDirectory(prefix="functional-") as folder:
        for batch in _batches(able):
            yield from _answered(engine, batch, texts, Path(folder), limits, phase)


def _batches(asked: Sequence[_Asked]) -> Iterator[list[_Asked]]:
    """Put cases together that have the same static data: an engine has only one set of it."""
    by_static: dict[str, list[_Asked]] = {}
    for each in asked:
        by_static.setdefault(each.case.static, []).append(each)
    yield from by_static.values()


def _answered(
    engine: str, batch: list[_Asked], texts: dict[int, str], folder: Path, limits: Limits, phase: Duration
) -> Iterator[tuple[int, FunctionalRecord]]:
    played = _played(engine, batch, texts, folder, limits, phase)
    if len(batch) > 1 and any(outcome.verdict in _DIED for outcome in played.outcomes.values()):
        for each in batch:  # one of them is to blame, and the others must not suffer
            yield from _answered(engine, [each], texts, folder, limits, phase)
        return
    for each in batch:
        yield each.number, _judged_in_phase(engine, each, played, phase)


_MARGIN = 100.0
"""Milliseconds that are left between an element and a border, so that engine and gauge agree on which comes first."""
_DISTURBED = "disturbed: "


def _judged_in_phase(engine: str, asked: _Asked, played: SessionResult, phase: Duration) -> FunctionalRecord:
    """Return the record of a case; without a verdict where the phase of an engine that goes by the clock was lost."""
    outcome = played.outcomes.get(asked.key)
    record = _judged(engine, asked.case, played.blocks[asked.key], outcome, phase)
    if record.passed is None or not registry.get_engine(engine).by_clock:
        return record
    streams = asked.streams(phase)
    late = max((each.at - each.due for each in played.handed if each.stream in streams), default=0.0)
    if late > min(phase, UNIT - phase) - _MARGIN:
        words = f"{_DISTURBED}an element was taken {late:.0f} ms late, with a phase of {phase} ms"
        return _record(engine, asked.case, None, words)
    registration = played.registered.get(asked.key)
    if not record.passed and registration is not None and not registration.is_within(phase):
        took = registration.heard - registration.told
        note = f"; its registration took {took:.0f} ms, so that the phase of {phase} ms is not certain"
        return record.model_copy(update={"words": record.words + note})
    return record


def _played(
    engine: str, batch: list[_Asked], texts: dict[int, str], folder: Path, limits: Limits, phase: Duration
) -> SessionResult:
    by_clock = registry.get_engine(engine).by_clock
    by_case = {each.key: each.streams(phase if by_clock else None) for each in batch}
    streams = {name: elements for each in by_case.values() for name, elements in each.items()}
    start = StartPhase(
        {each.key: each.period() for each in batch}, {name: key for key, each in by_case.items() for name in each}
    )
    pace: Pace = ByEventTime() if by_clock else AsFastAsTaken()
    static: dict[str | None, str] = {}
    if batch[0].case.static:
        file = folder / "static.nt"
        triples = batch[0].case.static_data().default
        lines = (f"{term_text(t.subject)} {term_text(t.predicate)} {term_text(t.object)} .\n" for t in triples)
        file.write_text("".join(sorted(lines)), "utf-8")
        static[None] = str(file)
    questions = {each.key: EngineQuery(texts[each.number], _variables(each.query())) for each in batch}
    task = SessionInput(questions, streams, dict.fromkeys(streams, pace), static, start=start if by_clock else None)
    return run_session(registry.start_command(engine), task, limits)


def _variables(query: ContinuousQuery) -> tuple[str, ...]:
    assert isinstance(query.form, Select)
    return tuple(variable.name for variable in query.form.variables)


def _judged(
    engine: str, case: SuiteTest, blocks: Sequence[AnswerBlock], outcome: Outcome | None, phase: Duration
) -> FunctionalRecord:
    if outcome is not None and outcome.verdict is not Verdict.NO_ANSWER:
        able = outcome.phase is Phase.EXECUTION or outcome.verdict is Verdict.RUNTIME_ERROR
        able = able and outcome.origin is not Origin.ADAPTER
        return _record(engine, case, False if able else None, f"{outcome.verdict}: {outcome.words}")
    known = registry.get_engine(engine)
    try:
        expects = due(case, known.profile, phase if known.by_clock else None)
    except UnsupportedError as error:  # its windows are not those of the case, and what they answer is left to chance
        return _record(engine, case, None, str(error))
    if known.eager:
        wrong = row_by_row(expects, blocks, case.until())
    else:
        wrong = difference(expects, blocks, case.until(), by_clock=known.by_clock)
    return _record(engine, case, not wrong, wrong)


def due(case: SuiteTest, profile: Profile, phase: Duration | None = None) -> dict[Instant, Counter[Row]]:
    """Return what is to be answered, with the windows that have nothing to say where the engine reports those.

    With a phase, windows are those of an engine that goes by the clock, and begin where that was started.
    """
    elements = case.elements(phase=phase)
    t0 = None if phase is None else case.start(phase)
    by_hand = case.expected()
    if by_hand is not None and profile == RSPQL and phase is None:
        # When there is a report does not depend on what is asked; not all of that could be foreseen, such as BNODE.
        anything = replace(case.query(), pattern=Values((), ()))
        reports = evaluate_reports(anything, elements, profile=profile, evaluator=lambda _, __: ())
        return {report.t: Counter[Row]() for report in reports} | dict(by_hand)
    found: dict[Instant, Counter[Row]] = {}
    for report in evaluate_reports(case.query(), elements, case.static_data(), profile=profile, t0=t0):
        found[report.t] = found.get(report.t, Counter()) + report.rows
    return found


def difference(
    due: dict[Instant, Counter[Row]], blocks: Sequence[AnswerBlock], until: Instant, *, by_clock: bool
) -> str:
    """Return what is wrong up to a time, nothing if all is right. Answers that name no time are taken in order.

    An empty report differs from silence, where times tell which reports came.
    """
    said = [block for block in blocks if block.rows]
    if not by_clock and all(block.t is not None for block in said):
        times = Counter(block.t for block in said)
        if again := [t for t, count in times.items() if count > 1]:
            return f"answered {times[again[0]]} times at {again[0]} ms"
        found = {block.t: block.rows for block in said if block.t is not None}
        for t in sorted(t for t in due.keys() | found.keys() if t <= until):
            if wrong := compare(due.get(t, Counter()), found.get(t, Counter())):
                return f"at {t} ms: {_first_line(str(wrong))}"
        came = {block.t for block in blocks}
        silent = [t for t, rows in due.items() if t <= until and not rows and t not in came]
        return f"silent at {silent[0]} ms, where an empty report was due" if silent and None not in came else ""
    wanted = [rows for rows in due.values() if rows]
    needed = sum(t <= until for t, rows in due.items() if rows)
    # A clock continues after the end of a stream; other engines may answer once more at the end.
    for number, block in enumerate(said[:needed] if by_clock else said):
        if number > len(wanted):
            return f"more answers than the {len(wanted)} that were due, such as {format_row(next(iter(block.rows)))}"
        if number < needed and (wrong := compare(wanted[number], block.rows)):
            return f"answer {number + 1}: {_first_line(str(wrong))}"
    return f"{len(said)} answers with rows where {needed} were due" if len(said) < needed else ""


def row_by_row(due: dict[Instant, Counter[Row]], blocks: Sequence[AnswerBlock], until: Instant) -> str:
    """Return the difference for an engine that gives each row as soon as it can, in any number of answers.

    Rows that are due after the time may come, and need not.
    """
    wanted = sum((rows for t, rows in due.items() if t <= until), Counter[Row]())
    later = sum((rows for t, rows in due.items() if t > until), Counter[Row]())
    found = compare(wanted, sum((block.rows for block in blocks), Counter[Row]()))
    wrong = Difference(found.missing, compare(later, found.extra).extra)
    return _first_line(str(wrong)) if wrong else ""


def _first_line(text: str) -> str:
    lines = text.splitlines()
    return lines[0] + (f" and {len(lines) - 1} more" if len(lines) > 1 else "")


def _record(engine: str, case: SuiteTest, passed: bool | None, words: str) -> FunctionalRecord:  # noqa: FBT001
    return FunctionalRecord(engine=engine, group=case.group, name=case.name, passed=passed, words=words[:300])

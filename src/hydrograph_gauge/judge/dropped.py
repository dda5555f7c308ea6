"""Elements that an engine has not seen: found by leaving out one after the other, told apart by when it was busy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hydrograph.windows.stream import Element
from hydrograph_gauge.judge.borders import Answered
from hydrograph_gauge.judge.evidence import Evidence, Place
from hydrograph_gauge.judge.faults import Fault, Kind
from hydrograph_gauge.judge.judge_input import Trial
from hydrograph_gauge.judge.row_compare import terms_of
from hydrograph_gauge.oracle.compare import compare

_BUDGET = 1_000_000
_MOSTLY, _HARDLY = 0.5, 0.1


def dropped(evidence: Evidence, trial: Trial, wrong: Sequence[Answered]) -> Fault | None:
    """Return that elements are dropped, or skipped while the engine is busy, if that explains all wrong windows."""
    lost: set[Place] = set()
    known: set[Place] = set()
    seen: dict[Place, Element] = {}
    budget = evidence.cost + _BUDGET
    for each in wrong:
        found = _lost(evidence, each, frozenset(lost), known, budget)
        if found is None:
            return None
        held = evidence.elements(each.due.t, each.due.seq)
        seen |= {evidence.place(n, element): element for n, element in held}
        lost |= found
        known |= {evidence.place(n, element) for n, element in held}
    if not lost:
        return None
    first = min(seen[place].t for place in lost)
    how = f"{len(lost)} of {len(seen)} in the windows that are wrong, the first at {first} ms"
    return Fault(Kind.SKIPS if _while_busy(trial, lost) else Kind.DROPS, how)


def _lost(
    evidence: Evidence, each: Answered, lost: frozenset[Place], known: Iterable[Place], budget: int
) -> set[Place] | None:
    """Return elements of a window without which its answer is right; None if there are none such.

    An element may be missing if nothing that came needs it, and something that did not come does.
    """
    t, before = each.due.t, None if each.before is None else each.before.t
    actual, expected = terms_of(each.said.rows), evidence.answer(t, before)
    missing = compare(expected, actual).missing
    places = dict.fromkeys(evidence.place(n, e) for n, e in evidence.elements(t, each.due.seq))
    mine = {place for place in lost if place in places}
    for place in places:
        if place in known:
            continue
        if evidence.cost > budget:
            return None
        without = evidence.answer(t, before, without=frozenset({place}))
        gone = expected - without
        if gone and gone <= missing:
            mine.add(place)
    rest = evidence.answer(t, before, without=frozenset(mine))
    return mine if not compare(rest, actual) else None


def _while_busy(trial: Trial, lost: set[Place]) -> bool:
    """Tell whether most of what was handed over between a report and its answer was lost, and hardly anything else."""
    if trial.due_at is None or not trial.handed:
        return False
    times = {due.t: trial.due_at(due) for due in trial.due}
    busy = [(since, said.at) for said in trial.said if said.t is not None and (since := times.get(said.t)) is not None]
    if not busy:
        busy = [
            (since, said.at)
            for due, said in zip(trial.due, trial.said, strict=False)
            if (since := trial.due_at(due)) is not None
        ]
    counts = {True: [0, 0], False: [0, 0]}  # by whether it was busy: lost, all
    for each in trial.handed:
        during = any(since <= each.at <= until for since, until in busy)
        counts[during][0] += (each.stream, each.element.seq) in lost
        counts[during][1] += 1
    inside, outside = ((of and gone / of) for gone, of in (counts[True], counts[False]))
    return inside >= _MOSTLY and outside <= _HARDLY

"""Helpers of the sections: letters of verdicts, thinning of long series, wording of lists and numbers, and times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.report.document import Axis, Cell, Point, Tone
from hydrograph_gauge.report.run_data import WindowScore
from hydrograph_gauge.run_records import OutcomeRecord

LETTERS: dict[Verdict, tuple[str, Tone]] = {
    Verdict.NOT_ASKED: ("\N{EN DASH}", "off"),
    Verdict.OK: ("\N{CHECK MARK}", "right"),
    Verdict.WRONG: ("W", "wrong"),
    Verdict.NO_ANSWER: ("N", "silent"),
    Verdict.SYNTAX_ERROR: ("S", "syntax"),
    Verdict.NOT_SUPPORTED: ("U", "unsupported"),
    Verdict.RUNTIME_ERROR: ("R", "error"),
    Verdict.TIMEOUT: ("T", "timeout"),
    Verdict.OUT_OF_MEMORY: ("M", "memory"),
    Verdict.CRASH: ("C", "crash"),
}
"""From good to bad; the worst of several repetitions counts."""

_WORSE = {verdict: place for place, verdict in enumerate(LETTERS)}


def verdict_of(outcome: OutcomeRecord) -> Verdict | None:
    """Return the verdict; None for an unknown one."""
    try:
        return Verdict(outcome.verdict)
    except ValueError:
        return None


def has_failed(outcome: OutcomeRecord) -> bool:
    """Return whether a query was asked and is not right."""
    return verdict_of(outcome) not in (Verdict.OK, Verdict.NOT_ASKED)


def worst(outcomes: Sequence[OutcomeRecord]) -> OutcomeRecord | None:
    """Return the worst of the repetitions; an unknown verdict is worse than every known one."""
    return max(outcomes, key=lambda each: _WORSE.get(verdict_of(each) or Verdict.CRASH, len(_WORSE)), default=None)


def verdict_cell(outcome: OutcomeRecord, *, to: str | None = None) -> Cell:
    """Return the letter of a verdict; its meaning includes the phase and the message of the engine."""
    verdict = verdict_of(outcome)
    letter, tone = LETTERS[verdict] if verdict is not None else ("?", "off")
    meaning = outcome.verdict
    if verdict not in (Verdict.OK, Verdict.WRONG, Verdict.NO_ANSWER):
        meaning += f" at {outcome.phase}"
    if outcome.origin not in (None, "engine"):
        meaning += f", attributed to the {outcome.origin}"
    if outcome.words:
        meaning += f": {cut(outcome.words, 160)}"
    if outcome.errors:
        meaning += f"; standard error: {cut(outcome.errors[0], 160)}"
    return Cell(letter, meaning, tone, to)


def legend(outcomes: Iterable[OutcomeRecord]) -> tuple[Cell, ...]:
    """Return the letters that were used, with their meanings."""
    used = {verdict_of(outcome) for outcome in outcomes}
    return tuple(Cell(letter, verdict.value, tone) for verdict, (letter, tone) in LETTERS.items() if verdict in used)


def thin(points: Sequence[Point], most: int, pick: Callable[[list[float]], float]) -> tuple[Point, ...]:
    """Return at most `most` points: neighbours are merged, and `pick` chooses their value.

    >>> thin([(0, 1), (1, 0), (2, 1), (3, 1)], most=2, pick=min)
    ((0, 0), (2, 1))
    """
    size = math.ceil(len(points) / most) if points else 1
    if size == 1:
        return tuple(points)
    found: list[Point] = []
    for start in range(0, len(points), size):
        values = [value for _, value in points[start : start + size] if value is not None]
        found.append((points[start][0], pick(values) if values else None))
    return tuple(found)


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters, with an ellipsis where something was left out."""
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def counted(number: int, name: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "query", "queries"), counted(1200, "window")
    ('1 query', '1,200 windows')
    """
    return f"{number:,} {name if number == 1 else plural or name + 's'}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names as a phrase.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a', 'a, b and c', 'a, b and 1 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))


def is_wide(values: Iterable[float | None]) -> bool:
    """Tell whether values span so much that a logarithmic axis is needed to see the small ones."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) >= 50


DAY = 86_400_000
"""Times further from 0 than this are dates."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def base(found: Iterable[WindowScore]) -> int:
    """Return the offset of the times of an engine's windows: the first opening if that is a date, else 0."""
    times = [each.t if each.open is None else each.open for each in found if each.t is not None]
    first = min(times, default=0)
    return first if abs(first) >= DAY else 0


def axis(bases: Iterable[int]) -> Axis:
    """Return the axis of times with these offsets."""
    label = "time since the first window opened" if any(bases) else "event time"
    return Axis(label, "seconds", "s")


def span(start: int, end: int) -> str:
    """Return a half-open interval in milliseconds, or as dates.

    >>> span(0, 5000), span(1264982400000, 1264982405500)
    ('[0, 5,000) ms', '[2010-02-01 00:00:00, 00:00:05.500) UTC')
    """
    if max(abs(start), abs(end)) < DAY:
        return f"[{start:,}, {end:,}) ms"
    one, other = instant(start), instant(end)
    same, _, rest = other.partition(" ")
    return f"[{one}, {rest if one.startswith(same) else other}) UTC"


def instant(t: int) -> str:
    """Return a time as a date, with milliseconds where it has some; times out of the calendar stay numbers."""
    try:
        when = _EPOCH + timedelta(milliseconds=t)
    except OverflowError:
        return f"{t:,} ms"
    return f"{when:%Y-%m-%d %H:%M:%S}" + (f".{t % 1000:03}" if t % 1000 else "")

"""Search for the unknown t0 of an engine by CSRBench's rule.

Answers are right if they are a contiguous part of the reports that some t0 makes due. Answers that name a time are
compared with the report of that time; only if no t0 makes a report due at any of these times, their order counts. The
content of windows changes only where a border passes an element, so all t0 between two such places are one candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.algebra.windows import PastWindow, TimeWindow
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.profile import Profile
from hydrograph_gauge.judge.row_compare import RowNumbers
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.run_records import RowText

_FINER = 8
"""Into how many parts the distance of two tries is cut, where there are too many candidates to try them all."""

_AT_ONCE = 16
"""Candidates that are asked for together; the search ends after those that hold one without a difference."""

_APART = 60
"""How many reports may be due before the first answer, beyond those that have none."""


@dataclass(frozen=True, slots=True)
class T0Candidates:
    """The t0 to try, ascending; `base` follows from the profile of the engine, and is tried first."""

    base: Instant
    times: tuple[Instant, ...]


@dataclass(frozen=True, slots=True, order=True)
class T0Fit:
    """How well a t0 fits; of two that fit as well, the nearer to what was to be expected is the better one."""

    wrong: int
    """Rows that are missing or too many."""
    distance: Duration
    t0: Instant


_NAMED = 4
"""Places in a slide that the times of answers may have: where they have more, they are not times of reports."""


def list_t0_candidates(
    query: ContinuousQuery, profile: Profile, times: Mapping[Iri, Sequence[Instant]], named: Iterable[Instant] = ()
) -> T0Candidates:
    """Return the t0 that make a difference, from one slide before the first element to one width behind it.

    `times` are those of the elements of each stream, each once; `named` are the times that the answers name: each t0 is
    tried that makes reports due then.

    >>> from hydrograph.language import parse
    >>> query = parse("SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 3s] { WINDOW <urn:w> { ?s ?p ?o } }")
    >>> list_t0_candidates(query, Profile(name="any"), {Iri("urn:s"): [1000, 2000, 3000]}).times
    (-2000, -1000, 0, 1000, 2000, 3000)
    """
    placed = [(each, times[w.stream]) for w in query.windows if (each := _timed(profile, w.definition)) is not None]
    known = [t for window in query.windows for t in times[window.stream]]
    base = profile.start_at(min(known, default=None))
    if not placed or not known:
        return T0Candidates(base, (base,))
    slides = [slide for (_, slide), _ in placed if slide is not None]
    if slides and base <= min(known):
        base = min(known) - (min(known) - base) % lcm(*slides)
    first = base - max(slides, default=0) + 1
    last = base + max(width for (width, _), _ in placed)
    found = {base}
    for (width, slide), seen in placed:
        found.update(_passing(seen, width, slide, first, last))
        found.update(_reporting(named, width, slide, first, last))
    return T0Candidates(base, tuple(sorted(found)))


def _reporting(
    named: Iterable[Instant], width: Duration, slide: Duration | None, first: Instant, last: Instant
) -> Iterable[Instant]:
    """Return the t0 at which windows close at the times that answers name."""
    if slide is None:
        return ()
    # Windows are aligned by their opening or by their close.
    places = Counter((t - shift) % slide for t in named for shift in (0, width))
    return [
        t for place, _ in places.most_common(_NAMED) for t in range(first + (place - first) % slide, last + 1, slide)
    ]


def _timed(profile: Profile, definition: object) -> tuple[Duration, Duration | None] | None:
    """Return the width of a window, and its slide where it has one; None for windows without borders in time."""
    match definition:
        case TimeWindow():
            read = profile.windowing(definition)
            return (read.width, read.slide) if isinstance(read, TimeWindow) else None
        case PastWindow(start, end, slide):
            return start - end, slide
        case _:
            return None


def _passing(
    times: Iterable[Instant], width: Duration, slide: Duration | None, first: Instant, last: Instant
) -> Iterable[Instant]:
    """Return the t0 at which some window opens or closes just before an element; without a slide only the first one."""
    if slide is None:
        return [t for t in times if first <= t <= last]
    borders = {place % slide for t in times for place in (t, t - width)}
    return [t for border in borders for t in range(first + (border - first) % slide, last + 1, slide)]


class EngineOutput:
    """Output of an engine, to be compared with the expected reports of one t0 after another."""

    def __init__(
        self,
        said: Iterable[tuple[Instant | None, Counter[RowText]]],
        *,
        eager: bool,
        by: Comparison = Comparison.EXACT,
    ) -> None:
        """Take the answers in order; of an engine that answers `eager`ly, rows are compared and not executions."""
        self._values = RowNumbers(by)
        answers = [(t, self._values.numbers(rows)) for t, rows in said]
        self._said = [rows for _, rows in answers]
        self._eager = eager
        self._silent = all(self._said)
        times = [t for t, _ in answers if t is not None]
        self.named = tuple(times) if len(times) == len(answers) and not eager else ()
        """The times that answers name, if all do."""
        self.met = False
        """Whether some t0 made a report due at a time that an answer names."""

    def forget_times(self) -> None:
        """Compare answers in their order from now on."""
        self.named = ()

    def wrong(self, due: Iterable[tuple[Instant, Counter[RowText]]]) -> int:
        """Return how many rows are missing or too many, where the answers fit best into what was due."""
        reports = [(t, self._values.numbers(rows)) for t, rows in due]
        if self.named:
            return self._wrong_by_time(reports)
        # An engine without an empty answer reports only what it finds: empty windows are no part of its sequence.
        rows_due = [rows for _, rows in reports if rows or not self._silent]
        if self._eager:
            return _apart(sum(rows_due, Counter()), sum(self._said, Counter()))
        at = self._place(rows_due)
        spare = [rows for place, rows in enumerate(self._said) if not 0 <= at + place < len(rows_due)]
        pairs = [
            (rows_due[at + place], rows) for place, rows in enumerate(self._said) if 0 <= at + place < len(rows_due)
        ]
        return sum(_apart(*pair) for pair in pairs) + sum(rows.total() for rows in spare)

    def _wrong_by_time(self, reports: Sequence[tuple[Instant, Counter[int]]]) -> int:
        """Return the wrong rows from the first time that an answer names to the last.

        An answer at a time without a report is wrong, even if it has no rows.
        """
        expected = {t: rows for t, rows in reports if min(self.named) <= t <= max(self.named)}
        self.met = self.met or not expected.keys().isdisjoint(self.named)
        wrong = 0
        left = dict(expected)
        for t, rows in zip(self.named, self._said, strict=True):
            due = left.pop(t, None)
            wrong += max(rows.total(), 1) if due is None else _apart(due, rows)
        return wrong + sum(rows.total() for rows in left.values())

    def _place(self, reports: Sequence[Counter[int]]) -> int:
        """Return the place of the first answer among the reports: where most are equal, those with rows above all."""
        known: dict[frozenset[tuple[int, int]], int] = {}

        def number(rows: Counter[int]) -> int:
            return known.setdefault(frozenset(rows.items()), len(known)) if rows else -1

        left, right = [number(rows) for rows in reports], [number(rows) for rows in self._said]

        def worth(at: int) -> tuple[int, int, int]:
            pairs = zip(left[max(at, 0) :], right[max(-at, 0) :], strict=False)
            same = Counter(one for one, other in pairs if one == other)
            return same.total() - same[-1], same[-1], -abs(at)

        slack = max(len(left) - len(right), 0) + _APART
        return max(range(-_APART, slack + 1), key=worth)


def _apart(one: Counter[int], other: Counter[int]) -> int:
    return (one - other).total() + (other - one).total()


def search_t0(
    given: T0Candidates, most: int, wrong: Callable[[Sequence[Instant]], Mapping[Instant, int]]
) -> tuple[T0Fit, int]:
    """Return the t0 that fits best, and how many were tried; `wrong` returns the number of wrong rows for some.

    All candidates are tried, from `base` outwards, until one has no difference. More than `most` are tried with gaps
    first, then around the best of them.

    >>> some = T0Candidates(0, tuple(range(1000)))
    >>> search_t0(some, 20, lambda tried: {t: abs(t - 421) for t in tried})[0].t0
    421
    """
    tried: dict[Instant, T0Fit] = {}

    def ask(times: Iterable[Instant]) -> T0Fit:
        new = sorted((t for t in times if t not in tried), key=lambda t: (abs(t - given.base), t))
        groups = [new[place : place + _AT_ONCE] for place in range(0, len(new), _AT_ONCE)]
        for group in groups:
            tried.update((t, T0Fit(count, abs(t - given.base), t)) for t, count in wrong(group).items())
            if any(fit.wrong == 0 for fit in tried.values()):
                break
        return min(tried.values())

    best = ask([given.base])
    step = -(-len(given.times) // most)
    near = range(0, len(given.times), step)
    while best.wrong:
        best = ask(given.times[place] for place in near)
        if step == 1:
            break
        around, wide = given.times.index(best.t0), step
        step = max(1, step // _FINER)
        near = range(max(0, around - wide), min(len(given.times), around + wide + 1), step)
    return best, len(tried)

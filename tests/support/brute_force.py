"""Brute force over time windows: every close and every instant is enumerated, every window is filtered from all events.

Written from the definitions (S6, S7, S10, S13, S29, S31, A1) in plain Python, one instant after the other, and answered
by pyoxigraph over one graph for each window. It shares neither `hydrograph.windows` nor the project's oracle, so that a
mistake in those is not a mistake here. Time windows and the time tick only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

Row = tuple[str | None, ...]
Answer = tuple[int, Counter[Row]]
"""Time of a report, and its rows as N-Triples texts."""


@dataclass(frozen=True, slots=True)
class Event:
    """A time, and triples as N-Triples texts."""

    t: int
    triples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """A window of `range` every `step` over the events of one stream."""

    range: int
    step: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Semantics of the reports, in words."""

    t0: int = 0
    align: str = "open"
    report: str = "any close"
    """any close, all closes, change, change and expiry, period."""
    period: int = 1
    non_empty: bool = False
    operator: str = "rstream"
    as_sets: bool = False
    emit_empty: bool = True
    after: int | None = None
    until: int | None = None
    merged: bool = False
    """True if all windows feed the default graph."""


def answer_by_brute_force(
    windows: Sequence[SlidingWindow], text: str, names: Sequence[str], how: Settings
) -> list[Answer]:
    """Return the reports of a query; `text` is plain SPARQL over the graphs `<urn:w0>`, `<urn:w1>` and so on."""
    previous: Counter[Row] = Counter()
    found = []
    for t in _instants(windows, how):
        contents = [_content(window, t, how) for window in windows]
        if how.non_empty and not any(contents):
            continue
        current = _evaluate(text, names, contents, merged=how.merged)
        rows = _stream(previous, current, how)
        previous = current
        if rows or how.emit_empty:
            found.append((t, rows))
    return found


def _closes(window: SlidingWindow, how: Settings) -> list[int]:
    """Return every close up to the horizon, behind which nothing happens."""
    newest = max((event.t for event in window.events), default=how.t0)
    horizon = max(newest, how.t0, how.until or 0) + 3 * (window.range + window.step) + 200
    found = [how.t0 + (window.range if how.align == "open" else window.step)]
    while found[-1] < horizon:
        found.append(found[-1] + window.step)
    return found


def _inside(window: SlidingWindow, close: int, how: Settings) -> list[Event]:
    """Return the events of the window that closes then."""
    return [event for event in window.events if event.t >= how.t0 and close - window.range <= event.t < close]


def _content(window: SlidingWindow, t: int, how: Settings) -> list[Event]:
    """Return what a window contributes: its last closed content, or what has entered the oldest window still open."""
    closes = _closes(window, how)
    if how.report in ("any close", "all closes"):
        closed = [close for close in closes if close <= t]
        return _inside(window, closed[-1], how) if closed else []
    active = next(close for close in closes if close > t)
    return [event for event in _inside(window, active, how) if event.t <= t]


def _instants(windows: Sequence[SlidingWindow], how: Settings) -> list[int]:
    holding = {
        (number, event.t): [close for close in _closes(window, how) if event in _inside(window, close, how)]
        for number, window in enumerate(windows)
        for event in window.events
    }
    holding = {key: closes for key, closes in holding.items() if closes}
    after = how.after
    if how.report.startswith("change"):
        times = {t for _, t in holding}
        if how.report == "change and expiry":
            times |= {closes[-1] for closes in holding.values()}
        return sorted(t for t in times if (after is None or t > after) and (how.until is None or t <= how.until))
    if how.report == "period":
        first = min((t for _, t in holding), default=None)
        last = max((closes[-1] - 1 for closes in holding.values()), default=None)
    else:
        first = min((closes[0] for closes in holding.values()), default=None)
        last = max((closes[-1] for closes in holding.values()), default=None)
    first = first if after is None else after + 1
    last = last if how.until is None else how.until
    if first is None or last is None:
        return []
    if how.report == "period":
        return [t for t in range(first, last + 1) if t > how.t0 and not (t - how.t0) % how.period]
    sets = [{close for close in _closes(window, how) if first <= close <= last} for window in windows]
    return sorted(set.union(*sets) if how.report == "any close" else set.intersection(*sets))


def _evaluate(text: str, names: Sequence[str], contents: Iterable[Sequence[Event]], *, merged: bool) -> Counter[Row]:
    store = ox.Store()
    for number, content in enumerate(contents):
        graph = "" if merged else f" <urn:w{number}>"
        lines = "".join(f"{triple}{graph} .\n" for event in content for triple in event.triples)
        store.load(lines.encode(), format=ox.RdfFormat.N_QUADS)
    solutions = store.query(text)
    assert isinstance(solutions, ox.QuerySolutions)
    variables = {variable.value for variable in solutions.variables}
    return Counter(
        tuple(None if name not in variables or row[name] is None else str(row[name]) for name in names)
        for row in solutions
    )


def _stream(previous: Counter[Row], current: Counter[Row], how: Settings) -> Counter[Row]:
    if how.operator == "rstream":
        return current
    now, before = (current, previous) if how.operator == "istream" else (previous, current)
    return Counter(row for row in now if row not in before) if how.as_sets else now - before

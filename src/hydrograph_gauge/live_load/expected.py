"""What the four queries of the load have to say of every window, from the numbers of its stream, and who said so.

Nothing of the engine takes part: a window is the set of its triples, and the answers are joins of arrays. What is
judged is what stands in the results of a run.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from hydrograph_gauge.live_load.load import PREDICATES, RANGE, STEP, Drawn, Numbers, kinds, nodes_at

Row: TypeAlias = tuple[str, ...]
Rows: TypeAlias = Counter[Row]
_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
_NAMES = {"filter": "ab", "join": "abcd", "hybrid": ("a", "b", "kind"), "aggregate": "pn"}


def windows(drawn: Iterable[Drawn]) -> Iterator[tuple[int, Numbers, Numbers, Numbers]]:
    """Return the close of every window that holds something, and its triples: those of `[close - RANGE, close)`."""
    inside: deque[Drawn] = deque()
    last = 0

    def closing(close: int) -> tuple[int, Numbers, Numbers, Numbers]:
        while inside and inside[0].t[-1] < close - RANGE:
            inside.popleft()
        t = np.concatenate([each.t for each in inside])
        held = (t >= close - RANGE) & (t < close)
        s, p, o = (np.concatenate([getattr(each, name) for each in inside])[held] for name in "spo")
        return close, s, p, o

    close = RANGE
    for each in drawn:
        while each.t[0] >= close:
            yield closing(close)
            close += STEP
        inside.append(each)
        last = int(each.t[-1])
    while inside and close - RANGE <= last:
        yield closing(close)
        close += STEP


@dataclass(frozen=True, slots=True)
class Truth:
    """The answers over a window at one rate."""

    rate: int
    kind_of: Numbers = field(init=False)
    """What each node is, -1 for those of which nothing is known."""

    def __post_init__(self) -> None:
        """Lay the static graph out by its nodes."""
        found = np.full(nodes_at(self.rate), -1)
        for node, kind in kinds(self.rate).items():
            found[node] = kind
        object.__setattr__(self, "kind_of", found)

    def answers(self, s: Numbers, p: Numbers, o: Numbers) -> dict[str, Rows]:
        """Return the rows of each query; a triple that came twice stands in the window once."""
        pool = nodes_at(self.rate)
        each = np.unique((p * pool + s) * pool + o)
        p, s, o = each // pool // pool, each // pool % pool, each % pool
        (a, b), (b2, c), (c2, d) = ((s[p == number], o[p == number]) for number in range(len(PREDICATES)))
        wanted = (b == 7) | (b == 8)
        first, second = _equal(b, b2)
        chain, third = _equal(c[second], c2)
        known = self.kind_of[b] >= 0
        counts = zip(PREDICATES, (len(a), len(b2), len(c2)), strict=True)
        return {
            "filter": _rows(_node(a[wanted]), _node(b[wanted])),
            "join": _rows(_node(a[first][chain]), _node(b[first][chain]), _node(c[second][chain]), _node(d[third])),
            "hybrid": _rows(_node(a[known]), _node(b[known]), _named("k", self.kind_of[b[known]])),
            "aggregate": Counter((f"urn:bench:{name}", f"{count}^^{_INTEGER}") for name, count in counts if count),
        }


def _equal(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """Return the places of all pairs of equal numbers."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    start, end = np.searchsorted(ordered, left, "left"), np.searchsorted(ordered, left, "right")
    count = end - start
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(np.arange(len(left)), count), order[np.repeat(start, count) + within]


def _node(numbers: Numbers) -> list[str]:
    return _named("n", numbers)


def _named(letter: str, numbers: Numbers) -> list[str]:
    return [f"urn:bench:{letter}{number}" for number in numbers.tolist()]


def _rows(*columns: list[str]) -> Rows:
    return Counter(zip(*columns, strict=True))


def rows_said(query: str, text: str) -> Rows:
    """Return the rows of a report that stands as a line of JSON; a term that is missing is an empty text."""
    rows = json.loads(text)["rows"]
    return Counter(tuple(_term(row.get(name)) for name in _NAMES[query]) for row in rows)


def _term(found: Mapping[str, str] | None) -> str:
    if found is None:
        return ""
    return found["value"] if found["type"] == "uri" else f"{found['value']}^^{found.get('datatype')}"


@dataclass(slots=True)
class Verdict:
    """How the reports of a run compare with what they had to be."""

    reports: int = 0
    said: int = 0
    """Rows in reports."""
    wanted: int = 0
    """Rows that the windows have."""
    right: int = 0
    """Rows that are in both, as often as they are."""
    wrong: list[str] = field(default_factory=list)
    """A sentence on every report that is not as it has to be."""

    @property
    def precision(self) -> float:
        """Which part of what was said is right; all of nothing."""
        return self.right / self.said if self.said else 1.0

    @property
    def recall(self) -> float:
        """Which part of what was to be said was said."""
        return self.right / self.wanted if self.wanted else 1.0

    def compare(self, query: str, close: int, said: list[Rows], wanted: Rows) -> None:
        """Look at the reports of one window: there has to be one, with these rows."""
        own = [sum((rows & wanted).values()) for rows in said]
        self.reports += len(said)
        self.said += sum(rows.total() for rows in said)
        self.wanted += wanted.total()
        self.right += max(own, default=0)
        if len(said) != 1:
            self.wrong.append(f"{query} at {close}: expected one report, got {len(said)}")
        elif said[0] != wanted:
            missing, extra = wanted - said[0], said[0] - wanted
            some = next(iter(missing or extra))
            self.wrong.append(
                f"{query} at {close}: {missing.total()} rows are missing and {extra.total()} too many, such as {some}"
            )


def judge(
    reports: Iterable[tuple[str, int, str]],
    drawn: Iterable[Drawn],
    rate: int,
    queries: Iterable[str],
    until: int | None = None,
) -> dict[str, Verdict]:
    """Compare reports (query, close, line of JSON) with every window of a stream; those of a query come in order.

    Reports and stream are read beside each other, so that neither lies in memory as a whole. Of a run that was given
    up, windows count that opened before `until`, and those behind it are not looked at.
    """
    truth = Truth(rate)
    verdicts = {query: Verdict() for query in queries}
    newest = dict.fromkeys(verdicts, -1)
    ahead: dict[tuple[str, int], list[str]] = {}
    left = iter(reports)

    def read(close: int) -> None:
        """Read on until every query is beyond a window."""
        while min(newest.values()) <= close and (found := next(left, None)) is not None:
            query, t, text = found
            newest[query] = max(newest[query], t)
            ahead.setdefault((query, t), []).append(text)

    for close, s, p, o in windows(drawn):
        if until is not None and close - RANGE >= until:
            return verdicts
        read(close)
        wanted = truth.answers(s, p, o)
        for query, verdict in verdicts.items():
            said = [rows_said(query, text) for text in ahead.pop((query, close), [])]
            verdict.compare(query, close, said, wanted[query])
    for query, t, text in left:
        ahead.setdefault((query, t), []).append(text)
    for (query, close), texts in ahead.items():
        verdicts[query].compare(query, close, [rows_said(query, text) for text in texts], Counter())
        verdicts[query].wrong.append(
            f"{query} at {close}: expected no report here, or an earlier one, got {len(texts)}"
        )
    return verdicts

"""The triples that make a row: the smallest set that is found by leaving out what is not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Term, Triple
from hydrograph.temporal import Instant
from hydrograph_gauge.judge.evidence import Evidence, Held
from hydrograph_gauge.oracle.compare import rows_equal
from hydrograph_gauge.oracle.dataset import Row

ROWS = 20
"""Rows of a window that are shown, missing and extra ones each."""

EXPLAINED = 5
"""Rows of a window whose triples are searched for."""

WINDOWS = 25
"""Wrong windows whose rows are explained."""

COST = 3_000_000
"""What all explanations of a run may cost, in triples that the evaluator is asked over."""

SHOWN = 12
"""Triples that are shown at most; a row that needs more, such as a count, is blamed on the first."""

_COST = 100_000
_HOPS = 3

_Makes: TypeAlias = Callable[[Held], bool]


def blame(evidence: Evidence, held: Held, row: Row, t: Instant) -> tuple[str, ...]:
    """Return triples of the content that make a row of the answer; none if they do not."""
    start = evidence.cost

    def makes(some: Held) -> bool:
        return any(rows_equal(row, other) for other in evidence.solutions(some, t))

    def may_ask() -> bool:
        return evidence.cost - start < _COST

    near = _near(held, row, makes)
    if near is None:
        return ()
    found = _smallest(near, makes, may_ask)
    return tuple(sorted(_text(triple) for _, triple in found)[:SHOWN])


def _near(held: Held, row: Row, makes: _Makes) -> Held | None:
    """Return content that makes the row, from what has to do with its terms outwards; None if all of it does not."""
    terms: set[Term] = {term for term in row if term is not None}
    before = 0
    for _ in range(_HOPS):
        some = frozenset((n, triple) for n, triple in held if triple.subject in terms or triple.object in terms)
        if len(some) > before and makes(some):
            return some
        before = len(some)
        terms |= {term for _, triple in some for term in (triple.subject, triple.object)}
    return held if makes(held) else None


def _smallest(content: Held, makes: _Makes, may_ask: Callable[[], bool]) -> Held:
    """Leave out half of what is left, then quarters, and so on, whatever can go."""
    left = sorted(content, key=lambda each: (each[0], _text(each[1])))
    size = len(left) // 2
    while size and may_ask():
        at = 0
        while at < len(left) and may_ask():
            rest = left[:at] + left[at + size :]
            if makes(frozenset(rest)):
                left = rest
            else:
                at += size
        size = min(size // 2, max(len(left) // 2, 1)) if size > 1 else 0
    return frozenset(left)


def _text(triple: Triple) -> str:
    return f"{term_text(triple.subject)} {term_text(triple.predicate)} {term_text(triple.object)} ."

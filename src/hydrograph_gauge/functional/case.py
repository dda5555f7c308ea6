"""One test of the suite: a query, small streams, and the answers that are right.

The method is that of Dell'Aglio, Balduini and Della Valle (BeRSys 2013). Times are in units, so that engines that go
by the clock on the wall can be tested in a few seconds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language import parse
from hydrograph.rdf.nquads import parse_term
from hydrograph.rdf.terms import Iri, Literal, Term, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.temporal import Duration
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.dataset import NO_STATIC, Row, StaticData

UNIT: Duration = 100
"""Milliseconds that stand for a second of the paper."""

TAIL = 11
"""Elements behind the last one: one more than the widest window has units."""

BASE = "http://ex.org/"
PREFIX = f"PREFIX : <{BASE}>\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A test; the group and the name are those of the matrix."""

    group: str
    name: str
    text: str
    """RSP-QL; `UNITS` behind a number stands for so many milliseconds."""
    streams: Mapping[str, str]
    """By name: lines of a time in units and a statement with names without prefix, such as `3 m1 detectedAt r1`."""
    static: str = ""
    answers: Mapping[int, tuple[str, ...]] | None = None
    """Rows by the unit in which their window closes; None leaves it to the oracle."""

    def query(self) -> ContinuousQuery:
        """Return the query with its durations in milliseconds."""
        return parse(PREFIX + re.sub(r"(\d+)UNITS", lambda found: f"{int(found[1]) * UNIT}ms", self.text))

    def elements(self, *, by_clock: bool = False) -> dict[Iri, tuple[Element, ...]]:
        """Return the streams; statements at one time are one element.

        Behind the last one come some that nothing asks for, one each unit: many engines answer a window only when an
        element shows that it is over. An engine that goes by the clock gets one half a unit before the first, to
        start its clock: nobody can say what happens first at the same moment.
        """
        found = {}
        first, last = self._span()
        for name, lines in self.streams.items():
            by_time: dict[int, set[Triple]] = {}
            for line in lines.strip().splitlines():
                at, _, statement = line.strip().partition(" ")
                by_time.setdefault(int(at) * UNIT, set()).add(triple(statement))
            for after in range(1, TAIL + 1):
                by_time[(last + after) * UNIT] = {triple("nothing follows here")}
            if by_clock:
                by_time[first * UNIT - UNIT // 2] = {triple("nothing happens yet")}
            found[Iri(BASE + name)] = tuple(
                Element(t, seq, frozenset(triples)) for seq, (t, triples) in enumerate(sorted(by_time.items()))
            )
        return found

    def until(self) -> int:
        """Return the time of the last report that is judged: what comes behind it is about the tail only."""
        return (self._span()[1] + TAIL - 1) * UNIT

    def _span(self) -> tuple[int, int]:
        units = [int(line.split()[0]) for lines in self.streams.values() for line in lines.strip().splitlines()]
        return min(units), max(units)

    def static_data(self) -> StaticData:
        """Return the static data."""
        if not self.static.strip():
            return NO_STATIC
        return StaticData(frozenset(map(triple, self.static.strip().splitlines())))

    def expected(self) -> dict[int, Counter[Row]] | None:
        """Return the answers by the time of their report, where they were worked out by hand."""
        if self.answers is None:
            return None
        return {t * UNIT: Counter(tuple(map(term, row.split())) for row in rows) for t, rows in self.answers.items()}


def term(text: str) -> Term | None:
    """Return a term written briefly: a name, an integer, a quoted text, a full term of N-Triples, or a dash for none.

    >>> term("m1"), term("-")
    (Iri(value='http://ex.org/m1'), None)
    """
    if text == "-":
        return None
    if text.lstrip("-").isdigit():
        return Literal(text, XSD_INTEGER)
    if text.startswith(('"', "<", "_:")):
        return parse_term(text)
    return Iri(BASE + text)


def triple(statement: str) -> Triple:
    """Return the triple of three terms written briefly."""
    subject, predicate, object_ = map(term, statement.strip().split(" ", 2))
    assert isinstance(subject, Iri), statement
    assert isinstance(predicate, Iri), statement
    assert object_ is not None, statement
    return Triple(subject, predicate, object_)

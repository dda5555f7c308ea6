"""The cases of the suite, by group: R2R, R2S, S2R, and the two experiments of the paper."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language import parse
from hydrograph.rdf.nquads import parse_term
from hydrograph.rdf.terms import Iri, Literal, Term, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.temporal import SECOND, Duration, Instant
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.dataset import NO_STATIC, Row, StaticData

UNIT: Duration = SECOND
"""A second of the paper: engines such as C-SPARQL 0.9.7 have no windows of milliseconds."""

PHASE: Duration = UNIT // 2
"""Milliseconds between the origin of windows by the clock and the time of the case that it is the origin of.

Elements come at whole units, so that half a unit keeps them away from the borders on both sides.
"""

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
    """RSP-QL; a number followed by `UNITS` is that many units."""
    streams: Mapping[str, str]
    """By name: lines of a time in units and a statement with names without prefix, such as `3 m1 detectedAt r1`."""
    static: str = ""
    answers: Mapping[int, tuple[str, ...]] | None = None
    """Rows by the unit in which their window closes; None leaves it to the oracle."""
    origin: int = 0
    """Unit at which a window begins, where the clock of an engine is started. Before it nothing happens."""

    def query(self) -> ContinuousQuery:
        """Return the query with its durations in seconds."""
        return parse(PREFIX + re.sub(r"(\d+)UNITS", lambda found: f"{int(found[1]) * UNIT // SECOND}s", self.text))

    def start(self, phase: Duration) -> Instant:
        """Return when the clock of an engine is started: a phase before the origin of the windows."""
        return self.origin * UNIT - phase

    def elements(self, *, phase: Duration | None = None) -> dict[Iri, tuple[Element, ...]]:
        """Return the streams; statements at one time are one element.

        Behind the last one come some that nothing asks for, one each unit: many engines answer a window only when an
        element shows that it is over. With a phase, a further one starts the clock of an engine that goes by it.
        """
        found = {}
        last = self._last()
        for name, lines in self.streams.items():
            by_time: dict[int, set[Triple]] = {}
            for line in lines.strip().splitlines():
                at, _, statement = line.strip().partition(" ")
                by_time.setdefault(int(at) * UNIT, set()).add(triple(statement))
            for after in range(1, TAIL + 1):
                by_time[(last + after) * UNIT] = {triple("nothing follows here")}
            if phase is not None:
                by_time[self.start(phase)] = {triple("nothing happens yet")}
            found[Iri(BASE + name)] = tuple(
                Element(t, seq, frozenset(triples)) for seq, (t, triples) in enumerate(sorted(by_time.items()))
            )
        return found

    def until(self) -> int:
        """Return the time of the last report that is judged: what comes behind it is about the tail only."""
        return (self._last() + TAIL - 1) * UNIT

    def _last(self) -> int:
        return max(int(line.split()[0]) for lines in self.streams.values() for line in lines.strip().splitlines())

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


_WHOLE = "FROM NAMED WINDOW :w ON :s [RANGE 10UNITS STEP 10UNITS]"
_PEOPLE = """
1 ann knows bob
1 ann age 42
2 bob knows cid
2 bob age 17
3 cid knows ann
3 cid mail "c@ex.org"
4 dora age 42
5 dora mail "d@ex.org"
6 ann in r1
6 bob in r1
7 r1 part house
7 house part town
"""


def _r2r(name: str, select: str, where: str, rows: tuple[str, ...], rest: str = "") -> Case:
    text = f"SELECT {select} {_WHOLE} WHERE {{ WINDOW :w {{ {where} }} }} {rest}".strip()
    return Case("R2R", name, text, {"s": _PEOPLE}, answers={10: rows})


R2R = (
    _r2r("one pattern", "?p", "?p :age 42", ("ann", "dora")),
    _r2r("join", "?a ?c", "?a :knows ?b . ?b :knows ?c", ("ann cid", "bob ann", "cid bob")),
    _r2r("star", "?p ?n ?f", "?p :age ?n . ?p :knows ?f", ("ann 42 bob", "bob 17 cid")),
    _r2r("FILTER", "?p", "?p :age ?n FILTER(?n > 20)", ("ann", "dora")),
    _r2r("FILTER of texts", "?p", '?p :mail ?m FILTER(STRSTARTS(?m, "c"))', ("cid",)),
    _r2r("OPTIONAL", "?p ?m", "?p :knows ?f OPTIONAL { ?p :mail ?m }", ("ann -", "bob -", 'cid "c@ex.org"')),
    _r2r("UNION", "?p", "{ ?p :age 17 } UNION { ?p :mail ?m }", ("bob", "cid", "dora")),
    _r2r("MINUS", "?p", "?p :age ?n MINUS { ?p :knows ?f }", ("dora",)),
    _r2r("EXISTS", "?p", "?p :age ?n FILTER EXISTS { ?p :mail ?m }", ("dora",)),
    _r2r("NOT EXISTS", "?p", "?p :knows ?f FILTER NOT EXISTS { ?p :age ?n }", ("cid",)),
    _r2r("VALUES", "?p ?n", "VALUES ?p { :ann :cid } ?p :age ?n", ("ann 42",)),
    _r2r("BIND", "?p ?next", "?p :age ?n BIND(?n + 1 AS ?next)", ("ann 43", "bob 18", "dora 43")),
    _r2r("DISTINCT", "DISTINCT ?n", "?p :age ?n", ("17", "42")),
    _r2r("COUNT", "(COUNT(*) AS ?many)", "?p :age ?n", ("3",)),
    _r2r("GROUP BY", "?n (COUNT(?p) AS ?many)", "?p :age ?n", ("17 1", "42 2"), "GROUP BY ?n"),
    _r2r("HAVING", "?n", "?p :age ?n", ("42",), "GROUP BY ?n HAVING(COUNT(?p) > 1)"),
    _r2r("SUM, MIN, MAX", "(SUM(?n) AS ?s) (MIN(?n) AS ?a) (MAX(?n) AS ?z)", "?p :age ?n", ("101 17 42",)),
    _r2r("ORDER BY, LIMIT", "?p ?n", "?p :age ?n", ("bob 17",), "ORDER BY ?n LIMIT 1"),
    _r2r("subquery", "?p ?top", "?p :age ?top { SELECT (MAX(?n) AS ?top) { ?q :age ?n } }", ("ann 42", "dora 42")),
    _r2r("path", "?place", ":ann :in/:part+ ?place", ("house", "town")),
    _r2r("nothing", "?p", "?p :age 99", ()),
)

_FIVE = "\n".join(f"{t} e{t} at p{t}" for t in range(1, 6))
_IDENTITY = "FROM NAMED WINDOW :w ON :s [RANGE 3UNITS STEP 1UNITS] WHERE { WINDOW :w { ?x :at ?y } }"
_R2S: dict[str, dict[int, tuple[int, ...]]] = {
    "Rstream": {3: (1, 2), 4: (1, 2, 3), 5: (2, 3, 4), 6: (3, 4, 5), 7: (4, 5), 8: (5,)},
    "Istream": {3: (1, 2), 4: (3,), 5: (4,), 6: (5,)},
    "Dstream": {5: (1,), 6: (2,), 7: (3,), 8: (4,), 9: (5,)},
}


def _r2s() -> Iterator[Case]:
    for operator, reports in _R2S.items():
        rows = {t: tuple(f"e{n} p{n}" for n in numbers) for t, numbers in reports.items()}
        text = f"REGISTER {operator.upper()} :out AS SELECT ?x ?y {_IDENTITY}"
        yield Case("R2S", operator, text, {"s": _FIVE}, answers=rows)


_SPREAD = "\n".join(f"{t} e{t} at p{t % 2}" for t in (0, 2, 4, 5, 7, 9, 10, 14, 15))
_OTHER = "\n".join(f"{t} f{t} at p{t % 2}" for t in (1, 5, 6, 11, 14))
_ROOMS = "p0 in north\np1 in south"
_WINDOWS = {"tumbling": (5, 5), "sliding": (5, 2), "with gaps": (2, 5)}


def _s2r() -> Iterator[Case]:
    """Content by identity; by join and count, where there is no Rstream; several windows and streams; static data."""
    for name, (width, slide) in _WINDOWS.items():
        window = f"FROM NAMED WINDOW :w ON :s [RANGE {width}UNITS STEP {slide}UNITS]"
        alone = {"s": _SPREAD}
        content = "WINDOW :w { ?x :at ?y }"
        yield Case("S2R", f"{name}, identity", f"SELECT ?x ?y {window} WHERE {{ {content} }}", alone)
        pairs = "WINDOW :w { ?x :at ?y . ?z :at ?y }"
        yield Case("S2R", f"{name}, join", f"SELECT ?x ?z {window} WHERE {{ {pairs} }}", alone)
        yield Case("S2R", f"{name}, count", f"SELECT (COUNT(*) AS ?n) {window} WHERE {{ {content} }}", alone)
        text = f"SELECT ?x ?r {window} WHERE {{ {content} ?y :in ?r }}"
        yield Case("S2R", f"{name}, static data", text, alone, _ROOMS)
        second = f"FROM NAMED WINDOW :v ON :other [RANGE {width}UNITS STEP {slide}UNITS]"
        both = f"SELECT ?x ?z {window} {second} WHERE {{ WINDOW :w {{ ?x :at ?y }} WINDOW :v {{ ?z :at ?y }} }}"
        yield Case("S2R", f"{name}, two streams", both, {"s": _SPREAD, "other": _OTHER})
        joined = f"{both.removesuffix('}')} ?y :in ?r }}".replace("SELECT ?x ?z", "SELECT ?x ?z ?r")
        yield Case("S2R", f"{name}, two streams, static data", joined, {"s": _SPREAD, "other": _OTHER}, _ROOMS)
    wide = "FROM NAMED WINDOW :long ON :s [RANGE 10UNITS STEP 5UNITS]"
    narrow = "FROM NAMED WINDOW :short ON :s [RANGE 5UNITS STEP 5UNITS]"
    text = f"SELECT ?x ?z {wide} {narrow} WHERE {{ WINDOW :long {{ ?x :at ?y }} WINDOW :short {{ ?z :at ?y }} }}"
    yield Case("S2R", "two windows of one stream", text, {"s": _SPREAD})


_CHANGES = ((1, "m1", "r1"), (3, "m2", "r1"), (12, "m1", "r2"), (15, "m2", "r2"))
_MEETINGS = {0: {10: "r1", 20: "r2"}, 1: {10: "r1", 20: "r2"}, 2: {20: "r2"}, 3: {}, 4: {}, 5: {}, 6: {10: "r2"}}
"""Table 1: the room in which m1 and m2 meet, by t0 and by the close of a window after it."""


def _experiment_1() -> Iterator[Case]:
    """Windows of 10 at every t0: the stream is moved instead, so that its elements lie as they would."""
    text = f"SELECT ?room {_WHOLE} WHERE {{ WINDOW :w {{ :m1 :detectedAt ?room . :m2 :detectedAt ?room }} }}"
    for t0, meetings in _MEETINGS.items():
        lines = [f"{t + 10 - t0} {mover} detectedAt {room}" for t, mover, room in _CHANGES if t >= t0]
        rows = {t + 10: (room,) for t, room in meetings.items()}
        yield Case("Experiment 1", f"t0 = {t0}", text, {"s": "\n".join(lines)}, answers=rows, origin=10)


_MOVERS = "0 m1 detectedAt r1\n5 m2 detectedAt r2\n10 m3 detectedAt r1\n15 m4 detectedAt r2"
_SHORT = "FROM NAMED WINDOW :w ON :s [RANGE 3UNITS STEP 3UNITS]"
_TOGETHER = "?p1 :detectedAt ?room . ?p2 :detectedAt ?room"

EXPERIMENT_2 = (
    Case(
        "Experiment 2",
        "query A: two in one room",
        f"SELECT ?room {_SHORT} WHERE {{ WINDOW :w {{ {_TOGETHER} FILTER(?p1 != ?p2) }} }}",
        {"s": _MOVERS},
        answers={},
    ),
    Case(
        "Experiment 2",
        "query B: everybody with himself",
        f"SELECT ?p1 ?p2 ?room {_SHORT} WHERE {{ WINDOW :w {{ {_TOGETHER} }} }}",
        {"s": _MOVERS},
        answers={3: ("m1 m1 r1",), 6: ("m2 m2 r2",), 12: ("m3 m3 r1",), 18: ("m4 m4 r2",)},
    ),
)

CASES: tuple[Case, ...] = (*R2R, *_r2s(), *_s2r(), *_experiment_1(), *EXPERIMENT_2)

"""Elements of datasets: named graphs with their event times (A10).

In a file of named graphs each of them is an element, and the default graph holds its event time. A file without named
graphs is one element, as is a message; there, triples of the default graph about the names of graphs are not content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hydrograph.errors import DataError
from hydrograph.streams.elements import Broken, ElementPiece, File, statement
from hydrograph.streams.event_time import EventTime, Texts, instant_of, instant_of_name
from hydrograph.streams.rdf_parsers import Labels
from hydrograph.temporal import Instant

DEFAULT = ""
REMEMBERED = 10_000
"""Graphs, and labels of blank nodes, that are remembered of a stream without end: what comes again later is new."""
Quad = tuple[str, str, str, str]
"""The canonical texts of a graph's name, empty for the default graph, and of a triple."""


def file_of_graphs(file: File, quads: Iterable[Quad]) -> Iterator[ElementPiece | Broken]:
    """Return the elements of a file of named graphs; without any, all of it is one element."""
    if file.times.from_name:
        yield from whole_element(file, 1, "all of it", quads)
        return
    graphs = _Graphs(file.times)
    for g, s, p, o in quads:
        piece = graphs.add(g, (s, p, o))
        if piece is not None:
            yield piece
        if file.endless:
            yield from graphs.forget()
    if graphs.count:
        yield from graphs.rest()
    elif graphs.loose:
        yield from whole_element(file, 1, "all of it", ((DEFAULT, *triple) for triple in graphs.loose))


def labels_of(file: File) -> Labels:
    """Return labels for the blank nodes of a file of graphs."""
    return Labels(most=REMEMBERED if file.endless else None)


def whole_element(
    file: File, number: int, place: str, quads: Iterable[Quad], *, named: bool = True, text: str = ""
) -> Iterator[ElementPiece | Broken]:
    """Return all of `quads` as one element; its time may stand in the name of its file where `named`."""
    found = list(quads)
    if not found:
        return
    try:
        t, content = element_of(found, file.times, instant_of_name(file.name) if named else None)
    except DataError as error:
        yield Broken(place, str(error), text or "\n".join(statement((s, p, o), g) for g, s, p, o in found))
        return
    if content:
        yield ElementPiece(number, t, content)


def element_of(quads: list[Quad], times: EventTime, by_name: Instant | None) -> tuple[Instant, tuple[Texts, ...]]:
    """Return time and content of one element; raise DataError if it has no time, or several."""
    names = {g for g, _, _, _ in quads if g != DEFAULT}
    about = [(s, p, o) for g, s, p, o in quads if g == DEFAULT and s in names]
    content = tuple(dict.fromkeys((s, p, o) for g, s, p, o in quads if g != DEFAULT or s not in names))
    t = None if times.from_name else times.of_triples(about)
    if t is None and not times.from_name:
        t = times.of_triples(content)
    if t is None:
        t = by_name
    if t is None:
        raise times.missing()
    return t, content


@dataclass(slots=True)
class _Graphs:
    """The named graphs of a file, while it is read."""

    times: EventTime
    numbers: dict[str, int] = field(default_factory=dict)
    """Every graph seen, in the order of first appearance; without end, those that came last."""
    count: int = 0
    """How many graphs there were."""
    known: dict[str, Instant] = field(default_factory=dict)
    waiting: dict[str, list[Texts]] = field(default_factory=dict)
    """The triples of graphs whose time is not known yet."""
    loose: list[Texts] = field(default_factory=list)
    """The default graph, as long as there is no named one."""

    def add(self, graph: str, triple: Texts) -> ElementPiece | None:
        """Take in a quad; return what can be told by now of its element."""
        if graph == DEFAULT:
            if not self.count:
                self.loose.append(triple)
            return self._said(*triple)
        number = self.numbers.get(graph)
        if number is None:
            self.count += 1
            number = self.numbers[graph] = self.count
        self.loose.clear()
        t = self.known.get(graph)
        if t is not None:
            return ElementPiece(number, t, (triple,), goes_on=True)
        self.waiting.setdefault(graph, []).append(triple)
        return None

    def _said(self, s: str, p: str, o: str) -> ElementPiece | None:
        """Take in a triple of the default graph, if it is a time: only the first property counts here."""
        if p != self.times.properties[0]:
            return None
        t = instant_of(o)
        if self.known.setdefault(s, t) != t:
            raise DataError(f"expected one time of the graph {s}, got {self.known[s]} and {t} ms")
        triples = self.waiting.pop(s, None)
        return None if triples is None else ElementPiece(self.numbers[s], t, tuple(triples), goes_on=True)

    def forget(self) -> Iterator[ElementPiece | Broken]:
        """Keep only the latest graphs; return the older ones that have no time yet."""
        while len(self.numbers) > REMEMBERED:
            graph = next(iter(self.numbers))
            if graph in self.waiting:
                yield self._by_content(graph, self.waiting.pop(graph))
            del self.numbers[graph]
            self.known.pop(graph, None)
        while len(self.known) > 2 * REMEMBERED:  # also times of what is no graph, or none yet
            del self.known[next(iter(self.known))]

    def rest(self) -> Iterator[ElementPiece | Broken]:
        """Return the graphs without a time in the default graph: it may be among their own triples."""
        for graph, triples in self.waiting.items():
            yield self._by_content(graph, triples)

    def _by_content(self, graph: str, triples: list[Texts]) -> ElementPiece | Broken:
        try:
            t = self.times.of_triples(triples)
            if t is None:
                raise self.times.missing()
        except DataError as error:
            return Broken(f"graph {graph}", str(error), "\n".join(statement(triple, graph) for triple in triples))
        return ElementPiece(self.numbers[graph], t, tuple(triples))

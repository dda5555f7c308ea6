"""Seeded random cases for comparing an engine with the oracle, and the smallest case that still fails.

One seed is one case, always; a failure message that shows the seed shows everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from random import Random
from typing import Any, get_args

from hydrograph.algebra import sse
from hydrograph.algebra.expressions import And, Exists, Expression, Not, Or
from hydrograph.algebra.nodes import Bgp, Group, Pattern, Project
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UnsupportedError
from hydrograph.language.printer import print_query
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Instant
from hydrograph.windows.profile import PRESETS, RSPQL, Profile
from hydrograph.windows.scope import Align
from hydrograph.windows.stream import Element, Graph
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports
from tests.support.random_data import BASIC, FULL, Features, Shape, random_graph, random_stream, random_window
from tests.support.random_queries import STREAMS, random_query

__all__ = [
    "BASIC",
    "FULL",
    "Case",
    "Features",
    "random_case",
    "random_query",
    "random_stream",
    "random_window",
    "shrink",
]


@dataclass(frozen=True, slots=True)
class Case:
    """A query, its data and how to read it."""

    seed: int
    query: ContinuousQuery
    elements: Mapping[Iri, tuple[Element, ...]]
    static: StaticData = field(default_factory=StaticData)
    t0: Instant = 0
    profile: Profile = RSPQL
    from_: Instant | None = None
    until: Instant | None = None

    def expected(self) -> list[Report]:
        """Return the oracle's answer."""
        return evaluate_reports(
            self.query,
            self.elements,
            self.static,
            profile=self.profile,
            t0=self.t0,
            from_=self.from_,
            until=self.until,
        )

    def __str__(self) -> str:
        """Show everything needed to repeat the case by hand."""
        lines = [f"seed {self.seed}: t0 {self.t0}, align {self.profile.align}, preset {self.profile.name}"]
        if self.profile != replace(PRESETS.get(self.profile.name, RSPQL), align=self.profile.align):
            lines.append(str(self.profile))
        if self.from_ is not None or self.until is not None:
            lines.append(f"reports in ({self.from_}, {self.until}]")
        lines.append(_query_text(self.query))
        for stream, elements in self.elements.items():
            lines.append(f"stream <{stream.value}>, in order of arrival")
            lines += [f"  {element.t}:{element.seq}  {_graph_text(element.triples)}" for element in elements]
        if self.static.default:
            lines += ["static", f"  {_graph_text(self.static.default)}"]
        return "\n".join(lines)


def _query_text(query: ContinuousQuery) -> str:
    """Return the query in a language that can say it, or as algebra where none can."""
    try:
        return print_query(query)
    except UnsupportedError:
        return sse.print_query(query)


def random_case(seed: int, features: Features = BASIC, profile: Profile = RSPQL) -> Case:
    """Return the case of a seed, under a profile whose alignment is drawn too."""
    rng = Random(seed)
    start = rng.choice((0, 0, -20, 1000))
    t0 = start + rng.choice((0, 0, rng.randrange(-3, 8)))
    query = random_query(rng, features)
    streams = dict.fromkeys(window.stream for window in query.windows)
    elements = {
        stream: random_stream(
            rng,
            Shape(rng.choice((0, 5, 12, 20, 20, 30, 30, 40)), start, rng.randrange(1, 26), strings=features.strings),
        )
        for stream in STREAMS
        if stream in streams
    }
    static = StaticData(random_graph(rng, rng.randrange(0, 16), strings=features.strings))
    aligned = replace(profile, align=rng.choice(tuple(Align)))
    from_, until = (None, None) if rng.random() < 0.7 else (start - rng.randrange(1, 9), start + rng.randrange(9, 40))
    return Case(seed, query, elements, static, t0, aligned, from_, until)


def shrink(case: Case, still_fails: Callable[[Case], bool]) -> Case:
    """Return a smaller case that still fails: take away whatever can go, until nothing can."""
    while (smaller := next(filter(still_fails, _smaller(case)), None)) is not None:
        case = smaller
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for stream, elements in case.elements.items():
        for fewer in _fewer_elements(elements):
            yield replace(case, elements={**case.elements, stream: fewer})
    for triple in _sorted(case.static.default):
        yield replace(case, static=replace(case.static, default=case.static.default - {triple}))
    for pattern in _smaller_trees(case.query.pattern, top=True):
        yield replace(case, query=replace(case.query, pattern=pattern))


def _fewer_elements(elements: tuple[Element, ...]) -> Iterator[tuple[Element, ...]]:
    half = len(elements) // 2
    if half > 1:
        yield elements[half:]
        yield elements[:half]
    for place, element in enumerate(elements):
        before, after = elements[:place], elements[place + 1 :]
        yield before + after
        if len(element.triples) > 1:
            for triple in _sorted(element.triples):
                yield (*before, replace(element, triples=element.triples - {triple}), *after)


_PATTERNS: tuple[type, ...] = get_args(Pattern)
_EXPRESSIONS: tuple[type, ...] = get_args(Expression)


def _smaller_trees(tree: Any, *, top: bool = False) -> Iterator[Any]:
    """Give the trees with one operator replaced by one of its operands, or one triple pattern less.

    The levels of SELECT keep their form, so the columns of the answer stay.
    """
    if isinstance(tree, tuple):
        for place, part in enumerate(tree):
            yield from ((*tree[:place], smaller, *tree[place + 1 :]) for smaller in _smaller_trees(part))
        return
    if not is_dataclass(tree) or isinstance(tree, type):
        return
    if not top and not isinstance(tree, Project | Group):
        yield from _operands(tree)
    if isinstance(tree, Bgp) and len(tree.patterns) > 1:
        for place in range(len(tree.patterns)):
            yield Bgp(tree.patterns[:place] + tree.patterns[place + 1 :])
    for part in fields(tree):
        inside = getattr(tree, part.name)
        on_top = top and isinstance(inside, _PATTERNS) and not isinstance(tree, Project)
        yield from (replace(tree, **{part.name: smaller}) for smaller in _smaller_trees(inside, top=on_top))


def _operands(node: object) -> Iterator[object]:
    """Give the patterns of a pattern, and the conditions of a condition."""
    if isinstance(node, _PATTERNS) and is_dataclass(node):
        yield from (inner for part in fields(node) if isinstance(inner := getattr(node, part.name), _PATTERNS))
    elif isinstance(node, And | Or):
        yield from node.operands
    elif isinstance(node, Not) and not isinstance(node.operand, Exists):
        yield node.operand


def _sorted(graph: Graph) -> list[Any]:
    return sorted(graph, key=lambda triple: _graph_text([triple]))


def _graph_text(graph: Iterable[Any]) -> str:
    return " ".join(sorted(f"{term_text(t.subject)} {term_text(t.predicate)} {term_text(t.object)} ." for t in graph))

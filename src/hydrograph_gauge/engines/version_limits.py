"""Limits of versions of engines: what their languages have words for, and they cannot be asked.

A query beyond such a limit is not asked, so that it does not count as a failure of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    OrderBy,
    Pattern,
    Project,
    Reduced,
    Slice,
    Window,
)
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.algebra.walk import subpatterns
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import UsageError
from hydrograph.language.window_views import lift_filters, named
from hydrograph.temporal import SECOND

VersionLimits = Callable[[ContinuousQuery], Iterator[str]]
"""Yields sentences about what of a query a version cannot be asked."""


def csparql_097(query: ContinuousQuery) -> Iterator[str]:
    """Yield what the grammar of C-SPARQL 0.9.7 lacks: units of one letter, so no milliseconds, and no period."""
    for window in query.windows:
        definition = window.definition
        if isinstance(definition, TimeWindow):
            lengths = [definition.width, *([] if definition.slide is None else [definition.slide])]
            if odd := [length for length in lengths if length % SECOND]:
                yield f"C-SPARQL 0.9.7 has no windows in milliseconds, such as {odd[0]} ms"
    if query.every is not None:
        yield "C-SPARQL 0.9.7 has no COMPUTED EVERY"


def cqels_1(query: ContinuousQuery) -> Iterator[str]:
    """Yield what CQELS 1.x ignores: all but triple patterns inside of STREAM, and STREAM inside of other groups."""
    pattern = lift_filters(named(query)).pattern
    blocks = [node for node in subpatterns(pattern) if isinstance(node, Window)]
    if any(not isinstance(block.inner, Bgp) for block in blocks):
        yield "CQELS 1.x ignores everything but triple patterns inside of STREAM"
    if len(blocks) > len([part for part in _group(pattern) if isinstance(part, Window)]):
        yield "CQELS 1.x has no STREAM inside of OPTIONAL, UNION, MINUS, EXISTS and subqueries"


def _group(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the parts of the outermost group of a query."""
    match pattern:
        case Project() | Distinct() | Reduced() | Slice() | OrderBy() | Group() | Filter() | Extend():
            yield from _group(pattern.inner)
        case Join(left, right):
            yield from _group(left)
            yield from _group(right)
        case _:
            yield pattern


VERSION_LIMITS: Mapping[str, VersionLimits] = {"csparql-0.9.7": csparql_097, "cqels-1": cqels_1}


def limits_of(version: str | None) -> VersionLimits:
    """Return the limits of a version, none where it is not given; raise UsageError for an unknown one."""
    if version is None:
        return lambda _: iter(())
    if version not in VERSION_LIMITS:
        raise UsageError(f"no limits of version {version!r} are known; versions: {', '.join(VERSION_LIMITS)}")
    return VERSION_LIMITS[version]

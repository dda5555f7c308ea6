"""Random cases of every window, report strategy and profile of an engine, for queries of any shape.

The queries are those of `random_query`; here each window is drawn separately, and some of them feed the default
graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hydrograph.algebra.nodes import Pattern, Window
from hydrograph.algebra.queries import ContinuousQuery, NamedWindow
from hydrograph.algebra.walk import everywhere
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.errors import UnsupportedError
from hydrograph.rdf.terms import Iri
from hydrograph.windows.profile import PRESETS, Profile
from hydrograph.windows.report import Multi, Policy, When, check_closing
from hydrograph.windows.scope import Grid
from hydrograph.windows.tick import Tick
from tests.support.random_cases import Case, random_case
from tests.support.random_data import BASIC, Features
from tests.support.random_queries import STREAMS

_WIDTHS = (1, 2, 3, 5, 8, 10, 15)


def random_definition(rng: Random) -> WindowDefinition:
    """Draw a window: tumbling, overlapping, with gaps, continuous, counting elements or triples, past, NOW or ALL."""
    width, slide = rng.choice(_WIDTHS), rng.randrange(1, 9)
    definitions: tuple[WindowDefinition, ...] = (
        TimeWindow(width, width),
        TimeWindow(width, slide),
        TimeWindow(width, slide),
        TimeWindow(width, None),
        CountWindow(rng.randrange(1, 9), rng.randrange(1, 5), triples=rng.random() < 0.5),
        CountWindow(rng.randrange(1, 9), 1, triples=rng.random() < 0.5),
        PastWindow(width + slide, slide, rng.randrange(1, 6)),
        NowWindow(),
        AllWindow(),
    )
    return rng.choice(definitions)


def random_profile(rng: Random, definitions: Sequence[WindowDefinition]) -> Profile:
    """Draw a profile that fits the windows: a preset, or each of its settings separately."""
    base = rng.choice(tuple(PRESETS.values()))
    if rng.random() < 0.7:
        when = rng.choice(tuple(When))
        report = Policy(
            when,
            expiry=when is When.CONTENT_CHANGE and rng.random() < 0.5,
            non_empty=rng.random() < 0.4,
            period=rng.randrange(1, 8) if when is When.PERIODIC else None,
            multi=rng.choice((Multi.ANY, Multi.ANY, Multi.ALL)),
        )
        base = replace(
            base,
            name="drawn",
            report=report,
            tick=rng.choice(tuple(Tick)),
            r2s_set=rng.random() < 0.3,
            emit_empty=rng.random() < 0.6,
            keep_slide=rng.random() < 0.7,
            zero_average=rng.random() < 0.7,
        )
    if base.report.when is not When.WINDOW_CLOSE:
        return base
    # Windows that never close, or never together, cannot report at a close.
    base = replace(base, keep_slide=True, evict=True)
    grids = [Grid.of(d, align=base.align) if isinstance(d, TimeWindow) else None for d in definitions]
    try:
        check_closing(grids, base.report.multi)
    except UnsupportedError:
        continuous = any(grid is not None and grid.slide is None for grid in grids)
        when = When.CONTENT_CHANGE if continuous else When.WINDOW_CLOSE
        return replace(base, report=replace(base.report, when=when, multi=Multi.ANY))
    return base


def random_report_case(seed: int, features: Features = BASIC) -> Case:
    """Return the case of a seed."""
    rng = Random(f"reports {seed}")
    case = random_case(seed, features)
    definitions, shifts = _one_step(Random(f"extents {seed}"), [random_definition(rng) for _ in case.query.windows])
    profile = replace(random_profile(rng, definitions), align=case.profile.align)
    windows = tuple(
        replace(window, definition=definition)
        for window, definition in zip(case.query.windows, definitions, strict=True)
    )
    query = replace(case.query, windows=windows)
    if rng.random() < 0.3:
        query = replace(query, operator=None)
    if rng.random() < 0.2:
        query = replace(query, every=rng.randrange(1, 9))
    elements = {
        stream: tuple(replace(element, t=element.t + shift) for element in case.elements.get(stream, ()))
        for stream, shift in zip(STREAMS, shifts, strict=True)
    }
    return replace(case, query=_fed(rng, query), profile=profile, elements=elements)


def _one_step(rng: Random, definitions: list[WindowDefinition]) -> tuple[list[WindowDefinition], tuple[int, ...]]:
    """Give some queries windows of one step and of different ranges, and move their streams apart.

    Each stream is moved by one of the returned times. Then the extent of each stream decides about the reports of its
    own window only.
    """
    if len(definitions) < 2 or rng.random() < 0.7:
        return definitions, (0,) * len(STREAMS)
    step = rng.randrange(1, 5)
    widths = rng.sample(_WIDTHS, len(definitions))
    return [TimeWindow(width, step) for width in widths], tuple(rng.randrange(-10, 60) for _ in STREAMS)


def _fed(rng: Random, query: ContinuousQuery) -> ContinuousQuery:
    """Let some windows feed the default graph; the patterns in their blocks then read that."""
    feeding = {window.name for window in query.windows if rng.random() < 0.4}

    def without(node: Pattern) -> Pattern:
        if isinstance(node, Window) and node.name in feeding:
            return node.inner
        return node

    def renamed(window: NamedWindow) -> NamedWindow:
        return replace(window, name=None) if window.name in feeding else window

    assert all(isinstance(name, Iri) for name in feeding)
    return replace(query, pattern=everywhere(query.pattern, without), windows=tuple(map(renamed, query.windows)))

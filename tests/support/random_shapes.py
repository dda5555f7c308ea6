"""Shapes of queries and streams: the dimensions in which cases differ, and random cases of each shape.

`SPACE` lists the dimensions with their values, and the rules that exclude some combinations. `shape_case` builds a
random case of a shape; `shape_of` reads the shape back from a case, so that coverage counts what was built and not what
was asked for. `python -m tests.support.random_shapes` prints the coverage.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import gcd, lcm
from random import Random

from hydrograph.algebra.nodes import Pattern, Window
from hydrograph.algebra.queries import NamedWindow, StreamOperator
from hydrograph.algebra.walk import everywhere
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.windows.profile import RSPQL, Origin, Profile
from hydrograph.windows.report import Multi, Policy, When
from hydrograph.windows.scope import Align
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Tick
from tests.support.pair_coverage import Combination, Coverage, Part, Rule, Space, coverage
from tests.support.random_cases import Case

DISORDER = 3
"""Maximum lateness of an element in its partition."""
LONGEST_PAUSE = 28
"""Longest time between two elements that is no silence."""
PARTITION = 1_000
"""Elements of a partition: the place in the log of an element is `partition · PARTITION + offset`."""
STREAMS = tuple(Iri(f"urn:stream{number}") for number in range(2))
_TRIES = 200
_COUNTING = ("elements", "triples", "now", "all")
_DIMENSIONS = {
    # the windows
    "time windows": ("none", "one", "two", "three"),
    "further window": ("none", "continuous", "past", "elements", "triples", "now", "all"),
    "ranges": ("single", "equal", "different"),
    "steps": ("single", "equal", "multiple", "coprime"),
    "first window": ("none", "tumbling", "overlapping", "gaps"),
    "alignment": ("open", "close"),
    "t0": ("before the events", "at the first event", "amid the events", "behind the events", "from the first event"),
    # the streams
    "streams": ("one", "two"),
    "extents": ("single", "same", "apart", "nested", "one empty", "all empty"),
    "events": ("none", "one", "many"),
    "silence": ("no", "longer than a window"),
    "order": ("in order", "equal times", "disorder"),
    "partitions": ("one", "several"),
    "triples": ("one", "several"),
    "repeats": ("no", "yes"),
    "times": ("positive", "around zero"),
    # the query
    "pattern": ("union", "join", "optional", "not exists", "count", "groups"),
    "graph": ("windows", "default"),
    "operator": ("rstream", "istream", "dstream"),
    "differences": ("bags", "sets"),
    # the reports
    "report": ("any close", "all closes", "change", "change and expiry", "period"),
    "content": ("any", "non-empty"),
    "tick": ("time", "tuple"),
    "empty answers": ("reported", "silent"),
    "asked": ("everything", "from", "until", "from and until"),
}
_NOTHING = "streams without events have no such property"
_RULES = (
    Rule(
        ("time windows", "further window"),
        lambda timed, further: timed == further == "none",
        "a query has a window",
    ),
    *(
        Rule(
            ("time windows", name),
            lambda timed, value: (timed in ("none", "one")) != (value == "single"),
            "only several time windows have equal or different ranges and steps",
        )
        for name in ("ranges", "steps")
    ),
    Rule(
        ("time windows", "first window"),
        lambda timed, first: (timed == "none") != (first == "none"),
        "the first time window is tumbling, overlapping or leaves gaps, if there is one",
    ),
    Rule(
        ("further window", "report"),
        lambda further, report: further == "continuous" and report in ("any close", "all closes"),
        "a continuously sliding window never closes",
    ),
    Rule(
        ("further window", "report"),
        lambda further, report: further in _COUNTING and report == "all closes",
        "only time windows close together",
    ),
    Rule(
        ("streams", "extents"),
        lambda streams, extents: (
            extents in ("same", "apart", "nested", "one empty") if streams == "one" else extents == "single"
        ),
        "two streams have extents relative to each other, one has not",
    ),
    Rule(
        ("extents", "events"),
        lambda extents, events: (extents == "all empty") != (events == "none"),
        "streams without events are empty, others are not",
    ),
    Rule(
        ("extents", "events"),
        lambda extents, events: extents == "nested" and events == "one",
        "nothing lies within the extent of one event",
    ),
    *(
        Rule(("events", name), lambda events, value, usual=usual: events == "none" and value != usual, _NOTHING)
        for name, usual in (
            ("silence", "no"),
            ("order", "in order"),
            ("partitions", "one"),
            ("triples", "one"),
            ("repeats", "no"),
            ("times", "positive"),
        )
    ),
    *(
        Rule(
            ("events", name),
            lambda events, value, usual=usual: events == "one" and value != usual,
            "one event has no other beside it",
        )
        for name, usual in (("silence", "no"), ("order", "in order"), ("repeats", "no"))
    ),
    Rule(
        ("events", "t0"),
        lambda events, t0: events == "none" and t0 in ("at the first event", "amid the events", "behind the events"),
        _NOTHING,
    ),
    Rule(
        ("events", "extents", "t0"),
        lambda events, extents, t0: events == "one" and extents != "apart" and t0 == "amid the events",
        "t0 lies between two times",
    ),
    Rule(
        ("time windows", "further window", "events", "t0"),
        lambda timed, further, events, t0: (
            (timed, further) in (("one", "none"), ("none", further)) and events == "one" and t0 == "amid the events"
        ),
        "a single window reads one stream, and t0 lies between two times",
    ),
)
SPACE = Space(_DIMENSIONS, _RULES, together=("time windows", "ranges", "steps", "first window", "extents"))
"""The triples of the last ones decide which reports exist, so they are covered too."""


@dataclass(frozen=True, slots=True)
class ShapeCase:
    """A case, its shape, and the partitions of its streams."""

    case: Case
    shape: Combination

    @property
    def waits(self) -> bool:
        """True if the first event places the windows."""
        return self.case.profile.origin is not Origin.EPOCH

    @property
    def partitions(self) -> int:
        """How many partitions each stream has."""
        return 1 if self.shape["partitions"] == "one" else 3


def read_streams(case: Case) -> tuple[Iri, ...]:
    """Return the streams that the windows of a case read."""
    return tuple(dict.fromkeys(window.stream for window in case.query.windows))


def draw_shape(rng: Random, **fixed: str) -> dict[str, str]:
    """Draw a shape with these values, given by name with `_` for a space."""
    shape = SPACE.complete(((name.replace("_", " "), value) for name, value in fixed.items()), rng)
    assert shape is not None, f"no shape has {fixed}"
    return shape


def shape_case(seed: int, shape: Combination) -> ShapeCase:
    """Return a random case of a shape."""
    rng = Random(f"shape {seed}")
    for _ in range(_TRIES):
        drawn = _draw_case(rng, seed, shape)
        if shape_of(drawn) == dict(shape):
            return ShapeCase(drawn, shape)
    found = shape_of(drawn)
    raise AssertionError({name: (shape[name], found[name]) for name in shape if shape[name] != found[name]})


def _draw_case(rng: Random, seed: int, shape: Combination) -> Case:
    definitions = _windows(rng, shape)
    streams = STREAMS[: 1 if shape["streams"] == "one" else 2]
    elements = _streams(rng, shape, streams, max(map(_length, definitions)))
    windows = tuple(
        NamedWindow(Iri(f"urn:w{number}"), streams[number % len(streams)], definition)
        for number, definition in enumerate(definitions)
    )
    read = {window.stream for window in windows}
    times = sorted(element.t for stream in read for element in elements[stream])
    profile = _profile(rng, shape)
    t0 = _t0(rng, shape, times, profile)
    query = replace(
        parse(query_text(shape["pattern"], len(windows))),
        windows=windows,
        operator=StreamOperator(shape["operator"]),
    )
    if shape["graph"] == "default":
        query = replace(
            query,
            pattern=everywhere(query.pattern, _without_window),
            windows=tuple(replace(window, name=None) for window in windows),
        )
    from_, until = _asked(rng, shape, times)
    return Case(seed, query, elements, t0=t0, profile=profile, from_=from_, until=until)


def query_text(pattern: str, windows: int, keyword: str = "WINDOW") -> str:
    """Return the text of a query; `keyword` is GRAPH for a plain SPARQL engine, or empty for the default graph."""

    def block(number: int, triples: str) -> str:
        name = f"{keyword} <urn:w{number}>" if keyword else ""
        return f"{name} {{ {triples} }}"

    first, last = block(0, "?s <urn:p> ?o"), block(windows - 1, "?s <urn:q> ?x")
    joined = " ".join(block(number, f"?s <urn:p> ?o{number}") for number in range(windows))
    union = " UNION ".join(f"{{ {block(number, '?s ?p ?o')} }}" for number in range(windows))
    select, where, groups = {
        "union": ("?s ?p ?o", union, ""),
        "join": ("*", f"{joined} {last}", ""),
        "optional": ("?s ?o ?x", f"{first} OPTIONAL {{ {last} }}", ""),
        "not exists": ("?s ?o", f"{first} FILTER NOT EXISTS {{ {last} }}", ""),
        "count": ("(COUNT(*) AS ?n)", union, ""),
        "groups": ("?s (COUNT(*) AS ?n)", union, "GROUP BY ?s"),
    }[pattern]
    froms = " ".join(
        f"FROM NAMED WINDOW <urn:w{number}> ON <urn:stream0> [RANGE PT1S STEP PT1S]" for number in range(windows)
    )
    return f"SELECT {select} {froms if keyword == 'WINDOW' else ''} WHERE {{ {where} }} {groups}"


def _without_window(node: Pattern) -> Pattern:
    return node.inner if isinstance(node, Window) else node


def _length(definition: WindowDefinition) -> int:
    """Return how long a window can matter after an event."""
    match definition:
        case TimeWindow(width, slide):
            return width + (slide or 0)
        case PastWindow(start, _, slide):
            return start + slide
        case _:
            return 0


def _windows(rng: Random, shape: Combination) -> list[WindowDefinition]:
    """Draw the windows; where all have to close together, their first closes differ by a multiple of all steps."""
    number = {"none": 0, "one": 1, "two": 2, "three": 3}[shape["time windows"]]
    step = rng.randrange(2, 5)
    steps = {
        "single": [step],
        "equal": [step] * number,
        "multiple": [step, 2 * step, 4 * step][:number],
        "coprime": rng.sample((2, 3, 5), 3)[:number],
    }[shape["steps"]]
    rng.shuffle(steps)
    width = {
        "none": rng.randrange(1, 9),
        "tumbling": steps[0],
        "overlapping": steps[0] + rng.randrange(1, 9),
        "gaps": rng.randrange(1, max(2, steps[0])),
    }[shape["first window"]]
    unit = lcm(*steps) if shape["report"] == "all closes" else 1
    widths = [width] * number
    if shape["ranges"] == "different":
        widths = [width, *(width + unit * rng.randrange(-3, 9) for _ in range(number - 1))]
        widths = [each if each > 0 else width + unit for each in widths]
    found: list[WindowDefinition] = [TimeWindow(*each) for each in zip(widths, steps[:number], strict=True)]
    end = unit * rng.randrange(1, 4)
    further: dict[str, list[WindowDefinition]] = {
        "none": [],
        "continuous": [TimeWindow(rng.randrange(1, 9), None)],
        "past": [PastWindow(end + width + unit * rng.randrange(3), end, steps[0])],
        "elements": [CountWindow(rng.randrange(1, 6), rng.randrange(1, 4))],
        "triples": [CountWindow(rng.randrange(1, 9), rng.randrange(1, 4), triples=True)],
        "now": [NowWindow()],
        "all": [AllWindow()],
    }
    return found + further[shape["further window"]]


def _streams(rng: Random, shape: Combination, streams: tuple[Iri, ...], length: int) -> dict[Iri, tuple[Element, ...]]:
    """Draw the streams: their extents, the times in them, and what their elements hold."""
    start = rng.randrange(0, 40) if shape["times"] == "positive" else rng.randrange(-25, -4)
    span = rng.randrange(8, 25)
    pause = length + LONGEST_PAUSE + rng.randrange(1, 20)
    places = [(start, span)]
    if len(streams) > 1:
        if shape["extents"] == "nested":
            span += 4
            places = [(start, span), (start + 2, span - 4)]
        elif shape["extents"] == "apart":
            whole = span + (pause if shape["silence"] != "no" else 0)
            places = [(start, span), (start + whole + rng.randrange(1, 45), rng.randrange(4, 20))]
        else:
            places = [(start, span)] * 2
    empty = {"all empty": set(streams), "one empty": {rng.choice(streams)}}.get(shape["extents"], set())
    if shape["extents"] in ("apart", "nested") and rng.random() < 0.5:
        places.reverse()
    found = {}
    for number, stream in enumerate(streams):
        times = [] if stream in empty else _times(rng, shape, *places[number], pause)
        found[stream] = _elements(rng, shape, times)
    return found


def _times(rng: Random, shape: Combination, start: int, span: int, pause: int) -> list[int]:
    if shape["events"] == "one":
        return [start]
    inner = [start + offset for offset in range(1, span)]
    times = sorted({start, *rng.sample(inner, min(len(inner), rng.randrange(2, 10))), start + span})
    if shape["order"] == "equal times":
        times = sorted([*times, *rng.choices(times, k=rng.randrange(1, 5))])
    if shape["silence"] != "no":
        after = rng.choice(sorted(set(times))[:-1])
        times = [t + pause if t > after else t for t in times]
    return times


def _elements(rng: Random, shape: Combination, times: list[int]) -> tuple[Element, ...]:
    """Draw elements in order of arrival in their partitions; the place in the log tells the partition."""
    pool: list[Triple] = []
    drawn = []
    for serial, t in enumerate(times):
        triples = set()
        for number in range(1 if shape["triples"] == "one" else rng.randrange(1, 4)):
            value = serial * 10 + number if shape["repeats"] == "no" else rng.randrange(2)
            name = rng.choice("pq")
            triples.add(Triple(Iri(f"urn:s{rng.randrange(3)}"), Iri(f"urn:{name}"), Literal(str(value), XSD_INTEGER)))
        if shape["repeats"] == "yes" and pool and rng.random() < 0.5:
            triples = {*list(triples)[:-1], rng.choice(pool)}
        pool += sorted(triples, key=str)
        drawn.append((t, frozenset(triples)))
    if shape["order"] == "disorder":
        drawn.sort(key=lambda each: each[0] + rng.uniform(0, DISORDER))
    partitions = 1 if shape["partitions"] == "one" else 3
    offsets: Counter[int] = Counter()
    found = []
    for t, graph in drawn:
        partition = rng.randrange(partitions)
        found.append(Element(t, partition * PARTITION + offsets[partition], graph))
        offsets[partition] += 1
    return tuple(found)


def _profile(rng: Random, shape: Combination) -> Profile:
    when = {"any close": When.WINDOW_CLOSE, "all closes": When.WINDOW_CLOSE, "period": When.PERIODIC}
    policy = Policy(
        when.get(shape["report"], When.CONTENT_CHANGE),
        expiry=shape["report"] == "change and expiry",
        non_empty=shape["content"] == "non-empty",
        period=rng.randrange(1, 8) if shape["report"] == "period" else None,
        multi=Multi.ALL if shape["report"] == "all closes" else Multi.ANY,
    )
    return replace(
        RSPQL,
        name="shape",
        report=policy,
        tick=Tick(shape["tick"]),
        align=Align(shape["alignment"]),
        origin=Origin.FIRST_EVENT if shape["t0"] == "from the first event" else Origin.EPOCH,
        r2s_set=shape["differences"] == "sets",
        emit_empty=shape["empty answers"] == "reported",
    )


def _t0(rng: Random, shape: Combination, times: list[int], profile: Profile) -> int:
    first, last = (times[0], times[-1]) if times else (0, 0)
    match shape["t0"]:
        case "from the first event":
            return profile.start_at(times[0] if times else None)
        case "at the first event":
            return first
        case "amid the events":
            return rng.randrange(first + 1, last + 1) if last > first else first
        case "behind the events":
            return last + rng.randrange(1, 9)
        case _:
            return first - rng.randrange(1, 12)


def _asked(rng: Random, shape: Combination, times: list[int]) -> tuple[int | None, int | None]:
    first, last = (times[0], times[-1]) if times else (0, 20)
    middle = (first + last) // 2
    after, until = first + rng.randrange(-9, 6), middle + rng.randrange(0, 25)
    return (
        after if shape["asked"] in ("from", "from and until") else None,
        until if shape["asked"] in ("until", "from and until") else None,
    )


def shape_of(case: Case) -> dict[str, str]:
    """Read the shape of a case from its windows, its profile and its elements."""
    return {**_shape_of_query(case), **_shape_of_streams(case)}


def _shape_of_query(case: Case) -> dict[str, str]:
    profile, policy = case.profile, case.profile.report
    definitions = [window.definition for window in case.query.windows]
    timed = [each for each in definitions if isinstance(each, TimeWindow) and each.slide is not None]
    steps = [each.slide for each in timed if each.slide is not None]
    further = [_kind(each) for each in definitions if each not in timed]
    if len(timed) < 2:
        ranges = relation = "single"
    else:
        ranges = "equal" if len({each.width for each in timed}) == 1 else "different"
        divided = all(not max(pair) % min(pair) for pair in pairwise(steps))
        relation = "equal" if len(set(steps)) == 1 else "multiple" if divided else "coprime"
        assert relation != "coprime" or all(gcd(*pair) == 1 for pair in pairwise(steps))
    first = "none"
    if timed and timed[0].slide is not None:
        width, slide = timed[0].width, timed[0].slide
        first = "tumbling" if width == slide else "overlapping" if width > slide else "gaps"
    names = [window.name for window in case.query.windows]
    text = {query_text(pattern, len(names)): pattern for pattern in _DIMENSIONS["pattern"]}
    plain = {parse(each).pattern: pattern for each, pattern in text.items()}
    fed = {everywhere(pattern, _without_window): name for pattern, name in plain.items()}
    reports = {When.CONTENT_CHANGE: "change and expiry" if policy.expiry else "change", When.PERIODIC: "period"}
    closes = "all closes" if policy.multi is Multi.ALL else "any close"
    asked = [name for name, end in (("from", case.from_), ("until", case.until)) if end is not None]
    return {
        "time windows": ("none", "one", "two", "three")[len(timed)],
        "further window": further[0] if further else "none",
        "ranges": ranges,
        "steps": relation,
        "first window": first,
        "alignment": str(profile.align),
        "pattern": (plain if names[0] is not None else fed)[case.query.pattern],
        "graph": "default" if names[0] is None else "windows",
        "operator": case.query.operator.value if case.query.operator is not None else "rstream",
        "differences": "sets" if profile.r2s_set else "bags",
        "report": reports.get(policy.when, closes),
        "content": "non-empty" if policy.non_empty else "any",
        "tick": str(profile.tick),
        "empty answers": "reported" if profile.emit_empty else "silent",
        "asked": " and ".join(asked) or "everything",
    }


def _kind(definition: WindowDefinition) -> str:
    match definition:
        case TimeWindow():
            return "continuous"
        case PastWindow():
            return "past"
        case CountWindow(triples=triples):
            return "triples" if triples else "elements"
        case NowWindow():
            return "now"
        case AllWindow():
            return "all"


def _shape_of_streams(case: Case) -> dict[str, str]:
    streams = list(case.elements.values())
    filled = [elements for elements in streams if elements]
    spans = [(min(e.t for e in elements), max(e.t for e in elements)) for elements in filled]
    read = sorted(element.t for stream in read_streams(case) for element in case.elements[stream])
    longest = max(_length(window.definition) for window in case.query.windows)
    return {
        "t0": _t0_of(case, read),
        "streams": ("one", "two")[len(streams) - 1],
        "extents": _extents(spans, len(streams)),
        "events": "none" if not filled else "one" if all(len(elements) == 1 for elements in filled) else "many",
        "silence": "longer than a window" if _pauses(filled, longest) else "no",
        "order": _order_of(filled),
        "partitions": "several" if any(e.seq >= PARTITION for each in filled for e in each) else "one",
        "triples": "several" if any(len(e.triples) > 1 for each in filled for e in each) else "one",
        "repeats": "yes" if any(map(_repeats, filled)) else "no",
        "times": "around zero" if any(first < 0 for first, _ in spans) else "positive",
    }


def _t0_of(case: Case, times: list[int]) -> str:
    if case.profile.origin is not Origin.EPOCH:
        return "from the first event"
    if not times or case.t0 < times[0]:
        return "before the events"
    if case.t0 == times[0]:
        return "at the first event"
    return "behind the events" if case.t0 > times[-1] else "amid the events"


def _extents(spans: list[tuple[int, int]], streams: int) -> str:
    if not spans:
        return "all empty"
    if streams == 1:
        return "single"
    if len(spans) == 1:
        return "one empty"
    (first, last), (other_first, other_last) = sorted(spans, key=lambda span: (span[0], -span[1]))
    if (first, last) == (other_first, other_last):
        return "same"
    if other_first > last:
        return "apart"
    return "nested" if first < other_first and other_last < last else "overlapping"


def _pauses(streams: list[tuple[Element, ...]], longest: int) -> bool:
    """Tell whether some stream has no event for longer than any window."""
    for elements in streams:
        times = sorted({element.t for element in elements})
        if any(later - t > longest + LONGEST_PAUSE for t, later in pairwise(times)):
            return True
    return False


def _order_of(streams: list[tuple[Element, ...]]) -> str:
    if any(one.t > other.t for elements in streams for one, other in pairwise(elements)):
        return "disorder"
    return "equal times" if any(len({e.t for e in elements}) < len(elements) for elements in streams) else "in order"


def _repeats(elements: tuple[Element, ...]) -> bool:
    return max(Counter(triple for element in elements for triple in element.triples).values()) > 1


@cache
def covering_shapes() -> tuple[dict[str, str], ...]:
    """Return shapes that cover all feasible pairs."""
    return SPACE.covering()


@cache
def covering_case(number: int) -> ShapeCase:
    """Return the case of one of them."""
    return shape_case(number, covering_shapes()[number])


def cover() -> Coverage:
    """Return the coverage of the cases that were built."""
    return coverage(SPACE, (shape_of(covering_case(number).case) for number in range(len(covering_shapes()))))


def main() -> int:
    """Print the dimensions, the infeasible pairs with their reasons, and the coverage; fail if a pair is missing."""
    found = cover()
    lines = [f"{name}: {', '.join(values)}" for name, values in SPACE.dimensions.items()]
    lines += [f"infeasible: {_words(part)}: {why}" for part, why in found.infeasible.items() if len(part) == 2]
    lines += [f"missing: {_words(part)}" for part in found.missing]
    lines += [
        f"cases: {len(covering_shapes())}",
        f"triples of {', '.join(SPACE.together)}: {found.feasible[3]}, {found.covered[3]} covered",
        f"shapes: {len(SPACE.dimensions)} dimensions, {found.feasible[2]} pairs, {found.covered[2]} covered",
    ]
    print("\n".join(lines))  # noqa: T201
    return 1 if found.missing else 0


def _words(part: Part) -> str:
    return " + ".join(f"{name} {value!r}" for name, value in sorted(part))


if __name__ == "__main__":
    sys.exit(main())

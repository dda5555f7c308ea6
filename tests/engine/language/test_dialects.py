"""Each dialect prints what it reads; in the words of another one a query means the same, or the difference is said."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hydrograph.algebra.nodes import Pattern, Window
from hydrograph.algebra.queries import ContinuousQuery, Dataset, NamedWindow, StreamOperator
from hydrograph.algebra.walk import everywhere, subpatterns
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.errors import HydrographError, UnsupportedError
from hydrograph.language import DIALECTS, dialect_of, parse, print_query
from hydrograph.language.dialects.strider import STREAM
from hydrograph.language.translate_dialect import asked, effective, reword
from hydrograph.language.window_views import lift_filters, merged, named, normal, ordered
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import DAY
from hydrograph.windows.profile import PRESETS, preset
from tests.support.random_cases import FULL, random_query

CASES = Path(__file__).parents[2] / "cases" / "language"
QUERY = re.compile(r"^--- query ?(\w*)\n((?:(?!--- ).*\n)*)", re.MULTILINE)
PREFIXES = "PREFIX : <http://ex.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
RANDOM_QUERIES = 2_000
PARTS = 4


def readable() -> list[tuple[str, ContinuousQuery]]:
    """Return the texts of the case files that are right, with their algebra."""
    found = []
    for file in sorted(CASES.glob("*.test")):
        for dialect, written in QUERY.findall(file.read_text(encoding="utf-8")):
            text = written if "PREFIX" in written else PREFIXES + written
            try:
                query = parse(text, dialect or None)
            except HydrographError:
                continue
            found.append((dialect_of(text, dialect or None).name, query))
    return found


READABLE = readable()


def test_a_query_is_printed_in_its_own_dialect() -> None:
    for dialect, query in READABLE:
        text = print_query(query, dialect)
        assert parse(text, dialect) == (lift_filters(query) if dialect == "cqels" else query), text
        assert dialect == "sparql" or dialect_of(text).name == dialect or not query.windows


@pytest.mark.parametrize("source_preset", [None, *PRESETS])
def test_what_is_said_to_be_kept_is_kept(source_preset: str | None) -> None:
    kept = lost = refused = 0
    for dialect, query in READABLE:
        profile = preset(source_preset or DIALECTS[dialect].preset)
        for to in DIALECTS:
            try:
                reworded = reword(query, to, profile)
            except UnsupportedError:
                refused += 1
                continue
            back = parse(reworded.text, to)
            assert asked(back) == asked(query)
            same = effective(back, preset(DIALECTS[to].preset)) == effective(query, profile)
            if reworded.lost:
                lost += 1
            else:
                kept += 1
                assert same
                assert back.name == query.name
            if to == dialect and source_preset is None:
                assert not reworded.lost
    assert kept > 50
    assert lost > 50
    assert refused > 50


# Random queries


def random_definition(draw: random.Random) -> WindowDefinition:
    """Draw any window, with lengths of all units."""
    unit = draw.choice((1, 7, 1000, 60_000, 90_500, 3_600_000))
    width = unit * draw.randint(1, 20)
    match draw.randrange(7):
        case 0:
            return TimeWindow(width, None)
        case 1:
            return CountWindow(draw.randint(1, 99), draw.randint(1, 9))
        case 2:
            size = draw.randint(1, 99)
            return CountWindow(size, draw.choice((1, size)), triples=True)
        case 3:
            return PastWindow(width + unit, unit, draw.choice((unit, 1000)))
        case 4:
            return draw.choice((NowWindow(), AllWindow()))
        case _:
            return TimeWindow(width, draw.choice((width, unit, 2 * width, DAY)))


def without_blocks(query: ContinuousQuery) -> ContinuousQuery:
    """Return a query whose patterns all read one graph, fed by a window of each stream."""

    def bare(node: Pattern) -> Pattern:
        return node.inner if isinstance(node, Window) else node

    windows = {window.stream: replace(window, name=None) for window in query.windows}
    # Printing and parsing once leaves out empty groups that stripping the blocks may have left in joins.
    stripped = replace(query, pattern=everywhere(query.pattern, bare), windows=(), operator=None, name=None, every=None)
    return replace(parse(print_query(stripped, "sparql"), "sparql"), windows=tuple(windows.values()))


def random_frame(query: ContinuousQuery, draw: random.Random) -> ContinuousQuery:
    """Draw the clauses around a pattern: windows, their view, static graphs, operator, name, period."""
    if draw.random() < 0.4:
        query = without_blocks(query)
    stream = draw.choice((None, STREAM))
    windows = [
        NamedWindow(window.name, stream or window.stream, random_definition(draw))
        for window in query.windows
        if draw.random() < 0.97
    ]
    graphs = (Iri("http://ex.org/g"), Iri("urn:h"))
    return replace(
        query,
        windows=tuple(windows),
        dataset=draw.choice(
            (Dataset(), Dataset(), Dataset(graphs[:1]), Dataset((), graphs), Dataset(graphs, graphs[:1]))
        ),
        operator=draw.choice((None, None, *StreamOperator)),
        name=draw.choice((None, None, "http://ex.org/out", "Out", "not a name")),
        every=draw.choice((None, None, None, 5000)),
    )


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, PARTS))])
def test_random_queries_are_read_as_they_were_printed(part: int) -> None:
    printed: dict[str, int] = dict.fromkeys(DIALECTS, 0)
    for seed in range(part, RANDOM_QUERIES, PARTS):
        draw = random.Random(seed)
        query = random_frame(random_query(draw, replace(FULL, counts=False)), draw)
        for dialect in DIALECTS:
            printer = DIALECTS[dialect].printer
            said = _sayable(query, dialect)
            if said is None:
                with pytest.raises(UnsupportedError):
                    print_query(query, dialect)
                continue
            printed[dialect] += 1
            text = print_query(said, dialect)
            back = parse(text, dialect)
            assert normal(back) == normal(said), f"seed {seed}, {dialect}\n{text}"
            assert back == parse(print_query(back, dialect), dialect), f"seed {seed}, {dialect}\n{text}"
            assert not any(printer(printer.view(back)).lacks())
    assert min(printed.values()) > 20, printed


def _sayable(query: ContinuousQuery, dialect: str) -> ContinuousQuery | None:
    """Return the query without the clauses a dialect has no words for; None if that is not enough."""
    printer = DIALECTS[dialect].printer
    changes: dict[str, Any] = {}
    for lack in printer(printer.view(query)).lacks():
        if lack.part in ("name", "operator", "every"):
            changes[lack.part] = None
        elif lack.part == "windows" and dialect in ("sparql", "strider"):
            plain = without_blocks(query)
            window = NamedWindow(None, STREAM, TimeWindow(10_000, 500))
            changes |= {"pattern": plain.pattern, "windows": () if dialect == "sparql" else (window,)}
        elif lack.part == "dataset":
            changes["dataset"] = Dataset()
        else:
            return None
    return replace(query, **changes)


# What engines require of a text


@pytest.mark.parametrize("name", [None, "Hot"])
def test_every_c_sparql_text_is_registered(name: str | None) -> None:
    """C-SPARQL 0.9.7 has no grammar for a text without REGISTER."""
    query = replace(
        parse("SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:a> [RANGE 9s STEP 3s] { WINDOW <urn:w> { ?s ?p ?o } }"),
        name=name,
    )
    text = print_query(query, "csparql")
    assert text.startswith(f"REGISTER QUERY {name or 'anonymous'} AS\n")
    assert parse(text).name == name
    periodic = print_query(replace(query, every=5_000), "csparql")
    assert periodic.startswith(f"REGISTER QUERY {name or 'anonymous'} COMPUTED EVERY 5s AS\n")


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("STREAM <urn:a> [NOW] { ?s ?p ?o FILTER(?o > 3) }", "STREAM <urn:a> [NOW] { ?s ?p ?o } FILTER(?o > 3)"),
        (
            "STREAM <urn:a> [NOW] { ?s ?p ?o FILTER(?o > 3) } STREAM <urn:b> [ALL] { ?s ?q ?r FILTER(?r = 1) } "
            "BIND(1 AS ?x) FILTER(?o != ?r)",
            "STREAM <urn:a> [NOW] { ?s ?p ?o } STREAM <urn:b> [ALL] { ?s ?q ?r } BIND(1 AS ?x) "
            "FILTER(?o > 3 && ?r = 1 && ?o != ?r)",
        ),
    ],
)
def test_filters_are_printed_outside_of_stream_blocks(inside: str, outside: str) -> None:
    """CQELS 1.x ignores a filter inside, with a line on standard error."""
    text = print_query(parse(f"SELECT * {{ {inside} }}", "cqels"), "cqels")
    assert parse(text, "cqels") == parse(f"SELECT * {{ {outside} }}", "cqels")
    assert normal(parse(f"SELECT * {{ {inside} }}")) == normal(parse(text))


@pytest.mark.parametrize(
    "block",
    [
        "{ ?s ?p ?o OPTIONAL { ?o ?q ?r } FILTER(?r > 3) }",
        "{ ?s ?p ?o FILTER EXISTS { ?o ?q ?r } }",
        "{ ?s ?p ?o FILTER(!BOUND(?r)) }",
    ],
)
def test_a_filter_that_would_mean_something_else_stays_inside(block: str) -> None:
    text = f"SELECT * {{ STREAM <urn:a> [NOW] {block} STREAM <urn:b> [NOW] {{ ?s ?t ?r }} }}"
    query = parse(text, "cqels")
    assert lift_filters(query) == query


# Views


def test_both_views_of_one_window() -> None:
    block = parse(
        "SELECT ?s (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s] "
        "{ WINDOW <urn:w> { ?s ?p ?o OPTIONAL { ?o ?q ?r } } FILTER NOT EXISTS { WINDOW <urn:w> { ?s ?s ?s } } } "
        "GROUP BY ?s HAVING(EXISTS { WINDOW <urn:w> { ?s ?x ?y } })"
    )
    bare = merged(block)
    assert not any(isinstance(node, Window) for node in subpatterns(bare.pattern))
    assert bare.windows[0].name is None
    assert normal(named(bare)) == normal(block) == bare
    assert print_query(block, "csparql").count("{") == print_query(bare, "csparql").count("{")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s] { WINDOW <urn:w> { ?s ?p ?o } ?s ?q ?r }",
        "SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s] { WINDOW ?w { ?s ?p ?o } }",
        "SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s] FROM <urn:g> { WINDOW <urn:w> { ?s ?p ?o } }",
        "SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s] { GRAPH <urn:g> { WINDOW <urn:w> { ?s ?p ?o } } }",
        "DESCRIBE ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s] { WINDOW <urn:w> { ?s ?p ?o } }",
        "SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s] "
        "{ WINDOW <urn:w> { ?s ?p ?o } FILTER EXISTS { ?s ?q ?r } }",
    ],
)
def test_a_block_stays_where_its_pattern_would_see_something_else(text: str) -> None:
    query = parse(text)
    assert merged(query) == query
    with pytest.raises(UnsupportedError, match="C-SPARQL has no blocks"):
        print_query(query, "csparql")


def test_the_order_of_windows_is_that_of_the_algebra() -> None:
    query = parse("SELECT * { FILTER EXISTS { STREAM <urn:a> [NOW] { ?s ?p ?o } } STREAM <urn:b> [NOW] { ?s ?p ?o } }")
    assert [window.stream.value for window in query.windows] == ["urn:b", "urn:a"]
    assert ordered(replace(query, windows=query.windows[::-1])) == query


def test_streams_that_change_places_are_told() -> None:
    text = (
        "SELECT * FROM NAMED WINDOW <urn:w> ON <urn:a> [RANGE 9s] FROM NAMED WINDOW <urn:v> ON <urn:b> [RANGE 9s] "
        "{ WINDOW <urn:v> { ?s ?p ?o } WINDOW <urn:w> { ?s ?p ?o } }"
    )
    assert (
        "the order of the streams, in which events of one instant enter"
        in reword(parse(text), "cqels", preset("cqels")).lost
    )
    assert not reword(parse(text), "rspql", preset("rspql")).lost


def test_an_operator_that_is_a_habit_is_said_where_it_is_none() -> None:
    query = parse("SELECT ?s { STREAM <urn:s> [TRIPLES 3] { ?s ?p ?o } }")
    assert query.operator is None
    assert "SELECT ISTREAM ?s" in reword(query, "sparqlstream", preset("cqels")).text
    back = replace(query, operator=StreamOperator.ISTREAM)
    assert "ISTREAM" not in reword(back, "cqels", preset("cqels")).text
    assert not reword(back, "cqels", preset("cqels")).lost


def test_a_lost_period_is_told() -> None:
    text = "REGISTER QUERY q COMPUTED EVERY 5s AS SELECT ?s FROM STREAM <urn:s> [RANGE 9s STEP 1s] { ?s ?p ?o }"
    reworded = reword(parse(text), "rspql", preset("rspql"))
    assert reworded.lost == ("reports: every 5s; in RSP-QL when a window closes",)
    assert reworded.preset is None


def test_one_hundred_nested_blocks() -> None:
    text = "ASK " + "{ FILTER EXISTS " * 98 + "{ STREAM <urn:s> [NOW] { ?s ?p ?o }" + "}" * 99
    query = parse(text)
    assert parse(print_query(query, "cqels")) == query


def test_a_name_that_would_be_read_from_the_base() -> None:
    text = (
        "REGISTER QUERY q AS BASE <http://ex.org/> SELECT (IRI(?o) AS ?i) "
        "FROM STREAM <urn:s> [RANGE 9s STEP 1s] { ?s ?p ?o }"
    )
    query = parse(text)
    assert parse(print_query(query, "csparql")) == query
    with pytest.raises(UnsupportedError, match="the name 'q' would be read from BASE"):
        print_query(query, "rspql")

"""Query sets: each text parses in its language and agrees with its description."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph_gauge.features.structure import QueryKind, find_structure
from hydrograph_gauge.queries import query_sets as load
from hydrograph_gauge.queries.query_sets import (
    LANGUAGES,
    SetQuery,
    locate_recorded_streams,
    read_query_set,
    read_set_description,
    translate_query,
)
from hydrograph_gauge.worlds.sensors import world as sensors
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.shop import world as shop
from hydrograph_gauge.worlds.social.triples import STREAM_IRIS
from hydrograph_gauge.worlds.world import find_world

QUERIES = [(name, query) for name in load.SETS for query in read_query_set(name)]
IDS = [f"{name}-{query.name}" for name, query in QUERIES]
FOLDERS = {name: Path(load.__file__).parent / name for name in load.SETS}
IRIS = {"sensors": {"sensors": sensors.STREAM}, "shop": {"shop": shop.STREAM}, "social": STREAM_IRIS}
FUNCTIONAL = dict.fromkeys(("rooms", "movers"), "http://ex.org/streams/test")

OTHERWISE = {"lsbench-q1": {"filter"}, "lsbench-q8": {"filter"}}
"""Where LSBench's own table differs: it calls the constant of Q1 a filter, and the inequality of Q8 none."""

every = pytest.mark.parametrize(("name", "query"), QUERIES, ids=IDS)


def constants(query: SetQuery) -> dict[str, str]:
    """Return a value for each constant: an IRI if the text has it in angle brackets, else a number."""
    text = query.texts["rspql"]
    return {name: f"urn:{name}" if f"<${{{name}}}>" in text else "0.5" for name in query.about.constants}


def test_the_sets_are_complete_and_in_order() -> None:
    found = {name: [query.name for query in read_query_set(name)] for name in load.SETS}
    assert found == {
        "lsbench": [f"q{n}" for n in (1, 2, 3, 4, 5, 6, "7a", "7b", "7c", 8, 9, 10, 11, 12)],
        "csrbench": [f"q{n}" for n in range(1, 8)],
        "srbench": [f"q{n}" for n in range(1, 18)],
        "yabench": ["e1", "e2", "e3"],
        "watdiv": [
            *("c1", "c2", "c3"), *(f"f{n}" for n in range(1, 6)), "fig33", *(f"l{n}" for n in range(1, 6)),
            "q9", "q47", *(f"s{n}" for n in range(1, 8)),
        ],
        "functional": ["experiment1", "experiment2a", "experiment2b"],
    }  # fmt: skip


@pytest.mark.parametrize("name", load.SETS)
def test_a_set_knows_its_world(name: str) -> None:
    about = read_set_description(name)
    if about.world is None:
        assert all(place.is_file() for place in locate_recorded_streams(name).values())
        return
    world = find_world(about.world)
    read_settings(world.settings, None, about.settings)
    assert about.graph in (None, world.graph)
    for query in read_query_set(name):
        named = {graph.value for graph in parse(query.text(constants(query))).dataset.named}
        assert named <= {about.graph}


@every
def test_every_text_parses_in_its_language(name: str, query: SetQuery) -> None:
    del name
    for language in query.texts:
        parse(query.text(constants(query), language), language)
    for language in query.merged:
        parse(query.merged_text(constants(query), language), language)
    for language in LANGUAGES:
        assert (language in query.texts) != (language in query.reasons)


@every
def test_a_query_has_the_features_it_is_said_to_have(name: str, query: SetQuery) -> None:
    algebra = parse(query.text(constants(query)))
    world = read_set_description(name).world
    iris = FUNCTIONAL if world is None else IRIS[world]
    read = dict.fromkeys(window.stream.value for window in algebra.windows)
    assert list(read) == list(dict.fromkeys(iris[stream] for stream in query.about.streams))
    found = find_structure(algebra)
    assert found.patterns == query.about.patterns
    assert set(found.classes) ^ set(query.about.features) == OTHERWISE.get(f"{name}-{query.name}", set())
    used = set(re.findall(r"\$\{([A-Z0-9_]+)\}", query.texts["rspql"]))
    assert used == set(query.about.constants)


@every
def test_texts_in_other_languages_are_those_made_from_the_source(name: str, query: SetQuery) -> None:
    """If this fails, `python -m hydrograph_gauge.queries NAME` regenerates them."""
    del name
    for language, text, reason in translate_query(query.name, query.texts["rspql"]):
        if text is None:
            assert query.reasons[language] == reason
        else:
            assert query.texts[language] == text


@every
def test_texts_are_registered_where_engines_want_it(name: str, query: SetQuery) -> None:
    del name
    for text in filter(None, (query.texts.get("csparql"), query.merged.get("csparql"))):
        assert re.match(rf"REGISTER (QUERY|STREAM) {query.name} AS\n", text)
    if "strider" in query.texts:
        assert f"QUERYID [{query.name}]" in query.texts["strider"]


@every
def test_strider_has_all_queries_of_one_window_and_no_static_data(name: str, query: SetQuery) -> None:
    """Its stream has no name, which is no reason against it."""
    del name
    algebra = parse(query.text(constants(query)))
    fits = find_structure(algebra).kind is QueryKind.PURE and len(algebra.windows) == 1
    assert ("strider" in query.texts) is fits
    if fits:
        said = parse(query.text(constants(query), "strider"), "strider")
        assert find_structure(said) == find_structure(algebra)
        assert [window.definition for window in said.windows] == [window.definition for window in algebra.windows]


@pytest.mark.parametrize("name", load.SETS)
def test_writing_a_set_again_changes_nothing(name: str, tmp_path: Path) -> None:
    for file in FOLDERS[name].glob("*.rspql"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    load.write_translations(tmp_path)
    made = {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()}
    kept = {file.name: file.read_text("utf-8") for file in FOLDERS[name].iterdir() if file.is_file()}
    written = {n for n in kept if n == load.REASONS or not n.endswith((".toml", ".tnt"))}
    assert made == {n: text for n, text in kept.items() if n in written}


def test_what_can_not_be_said_is_refused_with_its_reason() -> None:
    queries = read_query_set("lsbench")
    q5 = next(query for query in queries if query.name == "q5")
    with pytest.raises(UnsupportedError, match="Strider has one window, not 2"):
        q5.text({}, "strider")
    with pytest.raises(UsageError, match="q1 needs the constant USER"):
        queries[0].text({})
    with pytest.raises(UsageError, match="expected a set of queries"):
        read_query_set("tpch")

"""Sets of queries: each text parses in its language and says what its description says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hydrograph.algebra.nodes import Bgp
from hydrograph.algebra.walk import subpatterns
from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph.worlds.queries import load
from hydrograph.worlds.queries.load import LANGUAGES, SetQuery, query_set, translations
from hydrograph.worlds.social.vocabulary import STREAM_IRIS

CONSTANTS = {"USER": "urn:user", "PERSON": "urn:person", "DISTANCE": "0.5"}
QUERIES = query_set("lsbench")
FOLDER = Path(load.__file__).parent / "lsbench"


def names(queries: tuple[SetQuery, ...]) -> list[str]:
    return [query.name for query in queries]


def test_the_set_is_complete_and_in_order() -> None:
    assert names(QUERIES) == [f"q{n}" for n in (1, 2, 3, 4, 5, 6, "7a", "7b", "7c", 8, 9, 10, 11, 12)]


@pytest.mark.parametrize("query", QUERIES, ids=names(QUERIES))
def test_every_text_parses_in_its_language(query: SetQuery) -> None:
    for language in (*query.texts, *query.merged):
        parse(query.text(CONSTANTS, language), language)
    for language in LANGUAGES:
        assert (language in query.texts) != (language in query.reasons)


@pytest.mark.parametrize("query", QUERIES, ids=names(QUERIES))
def test_a_query_has_the_streams_and_patterns_it_is_said_to_have(query: SetQuery) -> None:
    algebra = parse(query.text(CONSTANTS))
    assert [window.stream.value for window in algebra.windows] == [STREAM_IRIS[name] for name in query.about.streams]
    assert algebra.pattern is not None
    triples = sum(len(node.patterns) for node in subpatterns(algebra.pattern) if isinstance(node, Bgp))
    assert triples == query.about.patterns
    used = set(re.findall(r"\$\{([A-Z]+)\}", query.texts["rspql"]))
    assert used == set(query.about.constants)


@pytest.mark.parametrize("query", QUERIES, ids=names(QUERIES))
def test_texts_in_other_languages_are_those_made_from_the_source(query: SetQuery) -> None:
    """If this fails, `python -m hydrograph.worlds.queries lsbench` makes them anew."""
    for language, text, reason in translations(query.texts["rspql"]):
        if text is None:
            assert query.reasons[language] == reason
        else:
            assert query.texts[language] == text


def test_writing_a_set_again_changes_nothing(tmp_path: Path) -> None:
    for file in FOLDER.glob("*.rspql"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    load.write(tmp_path)
    made = {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()}
    kept = {file.name: file.read_text("utf-8") for file in FOLDER.iterdir() if file.is_file()}
    described = {name for name in kept if name.endswith(".toml") and name != load.REASONS}
    assert made == {name: text for name, text in kept.items() if name not in described}


def test_what_can_not_be_said_is_refused_with_its_reason() -> None:
    q5 = next(query for query in QUERIES if query.name == "q5")
    with pytest.raises(UnsupportedError, match="Strider has one window, not 2"):
        q5.text({}, "strider")
    with pytest.raises(UsageError, match="q1 needs the constant USER"):
        QUERIES[0].text({})
    with pytest.raises(UsageError, match="expected a set of queries"):
        query_set("tpch")

"""The checks of the workload hold on a small shop, and fail where a text, an answer or a language is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hydrograph_gauge.workload_generator.generator import TemplateGenerator, WorkloadSettings
from hydrograph_gauge.workload_generator.world_data import WorldData
from hydrograph_gauge.worlds.shop.world import STREAM
from tests.support.world_checks import workload
from tests.support.written_world import write_by_hand

WSDBM = "http://db.uwaterloo.ca/~galuc/wsdbm/"


def link(subject: str, predicate: str, object_: str) -> str:
    return f"<{WSDBM}{subject}> <{WSDBM}{predicate}> <{WSDBM}{object_}> ."


STREAMED = [
    (100, link("User0", "follows", "User1")),
    (200, link("User1", "likes", "Product0")),
    (300, link("User2", "subscribes", "Website0")),
    (6000, link("User2", "follows", "User0")),
]
STATIC = [link("User0", "friendOf", "User2"), link("User1", "friendOf", "User0")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorldData]:
    world = write_by_hand(tmp_path_factory.mktemp("shop"), "shop", STREAM, STREAMED, STATIC)
    with WorldData(world) as opened:
        yield opened


@pytest.fixture(scope="module")
def generator(data: WorldData) -> TemplateGenerator:
    return TemplateGenerator(WorkloadSettings(walk="data", data=Path(data.directory), seed=5), data)


def test_a_right_workload(data: WorldData, generator: TemplateGenerator) -> None:
    queries = workload.named(generator, 6)
    assert workload.languages(queries).passed
    ran = workload.run(data, generator, queries)
    assert workload.answered("a few", ran).passed
    assert len(ran.rows) == 6
    assert all(ran.rows.values())


def test_a_text_that_does_not_parse_or_is_missing(generator: TemplateGenerator) -> None:
    queries = workload.named(generator, 2)
    candidate, words = queries["q1"]
    broken = replace(words, texts={**words.texts, "cqels": "SELECT ?x WHERE {"})
    assert "q1 in cqels" in workload.languages({**queries, "q1": (candidate, broken)}).said
    missing = replace(words, texts={name: text for name, text in words.texts.items() if name != "csparql"})
    check = workload.languages({**queries, "q1": (candidate, missing)})
    assert not check.passed
    assert "q1 has no text in csparql" in check.said
    other = replace(words, oracle=queries["q2"][1].oracle.replace("WHERE {", "WHERE { ?a ?b ?c . ?c ?d ?e .", 1))
    assert not workload.languages({**queries, "q1": (candidate, other)}).passed


def test_an_answer_that_the_oracle_does_not_have(
    data: WorldData, generator: TemplateGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = workload.named(generator, 6)
    monkeypatch.setattr(workload, "_elements", lambda *_: ())
    ran = workload.run(data, generator, queries)
    assert ran.different
    assert not workload.answered("a few", ran).passed

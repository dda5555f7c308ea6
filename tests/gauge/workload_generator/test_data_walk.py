"""Walks over data: a small shop, written by hand, whose walks all have answers."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from hydrograph.api import query
from hydrograph.cli.main import main
from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.nquads import term_text
from hydrograph_gauge.queries.constants import choose_constants
from hydrograph_gauge.workload_generator.generator import Candidate, TemplateGenerator, WorkloadSettings
from hydrograph_gauge.workload_generator.instances import build_query, print_query_texts
from hydrograph_gauge.workload_generator.search import MANIFEST, FeatureMeter
from hydrograph_gauge.workload_generator.world_data import WorldData
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.shop.world import KNOWLEDGE, STREAM
from tests.support.written_world import write_by_hand

WSDBM = "http://db.uwaterloo.ca/~galuc/wsdbm/"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


def link(subject: str, predicate: str, object_: str) -> str:
    return f"<{WSDBM}{subject}> <{WSDBM}{predicate}> <{WSDBM}{object_}> ."


STREAMED = [
    (500, link("User0", "follows", "User1")),
    (1500, link("User1", "likes", "Product0")),
    (2500, link("User2", "subscribes", "Website0")),
    (6000, link("User1", "makesPurchase", "Purchase0")),
    (6000, link("Purchase0", "purchaseFor", "Product0")),
    (6000, f'<{WSDBM}Purchase0> <http://purl.org/goodrelations/price> "12"{INTEGER} .'),
]
STATIC = [
    link("User0", "friendOf", "User2"),
    link("User1", "friendOf", "User0"),
    f'<{WSDBM}User1> <{WSDBM}userId> "7"{INTEGER} .',
    f'<{WSDBM}Website0> <{WSDBM}hits> "3"{INTEGER} .',
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of a generated shop."""
    return write_by_hand(tmp_path_factory.mktemp("shop"), "shop", STREAM, STREAMED, STATIC)


def walked(world: Path, number: int, **settings: object) -> tuple[TemplateGenerator, list[Candidate]]:
    with WorldData(world) as data:
        given = read_settings(WorkloadSettings, None, {"walk": "data", "data": world, **settings})
        generator = TemplateGenerator(given, data)
        return generator, list(islice((one for one in generator.candidates(5000) if one is not None), number))


def test_what_is_walked_is_in_the_data(world: Path) -> None:
    lines = {True: {line for _, line in STREAMED}, False: set(STATIC)}
    _, found = walked(world, 60)
    for candidate in found:
        terms = {name: term_text(term) for name, term in candidate.template.found.items()}
        for part in candidate.template.parts:
            assert f"{terms[part.subject]} <{part.predicate}> {terms[part.object]} ." in lines[part.streamed]
    assert {len(candidate.template.parts) for candidate in found} >= {1, 2, 3, 4}
    assert walked(world, 60)[1] == found


def test_every_query_has_answers(world: Path) -> None:
    generator, found = walked(world, 40, filters=1)
    different = {str(one.template): one for one in found}
    for candidate in list(different.values())[:8]:
        text = print_query_texts("q", candidate.instances[0], generator.model, generator.settings.time_window).texts[
            "rspql"
        ]
        with query(text).over(world / "shop", {KNOWLEDGE: world / "static"}, placement="local") as run:
            solution = tuple(term_text(candidate.template.found[name]) for name in candidate.template.shown)
            assert any(solution in report.rows for report in run.reports()), text


def test_further_instances_stand_at_the_same_place_in_the_data(world: Path) -> None:
    generator, found = walked(world, 20, instances=3)
    followed = {"User0", "User1", "User2", "Product0", "Website0", "Purchase0"}
    for candidate in found:
        for instance in candidate.instances:
            assert {iri.value.removeprefix(WSDBM) for iri in instance.constants.values()} <= followed
    with WorldData(world) as data:
        gauge = FeatureMeter(data, generator.settings.window, generator.settings.slide, windows=2)
    for candidate in found:
        values = gauge(build_query(candidate.instances[0], generator.model, generator.settings.time_window))
        assert values.cardinality >= 0.5, "one of two windows has what was walked"


def test_wanted_by_cardinality(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--walk", "data", "--data", str(world), "--number", "2"]
    main(["workload", "shop", str(tmp_path / "a"), *common, "--where", "cardinality >= 1, patterns >= 2"])
    for one in json.loads((tmp_path / "a" / MANIFEST).read_text())["queries"]:
        assert one["measured"]["cardinality"] >= 1
        assert one["patterns"] >= 2
    like = ["--like", str(tmp_path / "a" / "q1.csparql"), "--seed", "3"]
    main(["workload", "shop", str(tmp_path / "b"), *common, *like])
    assert "cardinality >= 0.5, cardinality <= 2" in capsys.readouterr().out


def test_a_walk_over_data_needs_a_shop(world: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs data"):
        read_settings(WorkloadSettings, None, {"walk": "data"})
    with pytest.raises(DataError, match="not a generated world"):
        WorldData(tmp_path)
    with pytest.raises(DataError, match="expected a world of the kind sensors, got shop"):
        choose_constants("csrbench", world)


def test_static_components_can_count_once(world: Path, tmp_path: Path) -> None:
    common = ["--walk", "data", "--data", str(world), "--number", "3", "--measure", "--where", "kind = hybrid"]
    for unit in ("pattern", "component"):
        main(["workload", "shop", str(tmp_path / unit), *common, "--static-unit", unit])
    found = {
        unit: [one["measured"] for one in json.loads((tmp_path / unit / MANIFEST).read_text())["queries"]]
        for unit in ("pattern", "component")
    }
    assert found["pattern"] != found["component"]
    assert [one["cardinality"] for one in found["pattern"]] == [one["cardinality"] for one in found["component"]]

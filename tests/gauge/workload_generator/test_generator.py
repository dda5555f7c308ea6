"""Workloads: templates by random walks, their instances, and their texts in every language."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from string import Template as Text

import pytest

import hydrograph
from hydrograph.algebra.windows import TimeWindow
from hydrograph.cli.main import main
from hydrograph.errors import UsageError
from hydrograph.language import parse
from hydrograph_gauge.features.conditions import derive_conditions, read_conditions
from hydrograph_gauge.features.structure import QueryKind, find_structure
from hydrograph_gauge.queries.placeholders import print_window_lengths
from hydrograph_gauge.queries.query_sets import LANGUAGES
from hydrograph_gauge.workload_generator.generator import Candidate, TemplateGenerator, WorkloadSettings
from hydrograph_gauge.workload_generator.instances import (
    build_query,
    print_query_texts,
    print_template,
)
from hydrograph_gauge.workload_generator.search import MANIFEST, SelectedTemplate, search_templates
from hydrograph_gauge.workload_generator.templates import Vertex, build_schema
from hydrograph_gauge.worlds.shop.world import KNOWLEDGE, load_model

WSDBM = "http://db.uwaterloo.ca/~galuc/wsdbm/"


def made(number: int = 30, **settings: object) -> list[Candidate]:
    candidates = TemplateGenerator(WorkloadSettings.model_validate(settings), None).candidates(100_000)
    return list(islice((one for one in candidates if one is not None), number))


def test_the_schema_streams_the_predicates_of_stream_watdiv() -> None:
    schema = build_schema(load_model(None))
    streamed = {edge.predicate.rpartition("#")[2].rpartition("/")[2] for edge in schema.edges if edge.streamed}
    assert streamed == {
        "likes", "follows", "subscribes", "offers", "includes", "eligibleRegion", "makesPurchase", "purchaseFor",
        "reviewer", "hasReview", "rating", "title", "text", "totalVotes", "price", "purchaseDate", "serialNumber",
        "validFrom", "validThrough", "priceValidUntil", "eligibleQuantity",
    }  # fmt: skip
    movie = Vertex(f"{WSDBM}Product", f"{WSDBM}ProductCategory2")
    own = {edge.predicate for edge, _ in schema.around(movie)} - {
        edge.predicate for edge, _ in schema.around(Vertex(f"{WSDBM}Product"))
    }
    assert "http://schema.org/actor" in own
    assert "http://schema.org/author" not in own


def test_templates_are_as_wanted() -> None:
    for candidate in made(100):
        template = candidate.template
        assert 1 <= len(template.parts) <= 5
        assert template.streamed
        assert [template.uses(name) for name in template.placeholders] == [1]
        assert template.shown
        # A walk never leaves what it has walked, so the patterns hang together.
        reached = set(template.parts[0].ends)
        for part in template.parts[1:]:
            assert reached & set(part.ends)
            reached |= set(part.ends)
    assert {len(candidate.template.parts) for candidate in made(100)} == {1, 2, 3, 4, 5}


def test_the_same_seed_gives_the_same_queries() -> None:
    assert made(20) == made(20)
    assert made(20) != made(20, seed=1)


def test_a_variable_is_never_two_incompatible_things() -> None:
    """An album and a movie are two products."""
    schema = build_schema(load_model(None))
    for candidate in made(200, patterns=8):
        for name, vertex in candidate.template.entities.items():
            needed = {
                edge.ends[part.ends.index(name)].restriction
                for part in candidate.template.parts
                for edge in schema.edges
                if name in part.ends
                and edge.predicate == part.predicate
                and edge.streamed is part.streamed
                and len([other for other in schema.edges if other.predicate == part.predicate]) == 1
                and part.ends.index(name) < len(edge.ends)
            }
            assert needed <= {"", vertex.restriction}


def test_faithful_templates_have_one_variable_for_what_can_not_be_one_thing() -> None:
    """As the original: then something would have to be an album and a movie, of which there is none."""
    sane, faithful = made(200, patterns=8), made(200, patterns=8, faithful=True)
    assert [one.template for one in sane] != [one.template for one in faithful]

    def restricted(found: list[Candidate], most: int) -> int:
        """Return how many templates ask of one variable what belongs to more than `most` categories."""
        schema = build_schema(load_model(None))
        only = {
            edge.predicate: edge.ends[0].restriction
            for edge in schema.edges
            if edge.ends[0].restriction and len([one for one in schema.edges if one.predicate == edge.predicate]) == 1
        }
        categories = [
            {only[part.predicate] for part in one.template.parts if part.subject == name and part.predicate in only}
            for one in found
            for name in one.template.entities
        ]
        return sum(len(own) > most for own in categories)

    assert restricted(sane, 0) > 0
    assert restricted(sane, 1) == 0
    assert restricted(faithful, 1) > 0
    with pytest.raises(ValueError, match="faithful is about walks over the schema"):
        WorkloadSettings(faithful=True, walk="data", data=Path())


def test_placeholders_joins_and_edges_can_be_more() -> None:
    assert all(len(one.template.placeholders) == 2 for one in made(10, placeholders=2))
    assert all(not one.template.placeholders for one in made(10, placeholders=0))
    joined = made(100, constant_joins=True, patterns=8)
    assert any(one.template.uses(name) > 1 for one in joined for name in one.template.placeholders)
    again = made(100, duplicate_edges=True, patterns=8)

    def repeats(found: list[Candidate]) -> bool:
        edges = [[(part.subject, part.predicate) for part in one.template.parts] for one in found]
        return any(len(set(own)) < len(own) for own in edges)

    assert repeats(again)
    filtered = [made_ for one in made(50, filters=2) for made_ in one.instances]
    assert max(len(one.filters) for one in filtered) == 2


def test_instances_differ_in_their_constants_only() -> None:
    for candidate in made(20, instances=3):
        assert len(candidate.instances) == 3
        for instance in candidate.instances:
            for name, iri in instance.constants.items():
                assert iri.value.startswith(candidate.template.entities[name].type)
    constants = [{str(one.constants) for one in candidate.instances} for candidate in made(20, instances=3)]
    assert any(len(own) == 3 for own in constants)


@pytest.mark.parametrize("open_window", [False, True])
def test_every_text_parses_and_means_the_same(*, open_window: bool) -> None:
    window, model = TimeWindow(5000, 1000), load_model(None)
    for candidate in made(25, filters=1):
        (instance,) = candidate.instances
        query = build_query(instance, model, window)
        kind = find_structure(query).kind
        assert kind in (QueryKind.PURE, QueryKind.HYBRID)
        texts = print_query_texts("q1", instance, model, window, open_window=open_window)
        refused = {"strider"} if kind is QueryKind.HYBRID else set()
        assert set(texts.reasons) == refused, "Strider has no static data, all others have words for every query"
        assert set(texts.texts) == set(LANGUAGES) - refused
        for language, text in texts.texts.items():
            filled = Text(text).substitute(print_window_lengths(window, language)) if open_window else text
            found = find_structure(parse(filled, language))
            assert found == find_structure(query)
            assert [one.definition for one in parse(filled, language).windows] == [window]
        assert find_structure(parse(texts.oracle, "sparql")).patterns == len(candidate.template.parts)


def test_a_template_is_written_as_watdiv_writes_it() -> None:
    candidate = next(one for one in made(50) if len(one.template.parts) == 3)
    lines = print_template(candidate.template, load_model(None)).splitlines()
    assert lines[0].startswith("#mapping v")
    assert lines[0].endswith(" uniform")
    assert lines[-1] == "#end"
    assert sum(line.startswith("\t") for line in lines) == 3
    assert sum("%" in line for line in lines) == 1


def kept(conditions: str, number: int, tries: int = 20_000) -> list[SelectedTemplate]:
    generator = TemplateGenerator(WorkloadSettings(number=number), None)
    return [one for one in search_templates(generator, read_conditions(conditions), None, tries) if one is not None]


def test_only_what_is_wanted_is_kept() -> None:
    found = kept("shape = star, patterns = 4, kind = hybrid, streaming >= 2", 5)
    assert len(found) == 5
    for one in found:
        for _, _, structure_, _ in one.queries:
            assert (structure_.shape, structure_.patterns, structure_.kind) == ("star", 4, "hybrid")
            assert structure_.streaming >= 2
    assert [one.number for one in found] == [1, 2, 3, 4, 5]
    assert kept("patterns > 5", 1, tries=500) == []


def test_a_query_is_like_itself() -> None:
    for one in kept("patterns >= 2", 20):
        for _, _, found, _ in one.queries:
            assert all(condition.holds(found, None) for condition in derive_conditions(found, None))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("shape star", "expected conditions such as"),
        ("colour = red", "expected a feature"),
        ("shape = round", "expected shape = or != one of linear, star, complex"),
        ("shape < star", "expected shape = or !="),
        ("patterns = many", "expected a number for patterns"),
    ],
)
def test_conditions_that_say_nothing(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_conditions(text)


def test_cardinality_needs_data() -> None:
    with pytest.raises(UsageError, match="cardinality is measured on data"):
        kept("cardinality > 900", 1)


def test_the_command_writes_a_folder_with_a_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "workload"
    main(["workload", "shop", str(target), "--number", "3", "--instances", "2", "--slide", "1s"])
    assert "3 templates, 6 queries" in capsys.readouterr().out
    manifest = json.loads((target / MANIFEST).read_text())
    assert [one["name"] for one in manifest["queries"]] == ["q1_1", "q1_2", "q2_1", "q2_2", "q3_1", "q3_2"]
    for one in manifest["queries"]:
        for language in one["languages"]:
            parse((target / f"{one['name']}.{language}").read_text(), language)
        parse((target / f"{one['name']}.sparql").read_text(), "sparql")
        assert set(one["languages"]) | set(one["reasons"]) == set(LANGUAGES)
    before = {file.name: file.read_bytes() for file in target.iterdir()}
    with pytest.raises(SystemExit) as stopped:
        main(["workload", "shop", str(target)])
    assert stopped.value.code == UsageError.exit_code
    main(["workload", "shop", str(target), "--number", "3", "--instances", "2", "--slide", "1s", "--force"])
    assert before == {file.name: file.read_bytes() for file in target.iterdir()}


def test_too_few_tries_are_said_aloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["workload", "shop", str(tmp_path / "w"), "--where", "patterns = 6", "--tries", "50"])
    assert stopped.value.code == 1
    assert "found 0 of 100 templates in 50 tries" in capsys.readouterr().err


def test_a_query_can_be_the_example(tmp_path: Path) -> None:
    main(["workload", "shop", str(tmp_path / "a"), "--number", "1", "--where", "patterns = 3, kind = hybrid"])
    main(
        [
            "workload",
            "shop",
            str(tmp_path / "b"),
            "--number",
            "4",
            "--seed",
            "7",
            "--like",
            str(tmp_path / "a/q1.cqels"),
        ]
    )
    example, *_ = json.loads((tmp_path / "a" / MANIFEST).read_text())["queries"]
    for one in json.loads((tmp_path / "b" / MANIFEST).read_text())["queries"]:
        for feature in ("kind", "shape", "patterns", "streaming", "degree"):
            assert one[feature] == example[feature]


def grounded(candidate: Candidate) -> tuple[list[str], list[str], tuple[str, ...]]:
    """Return triples that are a solution of a template with its first instance: streamed ones, static ones, columns."""
    constants = candidate.instances[0].constants
    terms = {name: f"<{iri.value}>" for name, iri in constants.items()}
    terms |= {n: f"<{v.type}{k}>" for k, (n, v) in enumerate(candidate.template.entities.items()) if n not in terms}
    terms |= {name: f'"{name}"' for name in candidate.template.literals}
    lines = {
        streamed: [
            f"{terms[part.subject]} <{part.predicate}> {terms[part.object]} .\n"
            for part in candidate.template.parts
            if part.streamed is streamed
        ]
        for streamed in (True, False)
    }
    return lines[True], lines[False], tuple(terms[name] for name in candidate.template.shown)


@pytest.mark.parametrize("slide", [5, 2])
def test_closed_windows_hold_both_their_ends(slide: int, tmp_path: Path) -> None:
    """Definitions 1.4.7 and 1.4.8 of the thesis: window i holds all times from i * slide to i * slide + width."""
    settings = WorkloadSettings(window=5, slide=slide, closed=True)
    (tmp_path / "stream.tnt").write_text("".join(f"{t}\t<urn:{t}> <urn:p> <urn:o> .\n" for t in range(31)))
    window = print_window_lengths(settings.time_window, "rspql")
    text = (
        "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> "
        f"[RANGE {window['WSIZE']} STEP {window['WSLIDE']}] WHERE {{ WINDOW <urn:w> {{ ?s <urn:p> <urn:o> }} }}"
    )
    with hydrograph.query(text).over({"urn:s": tmp_path / "stream.tnt"}, placement="local", until=31, t0=0) as run:
        reports = list(run.reports())
    found = [sorted(int(str(row[0]).removeprefix("<urn:").removesuffix(">")) for row in one.rows) for one in reports]
    assert found == [[*range(i * slide, i * slide + 6)] for i in range(25 // slide + 1)]
    assert WorkloadSettings(window=5, slide=slide).time_window.width == 5


@pytest.mark.parametrize("language", ["rspql", "csparql", "cqels", "sparqlstream"])
def test_closed_windows_are_said_in_every_language(language: str) -> None:
    window = WorkloadSettings(closed=True).time_window
    text = print_query_texts("q1", made(1)[0].instances[0], load_model(None), window).texts[language]
    assert [each.definition for each in parse(text, language).windows] == [TimeWindow(5001, 5000)]


@pytest.mark.parametrize("language", ["rspql", "csparql", "cqels", "sparqlstream"])
def test_queries_find_what_they_were_made_for(language: str, tmp_path: Path) -> None:
    model, window = load_model(None), TimeWindow(5000, 5000)
    for number, candidate in enumerate(one for one in made(40) if len(one.template.parts) >= 4):
        if number == 2:
            break
        streamed, static, solution = grounded(candidate)
        (tmp_path / "stream.tnt").write_text("".join(f"1000\t{line}" for line in streamed))
        (tmp_path / "static.nt").write_text("".join(static))
        text = print_query_texts("q1", candidate.instances[0], model, window).texts[language]
        graph = {KNOWLEDGE: tmp_path / "static.nt"} if static else None
        query = hydrograph.query(text, dialect=language)
        with query.over(tmp_path / "stream.tnt", graph, placement="local", t0=0) as run:
            rows = [row for report in run.reports() for row in report.rows]
        assert solution in rows

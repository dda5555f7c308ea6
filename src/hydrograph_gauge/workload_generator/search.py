"""Search for generated queries with given features, and writer of the resulting workload with its manifest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hydrograph import __version__
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.atomic_files import write_atomically
from hydrograph.errors import UsageError
from hydrograph.rdf.terms import Triple
from hydrograph_gauge.features.conditions import FeatureCondition, fulfil_all
from hydrograph_gauge.features.measurement import RunFeatures, average_patterns, average_windows
from hydrograph_gauge.features.printing import describe_vertices
from hydrograph_gauge.features.selectivity import Conjunction, StaticUnit, compute_selectivities, load_graph
from hydrograph_gauge.features.structure import Structure, find_structure
from hydrograph_gauge.queries.placeholders import print_window_lengths
from hydrograph_gauge.queries.query_sets import LANGUAGES
from hydrograph_gauge.workload_generator.generator import TemplateGenerator
from hydrograph_gauge.workload_generator.instances import (
    Instance,
    QueryTexts,
    build_query,
    print_query_texts,
    print_template,
)
from hydrograph_gauge.workload_generator.templates import Template
from hydrograph_gauge.workload_generator.world_data import WorldData

MANIFEST = "workload.json"
VERSION = 1


class FeatureMeter:
    """Measures queries on the first windows of a world."""

    def __init__(
        self,
        data: WorldData,
        width: int,
        slide: int,
        windows: int,
        unit: StaticUnit = StaticUnit.PATTERN,
    ) -> None:
        """Load the windows and the static data, each window once for all queries."""
        self.unit = unit
        assert data.stream.first is not None, "generated streams have events"
        start = data.stream.first // slide * slide
        static = frozenset(_triple(*row) for row in data.static_triples())
        self.graphs = []
        for number in range(windows):
            inside = data.window(start + number * slide, start + number * slide + width)
            graph = static | {_triple(*known[:3]) for known in inside}
            self.graphs.append((graph, load_graph(graph)))

    def __call__(self, query: ContinuousQuery) -> RunFeatures:
        """Return the features of a query over the windows."""
        found = Conjunction.of(query)
        return average_windows(
            [
                average_patterns(found, compute_selectivities(found, graph, ask), len(graph), self.unit)
                for graph, ask in self.graphs
            ]
        )


def _triple(subject: Any, predicate: Any, object_: Any) -> Triple:
    return Triple(subject, predicate, object_)


@dataclass(frozen=True, slots=True)
class SelectedTemplate:
    """Template whose queries all fulfil the conditions, with these queries."""

    number: int
    attempt: int
    template: Template
    queries: tuple[tuple[str, Instance, Structure, RunFeatures | None], ...]


def search_templates(
    generator: TemplateGenerator, conditions: Sequence[FeatureCondition], gauge: FeatureMeter | None, tries: int
) -> Iterator[SelectedTemplate | None]:
    """Yield what each try gives: a template all of whose instances are as wanted, or None.

    It ends when the wanted number is found, or when the tries are used up.
    """
    settings, number = generator.settings, 0
    for candidate in generator.candidates(tries):
        if number == settings.number:
            return
        if candidate is None:
            yield None
            continue
        queries = []
        for place, made in enumerate(candidate.instances):
            name = f"q{number + 1}" if settings.instances == 1 else f"q{number + 1}_{place + 1}"
            query = build_query(made, generator.model, settings.time_window)
            found = find_structure(query)
            values = _once(gauge, query)
            if not fulfil_all(conditions, found, values):
                break
            queries.append((name, made, found, None if values is None else values()))
        if len(queries) < len(candidate.instances):
            yield None
            continue
        number += 1
        yield SelectedTemplate(number, candidate.attempt, candidate.template, tuple(queries))


def _once(gauge: FeatureMeter | None, query: ContinuousQuery) -> Callable[[], RunFeatures] | None:
    """Return a function that measures a query on its first call."""
    if gauge is None:
        return None
    known: list[RunFeatures] = []

    def measure() -> RunFeatures:
        if not known:
            known.append(gauge(query))
        return known[0]

    return measure


def write_workload(
    target: Path,
    generator: TemplateGenerator,
    kept: Sequence[SelectedTemplate],
    conditions: Sequence[FeatureCondition],
    tried: int,
    *,
    force: bool,
) -> None:
    """Write the queries and their templates into the directory `target`, and the manifest last."""
    if target.exists():
        if not force:
            raise UsageError(f"{target} exists: choose another name or use --force")
        if not (target / MANIFEST).is_file():
            raise UsageError(f"{target} is not a workload: remove it yourself")
        shutil.rmtree(target)
    settings = generator.settings
    target.mkdir(parents=True)
    entries = []
    for one in kept:
        (target / f"t{one.number}.template").write_text(print_template(one.template, generator.model), "utf-8")
        for name, made, found, values in one.queries:
            texts = print_query_texts(
                name, made, generator.model, settings.time_window, open_window=settings.open_window
            )
            for language, text in texts.texts.items():
                (target / f"{name}.{language}").write_text(text, "utf-8")
            (target / f"{name}.sparql").write_text(texts.oracle, "utf-8")
            entries.append({"name": name, "template": f"t{one.number}", **describe_query(made, found, values, texts)})
    manifest = {
        "version": VERSION,
        "hydrograph": __version__,
        "world": "shop",
        "settings": settings.model_dump(mode="json"),
        "where": [str(condition) for condition in conditions],
        "tries": tried,
        "lengths": {language: print_window_lengths(settings.time_window, language) for language in LANGUAGES},
        "queries": entries,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    write_atomically(target / MANIFEST, text)


def describe_query(made: Instance, found: Structure, values: RunFeatures | None, texts: QueryTexts) -> dict[str, Any]:
    """Return the manifest entry of a query."""
    known: dict[str, Any] = {
        "kind": found.kind,
        "patterns": found.patterns,
        "streaming": found.streaming,
        "shape": found.shape,
        "classes": found.classes,
        "degree": found.degree,
        "vertices": describe_vertices(found),
        "constants": {name: iri.value for name, iri in made.constants.items()},
        "languages": sorted(texts.texts),
        "reasons": dict(texts.reasons),
    }
    return known if values is None else {**known, "measured": asdict(values)}

"""Queries of a test: read, with constants filled in, and translated for each engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydrograph.algebra.queries import ContinuousQuery, NamedWindow
from hydrograph.algebra.windows import TimeWindow
from hydrograph.compile.compiler import answer_columns
from hydrograph.errors import HydrographError, UnsupportedError, UsageError
from hydrograph.language import dialect_of, parse, print_query
from hydrograph.temporal import Duration
from hydrograph_gauge.engines import registry
from hydrograph_gauge.experiments.data import ExperimentData, generate_once, prepare_data
from hydrograph_gauge.experiments.model import ExperimentTest, QueriesTable
from hydrograph_gauge.experiments.options import Progress
from hydrograph_gauge.features.structure import find_structure
from hydrograph_gauge.queries.constants import choose_constants
from hydrograph_gauge.queries.query_sets import SOURCE, SetQuery, read_query_set, read_set_description
from hydrograph_gauge.run_records import QueryRecord, Setting

WORKLOAD = "workload.json"


@dataclass(frozen=True, slots=True)
class ExperimentQuery:
    """A query of a test; `text` is the one that the oracle goes by."""

    name: str
    text: str
    algebra: ContinuousQuery
    source: SetQuery | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    oracle_text: str | None = None
    """The SPARQL that the oracle asks at each report, if it is not made from the query."""
    engine_texts: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, Setting | None] = field(default_factory=dict)
    """Features that were measured when the query was generated."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the answer's columns."""
        return tuple(variable.name for variable in answer_columns(self.algebra))

    def text_for(self, engine: str) -> str:
        """Return what an engine is asked, or raise UnsupportedError if its language or version has no words for it."""
        if engine in self.engine_texts:
            return self.engine_texts[engine]
        registry.check_limits(engine, self.algebra)
        found = registry.get_engine(engine)
        if found.words is None and found.dialect == dialect_of(self.text).name:
            return self.text
        if (
            found.words is None
            and self.source is not None
            and found.dialect in {*self.source.texts, *self.source.merged}
        ):
            return self.source.text(self.constants, found.dialect)
        return registry.print_for_engine(engine, self.algebra)

    def features(self) -> dict[str, Setting | None]:
        """Return what the text tells: by it results are grouped."""
        found = find_structure(self.algebra)
        return {
            "kind": str(found.kind),
            "patterns": found.patterns,
            "streams": found.streams,
            "shape": str(found.shape),
            "degree": found.degree,
            "classes": ", ".join(found.classes),
            **self.known,
        }


def load_queries(
    test: ExperimentTest, data: ExperimentData, cache: Path, progress: Progress
) -> tuple[ExperimentQuery, ...]:
    """Return the queries of a test; generated ones are kept below `cache`."""
    part = test.queries
    found = [
        *_of_set(part, data),
        *_of_texts(part.texts, part),
        *_of_files(part.files, part),
        *_of_workload(test, data, cache, progress),
    ]
    if not found:
        raise UsageError(f"test {test.name}: no queries: expected a set, texts or files")
    names = [each.name for each in found]
    if unknown := sorted(
        {*part.oracle_texts, *(q for texts in part.engine_texts.values() for q in texts)} - set(names)
    ):
        raise UsageError(f"test {test.name}: no query {unknown[0]!r}; there are {', '.join(names)}")
    for engine in part.engine_texts:
        registry.get_engine(engine)  # a misspelt one would never be asked
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"test {test.name}: two queries are named {repeated[0]!r}")
    if part.copies == 1:
        return tuple(found)
    return tuple(replace(each, name=f"{each.name}/{n}") for n in range(1, part.copies + 1) for each in found)


def _of_set(part: QueriesTable, data: ExperimentData) -> list[ExperimentQuery]:
    if part.set is None:
        return []
    queries = read_query_set(part.set)
    known = [query.name for query in queries]
    if unknown := [name for name in part.names if name not in known]:
        raise UsageError(f"the set {part.set} has no query {unknown[0]!r}; it has {', '.join(known)}")
    open_ = sorted({name for query in queries for name in query.about.constants})
    if unknown := [name for name in part.constants if name not in open_]:
        raise UsageError(f"the set {part.set} has no constant {unknown[0]!r}; it has {', '.join(open_) or 'none'}")
    asked = [query for query in queries if not part.names or query.name in part.names]
    needed = {name for query in asked for name in query.about.constants}
    constants = dict(part.constants)
    if needed - constants.keys() and data.world is not None:
        constants = choose_constants(part.set, data.world) | constants
    return [
        _posed(query.name, query.text(constants), part, query, {n: constants[n] for n in query.about.constants})
        for query in asked
    ]


def _of_texts(texts: Mapping[str, str], part: QueriesTable) -> list[ExperimentQuery]:
    return [_posed(name, text, part) for name, text in texts.items()]


def _of_files(files: Sequence[Path], part: QueriesTable) -> list[ExperimentQuery]:
    found = []
    for file in files:
        try:
            found.append(_posed(file.stem, file.read_text("utf-8"), part))
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from None
    return found


def _of_workload(test: ExperimentTest, data: ExperimentData, cache: Path, progress: Progress) -> list[ExperimentQuery]:
    """Return queries that are generated over the shop, with constants from its data if there is a shop."""
    part = test.queries
    if not part.workload:
        return []
    settings = {"seed": test.seed, **part.workload}
    world = data.world
    if part.workload_world:
        changed = {"settings": {**test.world.settings, **part.workload_world}, "duration": None}
        world = prepare_data(test.world.model_copy(update=changed), test.seed, cache, progress).world
    if world is not None:
        settings["data"] = world.resolve()
    folder = generate_once(("workload", "shop"), settings, cache, WORKLOAD, progress)
    manifest = json.loads((folder / WORKLOAD).read_text("utf-8"))
    found = []
    for entry in manifest["queries"]:
        name = entry["name"]
        if part.names and name not in part.names:
            continue
        known = {key: value for key, value in entry.items() if isinstance(value, str | int | float) and key != "name"}
        known |= flatten_measured(entry.get("measured", {}))
        text = (folder / f"{name}.{SOURCE}").read_text("utf-8")
        found.append(replace(_posed(name, text, part), known=known))
    return found


_SELECTIVITIES = {"patterns": "f-TP", "restricted": "BGP-restricted", "joined": "join-restricted"}
"""What Stream WatDiv calls the selectivities of a query's patterns, by their names in a workload."""


def flatten_measured(measured: Mapping[str, Any]) -> dict[str, Setting]:
    """Return what was measured of a query: cardinality, and mean and deviation of its patterns' selectivities.

    >>> flatten_measured({"cardinality": 21.0, "patterns": {"mean": 0.5, "deviation": 0.1}})
    {'cardinality': 21.0, 'f-TP selectivity': 0.5, 'f-TP deviation': 0.1}
    """
    found: dict[str, Setting] = {}
    if "cardinality" in measured:
        found["cardinality"] = measured["cardinality"]
    for key, name in _SELECTIVITIES.items():
        if key in measured:
            found |= {f"{name} selectivity": measured[key]["mean"], f"{name} deviation": measured[key]["deviation"]}
    return found


def bind_static_graph(data: ExperimentData, queries: Sequence[ExperimentQuery], part: QueriesTable) -> ExperimentData:
    """Return the data with the static graph under the name that the texts of a set have for it.

    Where texts name none, it is the default graph; where some do and some do not, it is both.
    """
    graph = None if part.set is None else read_set_description(part.set).graph
    if part.workload:
        graph = read_set_description("watdiv").graph
    if graph is None or None not in data.static:
        return data
    naming = [graph in {name.value for name in (*q.algebra.dataset.default, *q.algebra.dataset.named)} for q in queries]
    names = [*([None] if not all(naming) else []), *([graph] if any(naming) else [])]
    return replace(
        data,
        static=dict.fromkeys(names, data.static[None]),
        triples=dict.fromkeys(names, data.triples[None]),
    )


def _posed(
    name: str,
    text: str,
    part: QueriesTable,
    source: SetQuery | None = None,
    constants: Mapping[str, str] | None = None,
) -> ExperimentQuery:
    try:
        algebra = parse(text)
    except HydrographError as error:
        raise UsageError(f"query {name}: {error}") from error
    if part.longest is not None and any(_width(window) > part.longest for window in algebra.windows):
        algebra = replace(algebra, windows=tuple(_shortened(window, part.longest) for window in algebra.windows))
        text = print_query(algebra, dialect_of(text).name)
        source = None  # its texts in other languages have the windows as published
    own = {engine: texts[name] for engine, texts in part.engine_texts.items() if name in texts}
    return ExperimentQuery(name, text, algebra, source, constants or {}, part.oracle_texts.get(name), own)


def _width(window: NamedWindow) -> Duration:
    return window.definition.width if isinstance(window.definition, TimeWindow) else 0


def _shortened(window: NamedWindow, longest: Duration) -> NamedWindow:
    if not isinstance(window.definition, TimeWindow):
        return window
    return replace(window, definition=replace(window.definition, width=min(window.definition.width, longest)))


def describe_queries(test: ExperimentTest, queries: Sequence[ExperimentQuery]) -> list[QueryRecord]:
    """Return what is known of the queries before they run."""
    found = []
    for query in queries:
        texts = {}
        for engine in test.engines:
            try:
                words = query.text_for(engine)
            except UnsupportedError:
                continue
            if words != query.text:
                texts[engine] = words
        found.append(
            QueryRecord(
                test=test.name,
                query=query.name,
                text=query.text,
                texts=texts,
                variables=query.variables,
                features=query.features(),
            )
        )
    return found

"""Output of the features of a query: as lines of text, and as a JSON object with every value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from hydrograph.algebra.nodes import PatternTerm
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Variable
from hydrograph.temporal import Instant
from hydrograph_gauge.features.measurement import RunFeatures, RunSelectivity, WindowFeatures, average_windows
from hydrograph_gauge.features.selectivity import Conjunction, Selectivities, StaticUnit, explain_undefined
from hydrograph_gauge.features.structure import Structure


@dataclass(frozen=True, slots=True)
class QueryFeatures:
    """Features of a query; without data it has no measured windows."""

    structure: Structure
    windows: tuple[tuple[Instant | None, WindowFeatures], ...] = ()
    """Features at each report; the time is None for a query without windows."""
    patterns: tuple[str, ...] = ()
    """The patterns to which the values of a window belong."""
    undefined: str | None = None
    """The reason why selectivities are undefined."""
    units: tuple[tuple[str, ...], ...] = ()
    """Groups of patterns that count once, if connected static patterns do."""

    @property
    def run(self) -> RunFeatures | None:
        """The features over all windows, if there are any."""
        return average_windows([value for _, value in self.windows]) if self.windows else None


def format_term(term: PatternTerm) -> str:
    """Return a term in SPARQL syntax."""
    return f"?{term.name}" if isinstance(term, Variable) else term_text(term)


def format_patterns(found: Conjunction) -> tuple[str, ...]:
    """Return the patterns of a query in SPARQL syntax, without prefixes."""
    return tuple(" ".join(map(format_term, (one.subject, one.predicate, one.object))) for one in found.patterns)


def list_units(query: ContinuousQuery) -> tuple[tuple[str, ...], ...]:
    """Return the groups of patterns that count once if connected static patterns do; empty if undefined."""
    if explain_undefined(query):
        return ()
    found = Conjunction.of(query)
    texts = format_patterns(found)
    return tuple(tuple(texts[number] for number in one) for one in found.units(StaticUnit.COMPONENT))


def describe_vertices(found: Structure) -> list[dict[str, Any]]:
    """Return the join vertices for JSON."""
    return [
        {"term": format_term(vertex.term), "degree": vertex.degree, "types": sorted(vertex.types)}
        for vertex in found.vertices
    ]


def describe_features(features: QueryFeatures) -> dict[str, Any]:
    """Return everything for JSON; the values of a pattern are fractions such as "4/9"."""
    found = features.structure
    known: dict[str, Any] = {
        "kind": found.kind,
        "patterns": found.patterns,
        "streaming": found.streaming,
        "streams": found.streams,
        "shape": found.shape,
        "classes": found.classes,
        "vertices": describe_vertices(found),
    }
    if features.units:
        known["units"] = features.units
    if features.undefined is not None:
        known["undefined"] = features.undefined
    if features.run is not None:
        known["run"] = asdict(features.run)
        known["windows"] = [_window(t, value, features.patterns) for t, value in features.windows]
    return known


def _window(t: Instant | None, value: WindowFeatures, texts: tuple[str, ...]) -> dict[str, Any]:
    known: dict[str, Any] = {"t": t, "triples": value.triples, "cardinality": value.cardinality}
    if value.averages is not None:
        known |= asdict(value.averages)
    if value.each is not None:
        known["each"] = [
            {
                "pattern": text,
                "selectivity": str(matched),
                "restricted": str(restricted),
                "joined": {format_term(term): str(share) for term, share in joined.items()},
            }
            for text, matched, restricted, joined in _by_pattern(value.each, texts)
        ]
    return known


def _by_pattern(
    each: Selectivities, texts: tuple[str, ...]
) -> Iterator[tuple[str, Fraction, Fraction, dict[PatternTerm, Fraction]]]:
    return zip(texts, each.patterns, each.restricted, each.joined, strict=True)


def format_features(features: QueryFeatures, *, each: bool) -> list[str]:
    """Return lines of text, with every window and its patterns if `each` is set or there is only one window."""
    found = features.structure
    lines = [
        f"{found.kind}, {found.shape}: {_counted(found.patterns, 'pattern')}, {_counted(found.streams, 'stream')}",
        f"classes: {', '.join(found.classes) or 'none'}",
    ]
    lines += [
        f"join vertex {format_term(vertex.term)}: degree {vertex.degree}, {', '.join(sorted(vertex.types))}"
        for vertex in found.vertices
    ]
    lines += [f"static, counts once: {' . '.join(unit)}" for unit in features.units if len(unit) > 1]
    if features.undefined is not None:
        lines.append(features.undefined)
    if each or len(features.windows) == 1:
        for t, value in features.windows:
            lines += _window_lines(t, value, features.patterns)
    if features.run is not None and len(features.windows) > 1:
        lines += _run_lines(features.run)
    return lines


def _window_lines(t: Instant | None, value: WindowFeatures, texts: tuple[str, ...]) -> Iterator[str]:
    where = "static data" if t is None else f"window at {t}"
    means = "" if value.averages is None else ": mean (deviation over the patterns)"
    yield f"{where}, {_counted(value.triples, 'triple')}{means}"
    yield f"  result cardinality {value.cardinality}"
    if value.averages is not None:
        yield f"  f-TP selectivity   {value.averages.patterns.mean:.4f} ({value.averages.patterns.deviation:.4f})"
        yield f"  BGP-restricted     {value.averages.restricted.mean:.4f} ({value.averages.restricted.deviation:.4f})"
        yield f"  join-restricted    {value.averages.joined.mean:.4f} ({value.averages.joined.deviation:.4f})"
    if value.each is not None:
        for text, matched, restricted, joined in _by_pattern(value.each, texts):
            at = "".join(f", join-restricted at {format_term(term)} {share}" for term, share in joined.items())
            yield f"  {text}: f-TP {matched}, BGP-restricted {restricted}{at}"


def _run_lines(run: RunFeatures) -> Iterator[str]:
    patterns = "" if run.patterns is None else "; over the patterns"
    yield f"over {_counted(run.windows, 'window')}: mean (deviation over the windows{patterns})"
    yield f"  result cardinality {run.cardinality:.1f} ({run.cardinality_deviation:.1f})"
    if run.patterns is not None and run.restricted is not None and run.joined is not None:
        yield f"  f-TP selectivity   {_selectivity(run.patterns)}"
        yield f"  BGP-restricted     {_selectivity(run.restricted)}"
        yield f"  join-restricted    {_selectivity(run.joined)}"


def _selectivity(value: RunSelectivity) -> str:
    return f"{value.mean:.4f} ({value.over_windows:.4f}; {value.deviation:.4f})"


def _counted(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"

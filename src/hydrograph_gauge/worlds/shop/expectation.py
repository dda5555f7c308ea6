"""Expected numbers of triples for each row of a model, computed without generating data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, permutations
from statistics import NormalDist

from hydrograph_gauge.worlds.shop.activities import find_associations
from hydrograph_gauge.worlds.shop.model import ActivityMode, Association, Distribution, find_type_associations
from hydrograph_gauge.worlds.shop.population import ModelRow, Population, taken_share

_MOST_CASES = 200_000
_GRID = 200


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected numbers of triples: of each row of the model by its code, of the static data, and of the stream.

    The rows of owner associations count links, of which an entity that is streamed once keeps the last.
    """

    rows: dict[int, float]
    static: float
    stream: float


def compute_expectation(population: Population) -> Expectation:
    """Return what is expected of a population."""
    rows: dict[int, float] = {}
    static = stream = 0.0
    owners = {one.predicate for one in population.model.activities}
    for row in population.rows:
        if row.predicate in owners and row.association is not None:
            rows[row.code] = _links(population, row.association) * population.stream
        elif row.subject in population.streamed:
            rows[row.code] = _activities(population, row.subject) * _each(population, row)
            stream += rows[row.code]
        else:
            rows[row.code] = (
                _links(population, row.association)
                if row.association is not None
                else population.count(row.subject) * _each(population, row)
            )
            static += rows[row.code]
    for activity in population.model.activities:
        if activity.entity is None or activity.mode is ActivityMode.EACH:
            found = find_associations(population, activity)
            stream += sum(rows[population.row_of(one).code] for one in found)
        else:
            stream += population.count(activity.entity) * _owned(population, activity.predicate)
    return Expectation(rows, static, stream)


def _each(population: Population, row: ModelRow) -> float:
    """Return how many triples of a row an entity has in the mean."""
    inside = probability(population, row.subject, row.restriction)
    if row.association is not None:
        return inside * row.association.cover * _mean(row.association)
    return inside * row.probability


def _activities(population: Population, entity: str) -> float:
    """Return how many activities the entities of a type make."""
    activity = population.streamed[entity]
    match activity.mode:
        case ActivityMode.EACH:
            found = find_associations(population, activity)
            return population.stream * sum(_links(population, one) for one in found)
        case ActivityMode.OPTIONAL:
            return float(population.count(entity))
        case ActivityMode.REQUIRED:
            return population.count(entity) * _owned(population, activity.predicate)


def _owned(population: Population, predicate: str) -> float:
    """Return the share of entities that at least one run of the owner association reaches."""
    free = 1.0
    for association in population.model.associations:
        if association.predicate == predicate:
            reached = _links(population, association) / population.count(association.object)
            free *= (1 - reached) ** population.stream
    return 1 - free


def _mean(association: Association) -> float:
    """Return the mean number of objects: distributions are symmetric, Zipf's is not."""
    if association.spread is None:
        return float(association.most)
    if association.spread is Distribution.ZIPFIAN:
        weights = [1 / rank for rank in range(1, association.most + 1)]
        return sum(place * weight for place, weight in enumerate(weights)) / sum(weights)
    return association.most / 2


def _variance(association: Association) -> float:
    match association.spread:
        case None:
            return 0.0
        case Distribution.UNIFORM:
            return association.most**2 / 12
        case _:
            return association.most**2 / 36


def _links(population: Population, association: Association) -> float:
    """Return the expected number of links of one run."""
    n = population.count(association.subject)
    share = probability(population, association.subject, association.subject_restriction) * association.cover
    mean = _mean(association)
    if not association.exclusive:
        return n * share * mean
    # How many links are tried is nearly normal; how many of them find a free object bends at the end.
    tried = n * share * mean
    deviation = math.sqrt(n * (share * (_variance(association) + mean**2) - (share * mean) ** 2))
    free = population.count(association.object)
    if deviation == 0:
        return free * taken_share(tried, free)
    quantiles = (NormalDist(tried, deviation).inv_cdf((step + 0.5) / _GRID) for step in range(_GRID))
    return sum(free * taken_share(max(0.0, quantile), free) for quantile in quantiles) / _GRID


def probability(population: Population, type_: str, restriction: str | None) -> float:
    """Return the probability that an entity is an instance of `restriction`."""
    if restriction is None:
        return 1.0
    outside = 1.0
    for association, number in find_type_associations(population.model, type_, restriction):
        outside *= 1 - association.cover * _inclusion(population, association, number)
    return 1 - outside


def _inclusion(population: Population, association: Association, number: int) -> float:
    """Return the probability that a certain object is among those that a subject chooses, all different."""
    shares = list(_shares(population, association))
    size = min(round(_mean(association)), len(shares))
    if size >= len(shares):
        return 1.0
    if size == 1:
        return shares[number]
    if math.perm(len(shares), size) > _MOST_CASES:
        return 1 - (1 - shares[number]) ** size  # so many choices that hardly one comes twice
    total = 0.0
    for chosen in permutations(range(len(shares)), size):
        if number in chosen:
            likely, left = 1.0, 1.0
            for place in chosen:
                likely *= shares[place] / left
                left -= shares[place]
            total += likely
    return total


def _shares(population: Population, association: Association) -> Iterator[float]:
    """Yield how likely each object is to be drawn."""
    n = population.count(association.object)
    match association.distribution:
        case Distribution.ZIPFIAN:
            total = sum(1 / rank for rank in range(1, n + 1))
            yield from (1 / rank / total for rank in range(1, n + 1))
        case Distribution.UNIFORM if not population.faithful:
            yield from [1 / n] * n
        case Distribution.UNIFORM:
            yield from ([0.5 / n, *[1 / n] * (n - 2), 1.5 / n] if n > 1 else [1.0])
        case Distribution.NORMAL:
            normal = NormalDist(0.5, 1 / 6)
            edges = [0.0, *(normal.cdf((place + 0.5) / n) for place in range(n - 1)), 1.0]
            yield from (high - low for low, high in pairwise(edges))

"""The stream of the shop: activities in random order, numbered, and each with the number of its next repetition.

Rows are narrow. An activity is (key, kind, a, e): for a link its subject and object, for an entity its owner (-1: none)
and the entity; what else an entity has is drawn again where its triples are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hydrograph_gauge.worlds.hashing import NumberArray
from hydrograph_gauge.worlds.shop.model import Activity, ActivityMode, Association
from hydrograph_gauge.worlds.shop.ordering import NumberedRows, find_successors, number_rows
from hydrograph_gauge.worlds.shop.population import Population, make_links
from hydrograph_gauge.worlds.spark import task_count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ROWS_PER_BUCKET = 1_000_000
NO_OWNER = -1


@dataclass(frozen=True, slots=True)
class Timing:
    """Event times: triple number i happens at `start` + floor(floor(i / batch) * interval / per), in ms."""

    batch: int
    interval: int
    start: int = 0
    per: int = 1
    """Number of batches in `interval`; above 1 if the time between two batches is not a whole number of ms."""

    def column(self, i: Column) -> Column:
        """Return the time of each row."""
        from pyspark.sql import functions as F  # noqa: N812

        passed = _quotient(i, self.batch) * F.lit(self.interval).cast("bigint")
        return F.lit(self.start).cast("bigint") + _quotient(passed, self.per)

    def value(self, i: int) -> int:
        """Return the time of the triple with number `i`."""
        return self.start + i // self.batch * self.interval // self.per

    def array(self, i: NumberArray) -> NumberArray:
        """Return the times of the triples with these numbers."""
        result: NumberArray = self.start + i // self.batch * self.interval // self.per
        return result


def _quotient(number: Column, by: int) -> Column:
    """Return the integer quotient."""
    from pyspark.sql import functions as F  # noqa: N812

    if by == 1:
        return number
    # Division of doubles is exact below 2**53 only without remainder, so the remainder is subtracted first.
    divisor = F.lit(by).cast("bigint")
    return ((number - number % divisor) / divisor).cast("bigint")


def find_associations(population: Population, activity: Activity) -> list[Association]:
    """Return the associations whose links make an activity."""
    return [one for one in population.model.associations if one.predicate == activity.predicate]


def make_activities(population: Population) -> DataFrame:
    """Return all activities: `key`, `kind` (the number of the activity), `a`, `e`, and `n`, the number of triples."""
    frames, once = [], {}
    for kind, activity in enumerate(population.model.activities):
        found = [make_activity_links(population, activity, one) for one in find_associations(population, activity)]
        if activity.entity is None or activity.mode is ActivityMode.EACH:
            frames += [_sized(population, activity, kind, frame) for frame in found]
        else:
            once[kind] = _once(population, activity, found)
    for kind, frame in once.items():
        together = _with_its_purchase(population, kind, once)
        frames.append(
            _sized(population, population.model.activities[kind], kind, frame if together is None else together)
        )
    result = frames[0]
    for frame in frames[1:]:
        result = result.unionByName(frame)
    return result


def make_activity_links(population: Population, activity: Activity, association: Association) -> DataFrame:
    """Return the links of an association: `key`, `a`, `e` and `run`."""
    from pyspark.sql import functions as F  # noqa: N812

    keys = [F.col(name) for name in ("s", "run", "j")]
    key = population.draws.bits(f"{activity.name} {population.row_of(association).code} order").column(*keys)
    found = make_links(population, association, population.stream)
    return found.select(key.alias("key"), F.col("s").alias("a"), F.col("o").alias("e"), "run")


def _once(population: Population, activity: Activity, owners: list[DataFrame]) -> DataFrame:
    """Return one activity for each entity; its owner is the one of the latest run."""
    from pyspark.sql import functions as F  # noqa: N812

    assert activity.entity is not None
    owned = owners[0]
    for other in owners[1:]:
        owned = owned.unionByName(other)
    last = F.max_by(F.struct("key", "a"), F.struct("run", "key"))
    owner = owned.groupBy("e").agg(last.alias("owner")).select("e", "owner.*")
    if activity.mode is ActivityMode.REQUIRED:
        return owner.select("key", "a", "e")
    n = population.count(activity.entity)
    entities = population.session.range(0, n, 1, task_count(n, 1_000_000)).select(F.col("id").alias("e"))
    key = population.draws.bits(f"{activity.name} order").column(F.col("e"))
    no_owner = F.lit(NO_OWNER).cast("bigint")
    return entities.join(owner.drop("key"), "e", "left").select(
        key.alias("key"), F.coalesce("a", no_owner).alias("a"), "e"
    )


def _with_its_purchase(population: Population, kind: int, once: dict[int, DataFrame]) -> DataFrame | None:
    """Return the reviews with the keys of the purchases of the same product by the same user, if the model has both.

    So a review comes together with its purchase: the owner of one activity is the linked entity of the other.
    """
    from pyspark.sql import functions as F  # noqa: N812

    activity = population.model.activities[kind]
    if activity.mode is not ActivityMode.REQUIRED:
        return None
    for other, frame in once.items():
        before = population.model.activities[other]
        if before.mode is not ActivityMode.OPTIONAL:
            continue
        ours, theirs = _partner(population, activity, before), _partner(population, before, activity)
        if ours is None or theirs is None:
            continue
        e, run = F.col("e"), F.lit(0)
        bought = frame.where(F.col("a") >= 0).select(
            F.col("a").alias("user"), population.pick(theirs, e, run, F.lit(0)).alias("a"), F.col("key").alias("bought")
        )
        first = bought.groupBy("user", "a").agg(F.min("bought").alias("bought"))
        user = population.pick(ours, e, run, F.lit(0))
        written = once[kind].select("key", "a", "e", user.alias("user"))
        rows = written.join(first, ["user", "a"], "left")
        return rows.select(F.coalesce("bought", "key").alias("key"), "a", "e")
    return None


def _partner(population: Population, activity: Activity, other: Activity) -> Association | None:
    """Return the association from an activity's entity to the type that owns the other's entities."""
    owners = {association.subject for association in find_associations(population, other)}
    for association in population.model.associations:
        single = association.most == 1 and association.spread is None and association.cover >= 1
        if association.subject == activity.entity and association.object in owners and single:
            return association
    return None


def _sized(population: Population, activity: Activity, kind: int, rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    n = F.lit(1)
    if activity.entity is not None:
        n = population.triple_count(activity.entity, F.col("e")) + (F.col("a") >= 0).cast("int")
    return rows.select("key", F.lit(kind).alias("kind"), "a", "e", n.cast("int").alias("n"))


def number_activities(population: Population, about: float, *, by_activity: bool = False) -> NumberedRows:
    """Return the activities with their numbers `i` in the order of their keys, and the number of triples.

    Numbers count triples, or activities if `by_activity`; `about` is the expected number of triples.
    """
    from pyspark.sql import functions as F  # noqa: N812

    rows = make_activities(population)
    if by_activity:
        rows = rows.withColumn("w", F.lit(1))
    weight = "w" if by_activity else "n"
    found = number_rows(rows, weight, "kind", "a", "e", per_bucket=ROWS_PER_BUCKET, about=about)
    return replace(found, rows=found.rows.select("kind", "a", "e", "i"))


def add_successors(rows: DataFrame, population: Population, parts: int) -> DataFrame:
    """Return `rows` with `next_link` and `next_entity`, computed for all rows of a group in Arrow arrays.

    `next_link` is the number of the next activity with the same owner and entity (subject and object), `next_entity` of
    the next one with the same entity; null if there is none.
    """
    from pyspark.sql import functions as F  # noqa: N812

    entities = [kind for kind, one in enumerate(population.model.activities) if one.entity is not None]

    def follow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for kind, a, e, i in _columns(batches, "kind", "a", "e", "i"):
            next_link = find_successors(i, kind, e, a)
            next_entity = next_link
            # A link has no entity that could recur with another owner.
            some = np.flatnonzero(np.isin(kind, entities))
            if len(some):
                places = np.arange(len(kind), dtype=np.int64)
                places[some] = len(kind) + np.arange(len(some))
                both = pa.concat_arrays([next_link, find_successors(i[some], kind[some], e[some])])
                next_entity = both.take(pa.array(places))
            arrays = [*map(pa.array, (kind, a, e, i)), next_link, next_entity]
            yield pa.record_batch(arrays, ["kind", "a", "e", "i", "next_link", "next_entity"])

    # All rows of a group must be in one task: equal links, and all activities of an entity.
    owner = F.when(F.col("kind").isin(*entities), F.lit(0)).otherwise(F.col("a"))
    spread = rows.repartition(parts, "kind", "e", owner)
    return spread.mapInArrow(follow, "kind int, a bigint, e bigint, i bigint, next_link bigint, next_entity bigint")


def make_link_triples(rows: DataFrame, codes: Sequence[int], parts: int) -> DataFrame:
    """Return activities that are single links as triples: `seq`, `code` (by kind), `s`, `o`, and `next`.

    `next` is the number of the next activity with the same subject and object; null if there is none.
    """
    known = np.array(codes, np.int32)

    def follow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for kind, a, e, i in _columns(batches, "kind", "a", "e", "i"):
            arrays = [*map(pa.array, (i, known[kind], a, e)), find_successors(i, kind, e, a)]
            yield pa.record_batch(arrays, ["seq", "code", "s", "o", "next"])

    schema = "seq bigint, code int, s bigint, o bigint, next bigint"
    return rows.repartition(parts, "kind", "e", "a").mapInArrow(follow, schema)


def _columns(batches: Iterator[pa.RecordBatch], *names: str) -> Iterator[list[NumberArray]]:
    """Yield the columns of all batches together, unless there are none."""
    given = list(batches)
    if given:
        table = pa.Table.from_batches(given)
        yield [table[name].to_numpy() for name in names]

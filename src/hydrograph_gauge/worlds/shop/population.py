"""Entities of a data model at a scale: their numbers, attributes and links, as columns of draws.

Every property of an entity is a pure function of its number, so nothing is stored: a restriction such as `@…Role2` is
evaluated by drawing the roles of the user again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hydrograph_gauge.worlds.draws import Draws, normal_column, zipf_column
from hydrograph_gauge.worlds.shop.model import (
    Activity,
    Association,
    Attribute,
    Distribution,
    Model,
    find_type_associations,
)
from hydrograph_gauge.worlds.shop.ordering import permute
from hydrograph_gauge.worlds.spark import constant_numbers, task_count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


MAX_REDRAWS = 50
"""Limit of redraws if the subject has an object already, or another subject has it in an exclusive association."""
_DEVIATIONS = 4
_FEW = 1024


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One row of the model: an attribute of a type, or an association; `code` is its number."""

    code: int
    subject: str
    predicate: str
    group: int
    """Attributes of the same group of a type are there together."""
    probability: float
    restriction: str | None
    attribute: Attribute | None = None
    association: Association | None = None


class Population:
    """The entities of a model; without `spark` only expectations are known."""

    def __init__(
        self, spark: SparkSession | None, model: Model, draws: Draws, *, static: int, stream: int, faithful: bool
    ) -> None:
        """Prepare the model at the two scales."""
        self.spark, self.model, self.draws = spark, model, draws
        self.static, self.stream, self.faithful = static, stream, faithful
        self._members: dict[tuple[str, str], tuple[int, ...]] = {}

    @property
    def session(self) -> SparkSession:
        """The session that rows are made in."""
        assert self.spark is not None, "expectations need no Spark, rows do"
        return self.spark

    @cached_property
    def rows(self) -> tuple[ModelRow, ...]:
        """All rows of the model."""
        return tuple(_rows(self.model))

    @cached_property
    def streamed(self) -> dict[str, Activity]:
        """The activities by the types of their entities."""
        return {activity.entity: activity for activity in self.model.activities if activity.entity is not None}

    @cached_property
    def streamed_predicates(self) -> frozenset[str]:
        """The associations that activities are made of."""
        return frozenset(activity.predicate for activity in self.model.activities)

    def count(self, type_: str) -> int:
        """Return how many entities of a type there are."""
        known = self.model.type(type_)
        factor = self.stream if type_ in self.streamed else self.static
        return known.count * (factor if known.scales else 1)

    def row_of(self, association: Association) -> ModelRow:
        """Return the row of an association."""
        return next(row for row in self.rows if row.association is association)

    def members(self, type_: str, restriction: str) -> tuple[int, ...]:
        """Return the numbers of all entities of a type that are instances of `restriction`, in order."""
        from pyspark.sql import functions as F  # noqa: N812

        key = type_, restriction
        if key not in self._members:
            all_ = self.session.range(0, self.count(type_), 1, task_count(self.count(type_), 100_000))
            found = all_.where(self.instance(type_, restriction, F.col("id"))).toArrow()
            self._members[key] = tuple(sorted(found["id"].to_pylist()))
        return self._members[key]

    def equipped(self, rows: DataFrame) -> DataFrame:
        """Return `rows` with the lists of members that `pick` chooses from, each an array that is the same in all rows.

        As constants of the plan they would be compared and hashed by each of the optimizer's rules.
        """
        from pyspark.sql import functions as F  # noqa: N812

        lists = {
            _column(one.object, one.object_restriction): list(self.members(one.object, one.object_restriction))
            for one in self.model.associations
            if one.object_restriction is not None and one.subject not in self.streamed
        }
        if not lists:
            return rows
        types = pa.schema([(name, pa.list_(pa.int64())) for name in lists])
        table = pa.table([pa.array([numbers_], pa.list_(pa.int64())) for numbers_ in lists.values()], schema=types)
        return rows.crossJoin(F.broadcast(self.session.createDataFrame(table)))

    def instance(self, type_: str, restriction: str, number: Column) -> Column:
        """Tell whether an entity is an instance of `restriction`."""
        from pyspark.sql import functions as F  # noqa: N812

        result = F.lit(False)  # noqa: FBT003
        for association, wanted in find_type_associations(self.model, type_, restriction):
            objects = self.objects(association, number, F.lit(0))
            result |= F.array_contains(objects, F.lit(wanted).cast("bigint"))
        return result

    def takes_part(self, association: Association, subject: Column, run: Column) -> Column:
        """Tell whether a subject has any links in a run of an association."""
        row = self.row_of(association)
        cover = self.draws.chance(f"{row.code} cover", association.cover).column(subject, run)
        if association.subject_restriction is None:
            return cover
        return cover & self.instance(association.subject, association.subject_restriction, subject)

    def size(self, association: Association, subject: Column, run: Column) -> Column:
        """Return how many links a subject that takes part is to have."""
        from pyspark.sql import functions as F  # noqa: N812

        purpose = f"{self.row_of(association).code} size"
        match association.spread:
            case None:
                return F.lit(association.most).cast("bigint")
            case Distribution.UNIFORM:
                share = self.draws.uniform(purpose).column(subject, run)
            case Distribution.NORMAL:
                share = self.draws.normal(purpose).column(subject, run)
            case Distribution.ZIPFIAN:
                return self.draws.zipf(purpose, association.most).column(subject, run)
        return F.floor(share * F.lit(float(association.most)) + F.lit(0.5))

    def objects(self, association: Association, subject: Column, run: Column) -> Column:
        """Return the numbers of the objects of a subject in a run as an array; none if it does not take part.

        What is drawn twice is drawn again, but not in restricted associations, as in the original.
        """
        from pyspark.sql import functions as F  # noqa: N812

        size = self.size(association, subject, run)
        if association.most == 1 and association.spread is None:
            drawn = F.array(self.pick(association, subject, run, F.lit(0)))
        elif association.restricted:
            drawn = F.transform(sequence(size), lambda j: self.pick(association, subject, run, j))
        else:
            drawn = self._different(association, subject, run, size)
        taking = self.takes_part(association, subject, run)
        return F.when(taking, drawn).otherwise(F.array().cast("array<bigint>"))

    def _different(self, association: Association, subject: Column, run: Column, size: Column) -> Column:
        """Return so many different objects: what is drawn twice is left out, and more is drawn than is needed."""
        from pyspark.sql import functions as F  # noqa: N812

        n = self.choices(association)
        needed = count_draws(association.distribution, n, association.most)
        uniform = self.draws.uniform(f"{self.row_of(association).code} object")
        many = F.ceil(size * F.lit(needed / association.most)) + F.lit(4)
        # Two arrays: what an array's element is computed from is computed once, not wherever it is read.
        shares = F.transform(sequence(many), lambda j: uniform.column(subject, run, j))
        places = F.transform(shares, self.place(association.distribution, n))
        if n <= _FEW:
            # All remaining entries of a short list follow, so that there are always enough.
            places = F.concat(places, F.sequence(F.lit(0).cast("bigint"), F.lit(n - 1).cast("bigint")))
        return F.slice(F.array_distinct(places), F.lit(1), F.least(size, F.lit(n)).cast("int"))

    def pick(self, association: Association, subject: Column, run: Column, j: Column) -> Column:
        """Return one drawn object."""
        from pyspark.sql import functions as F  # noqa: N812

        n = self.choices(association)
        if n == 0:
            return F.lit(None).cast("bigint")
        uniform = self.draws.uniform(f"{self.row_of(association).code} object")
        place = self.place(association.distribution, n)(uniform.column(subject, run, j))
        members = self._choice(association)
        if members is None:
            return place
        if association.subject in self.streamed:
            # A constant here: an array in each of millions of rows would be copied with every row.
            return F.get(constant_numbers(members, "bigint"), place.cast("int"))
        return F.get(F.col(_column(association.object, association.object_restriction)), place.cast("int"))

    def place(self, distribution: Distribution, n: int) -> Callable[[Column], Column]:
        """Return the function from a uniform number to a place below `n`.

        Where the original rounds, so that the first place is half as likely as the others and the last one half as
        likely again, all are equally likely here; `faithful` rounds.
        """
        from pyspark.sql import functions as F  # noqa: N812

        size, last, half = F.lit(float(n)), F.lit(n - 1).cast("bigint"), F.lit(0.5)
        match distribution:
            case Distribution.UNIFORM if not self.faithful:
                return lambda u: F.floor(u * size)
            case Distribution.UNIFORM:
                return lambda u: F.least(F.floor(u * size + half), last)
            case Distribution.NORMAL:
                return lambda u: F.least(F.floor(normal_column(u) * size + half), last)
            case Distribution.ZIPFIAN:
                return lambda u: zipf_column(n, u)

    def choices(self, association: Association) -> int:
        """Return among how many objects an association chooses."""
        members = self._choice(association)
        return self.count(association.object) if members is None else len(members)

    def _choice(self, association: Association) -> tuple[int, ...] | None:
        if association.object_restriction is None:
            return None
        return self.members(association.object, association.object_restriction)

    def triple_count(self, type_: str, number: Column) -> Column:
        """Return how many `triples` an entity has, without making them."""
        from pyspark.sql import functions as F  # noqa: N812

        total = F.lit(0).cast("bigint")
        for row in self._own_rows(type_):
            if row.attribute is not None:
                total += self._has(row, number).cast("bigint")
            elif row.association is not None:
                size = F.least(self.size(row.association, number, F.lit(0)), F.lit(self.choices(row.association)))
                total += F.when(self.takes_part(row.association, number, F.lit(0)), size).otherwise(F.lit(0))
        return total

    def _has(self, row: ModelRow, number: Column) -> Column:
        """Tell whether an entity has an attribute."""
        there = self.draws.chance(f"{row.subject} {row.group}", row.probability).column(number)
        return there if row.restriction is None else there & self.instance(row.subject, row.restriction, number)

    def _own_rows(self, type_: str) -> list[ModelRow]:
        return [
            row
            for row in self.rows
            if row.subject == type_
            and row.predicate not in self.streamed_predicates
            and (row.association is None or not (row.association.exclusive or self.choices(row.association) == 0))
        ]

    def triples(self, type_: str, number: Column) -> Column:
        """Return what an entity has by itself, as an array of (code, subject, object); a literal has the object 0.

        Associations that are exclusive or make activities are not among it.
        """
        from pyspark.sql import functions as F  # noqa: N812

        def triple(row: ModelRow, object_: Column) -> Column:
            return F.struct(
                F.lit(row.code).alias("code"), number.cast("bigint").alias("s"), object_.cast("bigint").alias("o")
            )

        def each(row: ModelRow) -> Callable[[Column], Column]:
            return lambda object_: triple(row, object_)

        def one(there: Column, made: Column) -> Column:
            return F.when(there, F.array(made)).otherwise(nothing)

        nothing = F.array().cast("array<struct<code:int,s:bigint,o:bigint>>")
        single, several = [], []
        for row in self._own_rows(type_):
            association = row.association
            if association is None:
                single.append(one(self._has(row, number), triple(row, F.lit(0))))
            elif association.most == 1 and association.spread is None:
                there = self.takes_part(association, number, F.lit(0))
                object_ = self.pick(association, number, F.lit(0), F.lit(0))
                single.append(one(there, triple(row, object_)))
            else:
                several.append(F.transform(self.objects(association, number, F.lit(0)), each(row)))
        # Joined arrays of one or none: `array_compact` is a function of functions, which Spark interprets.
        parts = ([F.concat(*single)] if single else []) + several
        return F.concat(*parts) if len(parts) > 1 else parts[0]

    def has_triples(self, type_: str) -> bool:
        """Tell whether `triples` returns any triples for a type."""
        return any(
            row.subject == type_
            and row.predicate not in self.streamed_predicates
            and (row.association is None or not row.association.exclusive)
            for row in self.rows
        )


def _column(type_: str, restriction: str | None) -> str:
    return f"members {type_} {restriction}".translate(str.maketrans("./:#~", "_____"))


def sequence(size: Column) -> Column:
    """Return 0, 1, … as an array with `size` numbers."""
    from pyspark.sql import functions as F  # noqa: N812

    upwards = F.sequence(F.lit(0).cast("bigint"), F.greatest(size - 1, F.lit(0)).cast("bigint"))
    return F.when(size > 0, upwards).otherwise(F.array().cast("array<bigint>"))


@lru_cache(256)
def count_draws(distribution: Distribution, n: int, wanted: int) -> int:
    """Return how many draws give `wanted` different ones of `n` for sure, but at most fifty for each.

    >>> count_draws(Distribution.UNIFORM, 1000, 225), count_draws(Distribution.ZIPFIAN, 3, 3)
    (346, 150)
    """
    if distribution is Distribution.ZIPFIAN:
        weights = 1 / np.arange(1, n + 1)
    elif distribution is Distribution.NORMAL:
        places = (np.arange(n) + 0.5) / n
        weights = np.exp(-18 * (places - 0.5) ** 2)
    else:
        weights = np.ones(n)
    weights /= weights.sum()
    draws = wanted
    while draws < MAX_REDRAWS * wanted:
        missed = (1 - weights) ** draws
        expected = float(n - missed.sum())
        deviation = math.sqrt(float((missed * (1 - missed)).sum()))
        if expected - _DEVIATIONS * deviation >= wanted:
            return draws
        draws = math.ceil(draws * 1.05) + 1
    return MAX_REDRAWS * wanted


def _rows(model: Model) -> Iterator[ModelRow]:
    code = 0
    for type_ in model.types:
        for number, group in enumerate(type_.groups):
            for attribute in group.attributes:
                yield ModelRow(
                    code,
                    type_.name,
                    attribute.predicate,
                    number,
                    group.probability,
                    group.restriction,
                    attribute=attribute,
                )
                code += 1
    for number, association in enumerate(model.associations):
        yield ModelRow(
            code,
            association.subject,
            association.predicate,
            number,
            association.cover,
            association.subject_restriction,
            association=association,
        )
        code += 1


_KNOTS = 256
_LINKS_PER_TASK = 2_000_000


def make_links(population: Population, association: Association, runs: int) -> DataFrame:
    """Return the links of `runs` runs: `run`, `s`, `j` (the link's number at its subject) and `o`."""
    from pyspark.sql import functions as F  # noqa: N812

    if population.choices(association) == 0:
        return population.session.createDataFrame([], "run BIGINT, s BIGINT, j BIGINT, o BIGINT")
    if association.exclusive:
        return _exclusive(population, association, runs)
    subjects = _subjects(population, association, runs)
    s, run = F.col("s"), F.col("run")
    if association.restricted or (association.most == 1 and association.spread is None):
        # Nothing is drawn again, so rows need no arrays.
        sized = subjects.where(population.takes_part(association, s, run)).select(
            *subjects.columns, F.explode(sequence(population.size(association, s, run))).alias("j")
        )
        return sized.select("run", "s", "j", population.pick(association, s, run, F.col("j")).alias("o"))
    drawn = subjects.select("run", "s", F.posexplode(population.objects(association, s, run)).alias("j", "o"))
    return drawn.select("run", "s", F.col("j").cast("bigint").alias("j"), "o")


def _subjects(population: Population, association: Association, runs: int) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    n = population.count(association.subject)
    expected = n * runs * association.cover * association.most / (1 if association.spread is None else 2)
    number, size = F.col("id"), F.lit(n).cast("bigint")
    subjects = population.session.range(0, n * runs, 1, task_count(expected, _LINKS_PER_TASK)).select(
        F.floor(number / size).alias("run"), (number % size).alias("s")
    )
    return population.equipped(subjects) if association.object_restriction is not None else subjects


def _exclusive(population: Population, association: Association, runs: int) -> DataFrame:
    """Return links of which no two in a run have the same object.

    Link after link takes a free object, tries fifty times, then gives up. Taking a random free object each time is the
    same as dealing out a random permutation; how many links have succeeded after j of them is a curve (`count_filled`).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    n = population.choices(association)
    s, run = F.col("s"), F.col("run")
    sized = (
        _subjects(population, association, runs)
        .where(population.takes_part(association, s, run))
        .select("run", "s", population.size(association, s, run).alias("n"))
    )
    before = Window.partitionBy("run").orderBy("s").rowsBetween(Window.unboundedPreceding, -1)
    numbered = sized.select("run", "s", "n", F.coalesce(F.sum("n").over(before), F.lit(0)).alias("first"))
    each = numbered.select("run", "s", "first", F.explode(sequence(F.col("n"))).alias("j"))
    link = F.col("first") + F.col("j")
    tried = each.select("run", "s", "j", count_filled(link, n).alias("o"), count_filled(link + 1, n).alias("after"))
    taken = tried.where(F.col("after") > F.col("o")).select("run", "s", "j", "o")
    purpose = f"{population.row_of(association).code} deal"
    return taken.withColumn("o", permute(F.col("o"), n, population.draws, purpose, run.cast("int"), runs))


def count_filled(links_before: Column, n: int) -> Column:
    """Return how many of `n` objects are taken after so many links; a link fails if fifty draws all hit taken ones.

    Taking is certain at first and slows down at the end: dy/dx = 1 - y**50, with both in units of `n`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    xs, ys = filling_curve(n)
    x = links_before.cast("double") / F.lit(float(n))
    place = (x - F.lit(_LINEAR)) * F.lit(_KNOTS / (xs - _LINEAR))
    cell = F.least(F.floor(place), F.lit(_KNOTS - 1).cast("bigint")).cast("int")
    low, high = F.get(constant_numbers(ys), cell), F.get(constant_numbers(ys), cell + 1)
    share = F.least(low + (high - low) * (place - cell.cast("double")), F.lit(1.0))
    curve = F.least(F.floor(share * F.lit(float(n)) + F.lit(1e-6)), F.lit(n).cast("bigint"))
    return F.when(x < F.lit(_LINEAR), links_before.cast("bigint")).otherwise(curve)


_LINEAR = 0.5
"""Below this share taken, fifty draws that all fail are one in 10**15."""


@lru_cache(64)
def filling_curve(n: int) -> tuple[float, tuple[float, ...]]:
    """Return where the curve ends, in units of `n` links, and the shares taken at equal steps from one half to there.

    At the end less than half an object is free; the last step rounds up.
    """
    steps, y, x = 64 * _KNOTS, _LINEAR, _LINEAR
    # The end: the time to fill from y to 1 - 1/2n, of which the last stretch is (1/50) ln(n/…).
    end = 1.0 + (math.log(max(n, 2)) + 8) / MAX_REDRAWS
    width = (end - _LINEAR) / steps
    shares = [y]
    for step in range(1, steps + 1):
        middle = y + width / 2 * (1 - y**MAX_REDRAWS)
        y += width * (1 - middle**MAX_REDRAWS)
        x += width
        if step % 64 == 0:
            shares.append(y)
    shares[-1] = 1.0
    return end, tuple(shares)


def taken_share(demand: float, n: int) -> float:
    """Return the share of `n` objects taken after `demand` links.

    >>> taken_share(300, 1000), round(taken_share(1000, 1000), 3), taken_share(2000, 1000)
    (0.3, 0.986, 1.0)
    """
    x = demand / n
    if x < _LINEAR:
        return x
    end, shares = filling_curve(n)
    place = (x - _LINEAR) * _KNOTS / (end - _LINEAR)
    cell = min(math.floor(place), _KNOTS - 1)
    return min(1.0, shares[cell] + (shares[cell + 1] - shares[cell]) * (place - cell))

"""Encoding of narrow rows as triples of the encoded schema, in Spark columns and in Arrow arrays.

A narrow row has the code of a row of the model and the numbers of subject and object. Texts are built last, after all
shuffling and sorting. `encode_rows` does so in Spark columns, for static data and activities. The rows of the model
differ in numbers only (hash bases, bounds, prefixes), so one expression with tables of these numbers serves all rows; a
choice among sixty expressions would be a method too long for Java to compile.

`TripleEncoder` does the same in Arrow arrays, for single triples of the stream: the text of a term is built and hashed
once for many rows. Both give the same triples.

>>> make_words()[:5], make_names()[:4]
(('ba', 'be', 'bi', 'bo', 'bu'), ('Baba', 'Babe', 'Babi', 'Babo'))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.vocab import XSD_DATE, XSD_INTEGER
from hydrograph.rdf.xsd import Kind
from hydrograph.streams.schema import EVENTS
from hydrograph_gauge.worlds.draws import Bits, Normal, Uniform, draw_uniform_array, map_to_normal
from hydrograph_gauge.worlds.hashing import NumberArray, hash_text_array
from hydrograph_gauge.worlds.shop.activities import Timing
from hydrograph_gauge.worlds.shop.model import Attribute, Distribution, LiteralKind
from hydrograph_gauge.worlds.shop.population import ModelRow, Population, sequence
from hydrograph_gauge.worlds.spark import constant_numbers, constant_strings
from hydrograph_gauge.worlds.terms import day_text, encode_triples

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_NUMBER = 40
"""Bits of an entity's number in the key of a term; the higher bits hold its type, or the code of the model row."""
_MAX_SPARSITY = 4
"""Width of the range of keys, for each key, up to which a lookup table beats sorting."""
_SEQ = 44
"""Bits of a triple's number in the sort key of rows."""
_DECIMAL = EVENTS.field("o_dec").type
_CONSONANTS = "bcdfghjklmnprstvwz"
_VOWELS = "aeiou"
_WORDS = 1_024
_NAMES = 256


def _syllables() -> list[str]:
    return [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]


@lru_cache(1)
def make_words() -> tuple[str, ...]:
    """Return 1,024 distinct words made of syllables, short ones first."""
    one = _syllables()
    return tuple([*one, *map("".join, product(one, one))][:_WORDS])


@lru_cache(1)
def make_names() -> tuple[str, ...]:
    """Return 256 distinct names made of syllables."""
    two = map("".join, product(_syllables(), _syllables()))
    return tuple(name.capitalize() for name, _ in zip(two, range(_NAMES), strict=False))


MORE_WORDS = 24


class ObjectClass(IntEnum):
    """Kind of an object: a link to an entity, or a literal by datatype."""

    LINK = 0
    INTEGER = 1
    DATE = 2
    STRING = 3
    NAME = 4


_CLASSES = {
    LiteralKind.INTEGER: ObjectClass.INTEGER,
    LiteralKind.DATE: ObjectClass.DATE,
    LiteralKind.STRING: ObjectClass.STRING,
    LiteralKind.NAME: ObjectClass.NAME,
}


def encode_rows(population: Population, rows: DataFrame, *kept: str) -> DataFrame:
    """Return the triples of rows `code`, `s` and `o`, with the columns `kept`, in the encoded schema."""
    from pyspark.sql import functions as F  # noqa: N812

    # Names that differ from those of the result, so that Spark cannot confuse input and output columns.
    rows = rows.select(*kept, "code", F.col("s").alias("subject"), F.col("o").alias("object"))
    code, subject, object_ = F.col("code"), F.col("subject"), F.col("object")
    all_ = population.rows
    attributes = [row.attribute or Attribute("", LiteralKind.INTEGER) for row in all_]
    class_ = F.get(constant_numbers([class_of(row) for row in all_], "int"), code)
    value = _value(population, attributes, code, subject)
    quote = F.lit('"')
    after = F.get(constant_strings([suffix_of(population, row) for row in all_]), code)
    link = F.concat(F.get(constant_strings([_object_prefix(row) for row in all_]), code), object_.cast("string"), after)
    text = (
        F.when(class_ == ObjectClass.LINK, link)
        .when(class_ == ObjectClass.INTEGER, F.concat(quote, value.cast("string"), after))
        .when(class_ == ObjectClass.DATE, F.concat(quote, day_text(value), after))
        .when(class_ == ObjectClass.STRING, F.concat(quote, _text(population, code, subject), quote))
        .otherwise(F.concat(quote, _name(population, code, subject), quote))
    )
    is_number = (class_ == ObjectClass.INTEGER) if not population.faithful else F.lit(False)  # noqa: FBT003
    o = {
        "text": text,
        "kind": F.get(constant_numbers([kind_of(population, row) for row in all_], "tinyint"), code),
        "num": F.when(is_number, value.cast("double")),
        "dec": F.when(is_number, value.cast("decimal(38,18)")),
    }
    s = F.concat(F.get(constant_strings([f"<{row.subject}" for row in all_]), code), subject.cast("string"), F.lit(">"))
    p = F.get(constant_strings([predicate_text(row) for row in all_]), code)
    return encode_triples(rows, s, p, o, *kept)


def _value(population: Population, attributes: list[Attribute], code: Column, subject: Column) -> Column:
    """Return the value of an integer, or the day number of a date."""
    from pyspark.sql import functions as F  # noqa: N812

    uniform = _uniform(population, "value", code)
    low = F.get(constant_numbers([one.low for one in attributes], "bigint"), code)
    width = F.get(constant_numbers([float(one.high - one.low) for one in attributes]), code)
    even = uniform.column(subject)
    rounded = F.floor(even * width + F.lit(0.5))
    drawn = rounded if population.faithful else F.floor(even * (width + F.lit(1.0)))
    normal = [one.distribution is Distribution.NORMAL for one in attributes]
    if any(normal):
        bent = F.floor(Normal(uniform).column(subject) * width + F.lit(0.5))
        drawn = F.when(F.get(constant_numbers([int(one) for one in normal], "int"), code) == 1, bent).otherwise(drawn)
    return low + drawn


def _text(population: Population, code: Column, subject: Column) -> Column:
    """Return one to twenty-five words."""
    from pyspark.sql import functions as F  # noqa: N812

    known = constant_strings(make_words())
    more = F.floor(_uniform(population, "length", code).column(subject) * F.lit(float(MORE_WORDS + 1)))
    word = _uniform(population, "word", code)

    def at(j: Column) -> Column:
        return F.get(known, F.floor(word.column(subject, j) * F.lit(float(len(make_words())))).cast("int"))

    return F.array_join(F.transform(sequence(more + 1), at), " ")


def _name(population: Population, code: Column, subject: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    place = F.floor(_uniform(population, "name", code).column(subject) * F.lit(float(len(make_names()))))
    return F.get(constant_strings(make_names()), place.cast("int"))


def _uniform(population: Population, purpose: str, code: Column) -> Uniform:
    """Return a uniform draw with a base of its own for each row of the model."""
    from pyspark.sql import functions as F  # noqa: N812

    bases = [base_of(population, purpose, row) for row in population.rows]
    return Uniform(Bits(F.get(constant_numbers(bases, "bigint"), code)))


def base_of(population: Population, purpose: str, row: ModelRow) -> int:
    """Return the base of the draws of a model row for a purpose."""
    base = population.draws.bits(f"{row.code} {purpose}").base
    assert isinstance(base, int)
    return base


def predicate_text(row: ModelRow) -> str:
    """Return the predicate as canonical text."""
    return term_text(Iri(row.predicate))


def class_of(row: ModelRow) -> int:
    """Return the `ObjectClass` of a row's object."""
    return int(ObjectClass.LINK if row.attribute is None else _CLASSES[row.attribute.kind])


def kind_of(population: Population, row: ModelRow) -> int:
    """Return the kind of a row's object."""
    if row.attribute is None:
        return int(Kind.IRI)
    typed = {LiteralKind.INTEGER: Kind.INTEGER, LiteralKind.DATE: Kind.DATE}
    return int(Kind.STRING if population.faithful else typed.get(row.attribute.kind, Kind.STRING))


def _object_prefix(row: ModelRow) -> str:
    return f"<{row.association.object}" if row.association is not None else ""


def suffix_of(population: Population, row: ModelRow) -> str:
    """Return the end of the object's text: `>` of an IRI, or the datatype of a literal, which the original omits."""
    if row.attribute is None:
        return ">"
    datatypes = {LiteralKind.INTEGER: XSD_INTEGER, LiteralKind.DATE: XSD_DATE}
    datatype = None if population.faithful else datatypes.get(row.attribute.kind)
    return '"' if datatype is None else f'"^^<{datatype}>'


def join_numbers(before: pa.Array | str, numbers: NumberArray, after: str) -> pa.Array:
    """Return one text for each number: `before`, the number, `after`.

    >>> join_numbers("<urn:", np.array([7, -8]), ">").to_pylist()
    ['<urn:7>', '<urn:-8>']
    """
    return pc.binary_join_element_wise(before, pa.array(numbers).cast(pa.string()), after, "")


@dataclass(frozen=True)
class ModelTables:
    """Properties of the model rows by code: plain numbers and texts, which are sent to Spark tasks."""

    types: tuple[str, ...]
    """IRI prefixes of the entities of each type."""
    subjects: NumberArray
    """Index in `types` of the subject."""
    objects: NumberArray
    predicates: tuple[str, ...]
    classes: NumberArray
    kinds: NumberArray
    lows: NumberArray
    widths: NumberArray
    normal: NumberArray
    suffixes: dict[int, str]
    """Ends of literals, by class."""
    bases: dict[str, NumberArray]
    """The bases of draws, by purpose."""
    ranks: NumberArray
    """Ranks of the predicates by id."""
    timing: Timing
    ambiguous: bool
    """Whether entities of two types may share an IRI, because one type's name is another's followed by digits."""
    faithful: bool


def build_tables(population: Population, timing: Timing) -> ModelTables:
    """Return the tables of a model."""
    rows = population.rows
    attributes = [row.attribute or Attribute("", LiteralKind.INTEGER) for row in rows]
    types = [type_.name for type_ in population.model.types]
    return ModelTables(
        types=tuple(f"<{name}" for name in types),
        subjects=np.array([types.index(row.subject) for row in rows], np.int64),
        objects=np.array([types.index(row.association.object) if row.association else 0 for row in rows], np.int64),
        predicates=tuple(predicate_text(row) for row in rows),
        classes=np.array([class_of(row) for row in rows], np.int8),
        kinds=np.array([kind_of(population, row) for row in rows], np.int8),
        lows=np.array([one.low for one in attributes], np.int64),
        widths=np.array([float(one.high - one.low) for one in attributes]),
        normal=np.array([one.distribution is Distribution.NORMAL for one in attributes]),
        suffixes={class_of(row): suffix_of(population, row) for row in rows},
        bases={
            purpose: np.array([base_of(population, purpose, row) for row in rows], np.int64)
            for purpose in ("value", "length", "word", "name")
        },
        ranks=np.unique(hash_text_array(pa.array([predicate_text(row) for row in rows])), return_inverse=True)[
            1
        ].astype(np.int64),
        timing=timing,
        ambiguous=any(b.startswith(a) and b.removeprefix(a).isdigit() for a in types for b in types),
        faithful=population.faithful,
    )


class TripleEncoder:
    """Encoder of narrow rows `seq`, `next`, `code`, `s` and `o`; texts are dictionary-encoded."""

    def __init__(self, known: ModelTables) -> None:
        """Prepare to encode rows of a model."""
        self.known = known

    def order(self, rows: pa.Table) -> NumberArray:
        """Return the sort order of the rows of a file: by predicate id, then by time."""
        code, seq = rows["code"].to_numpy(), rows["seq"].to_numpy()
        order: NumberArray = np.argsort(self.known.ranks[code] << _SEQ | seq)
        return order

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Return the encoded rows in the given order."""
        known = self.known
        code, subject, object_ = (rows[name].to_numpy() for name in ("code", "s", "o"))
        s, p, o = (_Terms(len(code)) for _ in "spo")
        s.add(slice(None), known.subjects[code] << _NUMBER | subject, self.entities)
        p.add(slice(None), code, lambda codes: pa.array([known.predicates[one] for one in codes.tolist()]))
        classes = known.classes[code]
        values = np.zeros(len(code), np.int64)
        for class_ in ObjectClass:
            some = np.flatnonzero(classes == class_)
            if not len(some):
                continue
            ours, whose = code[some], subject[some]
            match class_:
                case ObjectClass.LINK:
                    o.add(some, known.objects[ours] << _NUMBER | object_[some], self.entities)
                case ObjectClass.INTEGER:
                    values[some] = keys = _values(known, ours, whose)
                    o.add(some, keys, lambda keys: join_numbers('"', keys, known.suffixes[ObjectClass.INTEGER]))
                case ObjectClass.DATE:
                    o.add(some, _values(known, ours, whose), lambda days: _days(days, known.suffixes[ObjectClass.DATE]))
                case ObjectClass.STRING:
                    o.add(some, ours.astype(np.int64) << _NUMBER | whose, lambda keys: _texts(known, keys))
                case ObjectClass.NAME:
                    keys = np.floor(draw_uniform_array(known.bases["name"][ours], whose) * len(make_names())).astype(
                        np.int64
                    )
                    o.add(some, keys, lambda keys: pa.array([f'"{make_names()[one]}"' for one in keys.tolist()]))
        numeric = (classes == ObjectClass.INTEGER) & (not known.faithful)
        number = pa.array(values, mask=~numeric) if numeric.any() else pa.nulls(len(code), pa.int64())
        # Model rows may share a predicate, and drawn words may be equal; numbers and days are distinct already.
        drawn = bool(np.isin(classes, (ObjectClass.STRING, ObjectClass.NAME)).any())
        again = {"s": known.ambiguous, "p": True, "o": known.ambiguous or drawn}
        terms = {name: column.dictionary(again=again[name]) for name, column in (("s", s), ("p", p), ("o", o))}
        columns = {
            "t": pa.array(known.timing.array(rows["seq"].to_numpy())),
            "seq": rows["seq"],
            "t_next": self._next(rows["next"]),
            **terms,
            **{f"{name}_id": _ids(column) for name, column in terms.items()},
            "o_kind": pa.array(known.kinds[code]),
            "o_num": number.cast(pa.float64()),
            "o_dec": number.cast(_DECIMAL),
        }
        return pa.table({name: columns[name] for name in EVENTS.names})

    def _next(self, numbers: pa.ChunkedArray) -> pa.Array:
        """Return the times of the triples with these numbers."""
        there = pc.is_valid(numbers).to_numpy()
        return pa.array(self.known.timing.array(pc.fill_null(numbers, 0).to_numpy()), mask=~there)

    def entities(self, keys: NumberArray) -> pa.Array:
        """Return the IRIs of entities."""
        types = pa.array(self.known.types).take(pa.array(keys >> _NUMBER))
        return join_numbers(types, keys & ((1 << _NUMBER) - 1), ">")


class _Terms:
    """Column of terms under construction: distinct texts, and the index of each row's text."""

    def __init__(self, rows: int) -> None:
        self.places = np.zeros(rows, np.int32)
        self.texts: list[pa.Array] = []
        self.size = 0

    def add(self, some: NumberArray | slice, keys: NumberArray, make: Callable[[NumberArray], pa.Array]) -> None:
        """Assign the terms of `keys` to some rows; two keys may denote the same term."""
        distinct, positions = factorize(keys)
        self.places[some] = self.size + positions
        self.texts.append(make(distinct))
        self.size += len(distinct)

    def dictionary(self, *, again: bool) -> pa.DictionaryArray:
        """Return the terms of all rows; `again` deduplicates texts that several keys denote."""
        texts, places = pa.concat_arrays(self.texts), self.places
        if again:
            once = texts.dictionary_encode()
            texts, places = once.dictionary, once.indices.to_numpy()[places]
        return pa.DictionaryArray.from_arrays(pa.array(places), texts)


def _ids(terms: pa.DictionaryArray) -> pa.Array:
    return pa.array(hash_text_array(terms.dictionary)[terms.indices.to_numpy()])


def _values(known: ModelTables, code: NumberArray, subject: NumberArray) -> NumberArray:
    """Return the values of integers, or the day numbers of dates."""
    even, width = draw_uniform_array(known.bases["value"][code], subject), known.widths[code]
    drawn = np.floor(even * width + 0.5) if known.faithful else np.floor(even * (width + 1.0))
    bent = known.normal[code]
    if bent.any():
        drawn = np.where(bent, np.floor(map_to_normal(even) * width + 0.5), drawn)
    result: NumberArray = known.lows[code] + drawn.astype(np.int64)
    return result


def _days(days: NumberArray, after: str) -> pa.Array:
    return pa.array([f'"{day}{after}' for day in days.astype("datetime64[D]").astype(str).tolist()])


def _texts(known: ModelTables, keys: NumberArray) -> pa.Array:
    """Return strings of one to twenty-five words."""
    code, subject = keys >> _NUMBER, keys & ((1 << _NUMBER) - 1)
    sizes = (
        np.floor(draw_uniform_array(known.bases["length"][code], subject) * float(MORE_WORDS + 1)).astype(np.int64) + 1
    )
    ends = np.cumsum(sizes)
    each = np.repeat(np.arange(len(keys)), sizes)
    j = np.arange(len(each)) - (ends - sizes)[each]
    shares = draw_uniform_array(known.bases["word"][code][each], subject[each], j)
    chosen = np.array(make_words())[np.floor(shares * float(len(make_words()))).astype(np.int64)].tolist()
    both = zip(ends.tolist(), sizes.tolist(), strict=True)
    return pa.array([f'"{" ".join(chosen[end - size : end])}"' for end, size in both])


def factorize(keys: NumberArray) -> tuple[NumberArray, NumberArray]:
    """Return the distinct keys in order, and the position of each row's key among them.

    >>> [part.tolist() for part in factorize(np.array([7, 5, 7]))]
    [[5, 7], [1, 0, 1]]
    """
    if not len(keys):
        return keys, keys
    low = keys.min()
    width = int(keys.max()) - int(low) + 1
    if width > _MAX_SPARSITY * len(keys):
        distinct, positions = np.unique(keys, return_inverse=True)
        return distinct, positions
    # A lookup table over the whole range takes a third of the time of sorting.
    there = np.zeros(width, bool)
    there[keys - low] = True
    found = np.flatnonzero(there)
    places = np.empty(width, np.int64)
    places[found] = np.arange(len(found))
    return found + low, places[keys - low]

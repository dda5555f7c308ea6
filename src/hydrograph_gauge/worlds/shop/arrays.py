"""Narrow rows (seq, next, code, s, o) of a stream as triples of the encoded schema, in Arrow arrays.

What `triples.py` does row by row in Spark's columns is done here for the different terms among many rows: a term has
its text made, and hashed, once. Both make the same triples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.streams.schema import EVENTS
from hydrograph_gauge.worlds.draw_arrays import Numbers, different, normals, uniforms
from hydrograph_gauge.worlds.shop.activities import Timing
from hydrograph_gauge.worlds.shop.model import Attribute, Distribution, LiteralKind
from hydrograph_gauge.worlds.shop.population import Population
from hydrograph_gauge.worlds.shop.triples import (
    MORE_WORDS,
    Class,
    base_of,
    class_of,
    kind_of,
    predicate_text,
    suffix_of,
)
from hydrograph_gauge.worlds.text_arrays import numbered, text_hashes
from hydrograph_gauge.worlds.words import names, words

_NUMBER = 40
"""Bits of an entity's number in what stands for a term; above them is the number of its type, or of the model's row."""
_SEQ = 44
"""Bits of a triple's number in what rows are sorted by."""
_DECIMAL = EVENTS.field("o_dec").type


@dataclass(frozen=True)
class Tables:
    """What the rows of a model differ in, by their codes: plain numbers and texts, to be sent to tasks."""

    types: tuple[str, ...]
    """How the IRIs of entities begin."""
    subjects: Numbers
    """Which of `types` a subject is of."""
    objects: Numbers
    predicates: tuple[str, ...]
    classes: Numbers
    kinds: Numbers
    lows: Numbers
    widths: Numbers
    normal: Numbers
    suffixes: dict[int, str]
    """How literals end, by class."""
    bases: dict[str, Numbers]
    """The bases of draws, by purpose."""
    ranks: Numbers
    """The ranks of the ids of predicates among all."""
    timing: Timing
    ambiguous: bool
    """Whether entities of two types may have the same IRI, because one type's name is another's with a number."""
    faithful: bool


def tables(population: Population, timing: Timing) -> Tables:
    """Return the tables of a model."""
    rows = population.rows
    attributes = [row.attribute or Attribute("", LiteralKind.INTEGER) for row in rows]
    types = [type_.name for type_ in population.model.types]
    return Tables(
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
        ranks=np.unique(text_hashes(pa.array([predicate_text(row) for row in rows])), return_inverse=True)[1].astype(
            np.int64
        ),
        timing=timing,
        ambiguous=any(b.startswith(a) and b.removeprefix(a).isdigit() for a in types for b in types),
        faithful=population.faithful,
    )


class Encoder:
    """Makes narrow rows `seq`, `next`, `code`, `s` and `o` rows of the encoded schema, their texts in dictionaries."""

    def __init__(self, known: Tables) -> None:
        """Prepare to encode rows of a model."""
        self.known = known

    def order(self, rows: pa.Table) -> Numbers:
        """Return the order of rows in a file: by the id of the predicate, then in time."""
        code, seq = rows["code"].to_numpy(), rows["seq"].to_numpy()
        order: Numbers = np.argsort(self.known.ranks[code] << _SEQ | seq)
        return order

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Return rows in their order."""
        known = self.known
        code, subject, object_ = (rows[name].to_numpy() for name in ("code", "s", "o"))
        s, p, o = (_Terms(len(code)) for _ in "spo")
        s.add(slice(None), known.subjects[code] << _NUMBER | subject, self.entities)
        p.add(slice(None), code, lambda codes: pa.array([known.predicates[one] for one in codes.tolist()]))
        classes = known.classes[code]
        values = np.zeros(len(code), np.int64)
        for class_ in Class:
            some = np.flatnonzero(classes == class_)
            if not len(some):
                continue
            ours, whose = code[some], subject[some]
            match class_:
                case Class.LINK:
                    o.add(some, known.objects[ours] << _NUMBER | object_[some], self.entities)
                case Class.INTEGER:
                    values[some] = keys = _values(known, ours, whose)
                    o.add(some, keys, lambda keys: numbered('"', keys, known.suffixes[Class.INTEGER]))
                case Class.DATE:
                    o.add(some, _values(known, ours, whose), lambda days: _days(days, known.suffixes[Class.DATE]))
                case Class.STRING:
                    o.add(some, ours.astype(np.int64) << _NUMBER | whose, lambda keys: _texts(known, keys))
                case Class.NAME:
                    keys = np.floor(uniforms(known.bases["name"][ours], whose) * len(names())).astype(np.int64)
                    o.add(some, keys, lambda keys: pa.array([f'"{names()[one]}"' for one in keys.tolist()]))
        numeric = (classes == Class.INTEGER) & (not known.faithful)
        number = pa.array(values, mask=~numeric) if numeric.any() else pa.nulls(len(code), pa.int64())
        # Rows of the model may have the same predicate, and drawn words may be the same; numbers and days never are.
        drawn = bool(np.isin(classes, (Class.STRING, Class.NAME)).any())
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

    def entities(self, keys: Numbers) -> pa.Array:
        """Return the IRIs of entities."""
        types = pa.array(self.known.types).take(pa.array(keys >> _NUMBER))
        return numbered(types, keys & ((1 << _NUMBER) - 1), ">")


class _Terms:
    """A column of terms: texts, and which of them each row has."""

    def __init__(self, rows: int) -> None:
        self.places = np.zeros(rows, np.int32)
        self.texts: list[pa.Array] = []
        self.size = 0

    def add(self, some: Numbers | slice, keys: Numbers, make: Callable[[Numbers], pa.Array]) -> None:
        """Give `some` rows the terms that `keys` stand for; two keys may stand for the same one."""
        found, which = different(keys)
        self.places[some] = self.size + which
        self.texts.append(make(found))
        self.size += len(found)

    def dictionary(self, *, again: bool) -> pa.DictionaryArray:
        """Return the terms of all rows; each text is in the dictionary once, also where keys gave it `again`."""
        texts, places = pa.concat_arrays(self.texts), self.places
        if again:
            once = texts.dictionary_encode()
            texts, places = once.dictionary, once.indices.to_numpy()[places]
        return pa.DictionaryArray.from_arrays(pa.array(places), texts)


def _ids(terms: pa.DictionaryArray) -> pa.Array:
    return pa.array(text_hashes(terms.dictionary)[terms.indices.to_numpy()])


def _values(known: Tables, code: Numbers, subject: Numbers) -> Numbers:
    """Return the numbers of integers, or the days of dates."""
    even, width = uniforms(known.bases["value"][code], subject), known.widths[code]
    drawn = np.floor(even * width + 0.5) if known.faithful else np.floor(even * (width + 1.0))
    bent = known.normal[code]
    if bent.any():
        drawn = np.where(bent, np.floor(normals(even) * width + 0.5), drawn)
    result: Numbers = known.lows[code] + drawn.astype(np.int64)
    return result


def _days(days: Numbers, after: str) -> pa.Array:
    return pa.array([f'"{day}{after}' for day in days.astype("datetime64[D]").astype(str).tolist()])


def _texts(known: Tables, keys: Numbers) -> pa.Array:
    """Return one to twenty-five words for each."""
    code, subject = keys >> _NUMBER, keys & ((1 << _NUMBER) - 1)
    sizes = np.floor(uniforms(known.bases["length"][code], subject) * float(MORE_WORDS + 1)).astype(np.int64) + 1
    ends = np.cumsum(sizes)
    each = np.repeat(np.arange(len(keys)), sizes)
    j = np.arange(len(each)) - (ends - sizes)[each]
    shares = uniforms(known.bases["word"][code][each], subject[each], j)
    chosen = np.array(words())[np.floor(shares * float(len(words()))).astype(np.int64)].tolist()
    both = zip(ends.tolist(), sizes.tolist(), strict=True)
    return pa.array([f'"{" ".join(chosen[end - size : end])}"' for end, size in both])

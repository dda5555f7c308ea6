"""Narrow rows (t, seq, t_next, code, s, o) of a stream as triples of the encoded schema, in Arrow arrays.

What `triples.py` does row by row in Spark's columns is done here for the different terms among many rows: a term has
its text made, and hashed, once. Both make the same triples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hydrograph.rdf.encoding import term_id
from hydrograph.streams.schema import EVENTS
from hydrograph.worlds.draw_arrays import Numbers, normals, uniforms
from hydrograph.worlds.shop.model import Attribute, Distribution, LiteralKind
from hydrograph.worlds.shop.population import Population
from hydrograph.worlds.shop.triples import MORE_WORDS, Class, base_of, class_of, kind_of, predicate_text, suffix_of
from hydrograph.worlds.words import names, words

_NUMBER = 40
"""Bits of an entity's number in what stands for a term; above them is the number of its type, or of the model's row."""
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
    faithful: bool


def tables(population: Population) -> Tables:
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
        faithful=population.faithful,
    )


def encoder(population: Population) -> Callable[[pa.Table], pa.Table]:
    """Return the function from narrow rows to rows of the encoded schema, their texts in dictionaries."""
    known = tables(population)
    return lambda rows: encoded_table(known, rows)


def encoded_table(known: Tables, rows: pa.Table) -> pa.Table:
    """Return narrow rows in the encoded schema, in their order."""
    code, subject, object_ = (rows[name].to_numpy() for name in ("code", "s", "o"))
    s = _Terms(len(code))
    everywhere = np.ones(len(code), bool)
    s.add(everywhere, known.subjects[code] << _NUMBER | subject, lambda keys: _entities(known, keys))
    p = _Terms(len(code))
    p.add(everywhere, code.astype(np.int64), lambda codes: [known.predicates[one] for one in codes])
    o = _Terms(len(code))
    classes = known.classes[code]
    values = np.zeros(len(code), np.int64)
    for class_ in Class:
        some = classes == class_
        if not some.any():
            continue
        ours, whose = code[some], subject[some]
        match class_:
            case Class.LINK:
                keys = known.objects[ours] << _NUMBER | object_[some]
                o.add(some, keys, lambda keys: _entities(known, keys))
            case Class.INTEGER | Class.DATE:
                values[some] = keys = _values(known, ours, whose)
                o.add(some, keys, _numbers if class_ is Class.INTEGER else _days, known.suffixes[class_])
            case Class.STRING:
                o.add(some, ours.astype(np.int64) << _NUMBER | whose, lambda keys: _texts(known, keys), '"')
            case Class.NAME:
                keys = np.floor(uniforms(known.bases["name"][ours], whose) * len(names())).astype(np.int64)
                o.add(some, keys, lambda keys: [f'"{names()[one]}' for one in keys], '"')
    numeric = (classes == Class.INTEGER) & (not known.faithful)
    number = pa.array(values, mask=~numeric)
    columns = {
        "t": rows["t"],
        "seq": rows["seq"],
        "t_next": rows["t_next"],
        **{name: terms.dictionary() for name, terms in (("s", s), ("p", p), ("o", o))},
        **{f"{name}_id": pa.array(terms.ids()) for name, terms in (("s", s), ("p", p), ("o", o))},
        "o_kind": pa.array(known.kinds[code]),
        "o_num": number.cast(pa.float64()),
        "o_dec": number.cast(_DECIMAL),
    }
    return pa.table({name: columns[name] for name in EVENTS.names})


class _Terms:
    """A column of terms: the different texts, and which of them each row has."""

    def __init__(self, rows: int) -> None:
        self.places = np.zeros(rows, np.int32)
        self.known: dict[str, int] = {}

    def add(self, some: Numbers, keys: Numbers, make: Callable[[list[int]], list[str]], end: str = "") -> None:
        """Give `some` rows the terms that `keys` stand for; two keys may stand for the same one."""
        different, which = np.unique(keys, return_inverse=True)
        known = self.known
        places = [known.setdefault(text + end, len(known)) for text in make(different.tolist())]
        self.places[some] = np.array(places, np.int32)[which]

    def dictionary(self) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(self.places), pa.array(self.known, pa.string()))

    def ids(self) -> Numbers:
        return np.fromiter(map(term_id, self.known), np.int64, len(self.known))[self.places]


def _entities(known: Tables, keys: list[int]) -> list[str]:
    types, number = known.types, (1 << _NUMBER) - 1
    return [f"{types[key >> _NUMBER]}{key & number}>" for key in keys]


def _values(known: Tables, code: Numbers, subject: Numbers) -> Numbers:
    """Return the numbers of integers, or the days of dates."""
    even, width = uniforms(known.bases["value"][code], subject), known.widths[code]
    drawn = np.floor(even * width + 0.5) if known.faithful else np.floor(even * (width + 1.0))
    bent = known.normal[code]
    if bent.any():
        drawn = np.where(bent, np.floor(normals(even) * width + 0.5), drawn)
    result: Numbers = known.lows[code] + drawn.astype(np.int64)
    return result


def _numbers(values: list[int]) -> list[str]:
    return [f'"{value}' for value in values]


def _days(days: list[int]) -> list[str]:
    return [f'"{day}' for day in np.array(days, "datetime64[D]").astype(str).tolist()]


def _texts(known: Tables, keys: list[int]) -> list[str]:
    """Return one to twenty-five words for each."""
    both = np.array(keys, np.int64)
    code, subject = both >> _NUMBER, both & ((1 << _NUMBER) - 1)
    sizes = np.floor(uniforms(known.bases["length"][code], subject) * float(MORE_WORDS + 1)).astype(np.int64) + 1
    ends = np.cumsum(sizes)
    each = np.repeat(np.arange(len(both)), sizes)
    j = np.arange(len(each)) - (ends - sizes)[each]
    shares = uniforms(known.bases["word"][code][each], subject[each], j)
    chosen = np.array(words())[np.floor(shares * float(len(words()))).astype(np.int64)].tolist()
    return [f'"{" ".join(chosen[end - size : end])}' for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]

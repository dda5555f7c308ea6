"""Encoding of terms: canonical text, the 64-bit id made of it, kind and numeric value.

An id is `xxhash64` of the canonical N-Triples text, the same number that Spark's function of that name gives, so that
constants of a query are encoded without any dictionary and rows of a stream without any Python.

>>> encode(Literal("1.50", XSD_DECIMAL)).dec
Decimal('1.50')
>>> term_id("<urn:a>")
-8632272496755484107
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from xxhash import xxh64_intdigest

from hydrograph.rdf.nquads import parse_term, term_text
from hydrograph.rdf.terms import Literal, Term
from hydrograph.rdf.vocab import XSD_DECIMAL
from hydrograph.rdf.xsd import NUMERIC, Kind, decimal_of, double_of, lexical_kind

__all__ = [
    "EVENT_COLUMNS",
    "NUMERIC",
    "TRIPLE_COLUMNS",
    "XSD_DECIMAL",
    "Encoded",
    "Kind",
    "Literal",
    "decode",
    "encode",
    "encode_text",
    "salt_of",
    "skolem",
    "term_id",
    "unskolem",
]

T, SEQ, T_NEXT = "t", "seq", "t_next"
S, P, O = "s", "p", "o"  # noqa: E741
S_ID, P_ID, O_ID = "s_id", "p_id", "o_id"
O_KIND, O_NUM, O_DEC = "o_kind", "o_num", "o_dec"

TRIPLE_COLUMNS = (S, P, O, S_ID, P_ID, O_ID, O_KIND, O_NUM, O_DEC)
"""The columns of a static relation."""
EVENT_COLUMNS = (T, SEQ, T_NEXT, *TRIPLE_COLUMNS)
"""The columns of the encoded events.

`t` is the event time in ms; `seq` the position of the element in the log, the same for all triples of an element;
`t_next` the event time of the next arrival of the same triple in canonical order `(t, seq)`, null at the last one.
A second arrival at the same `t` counts, so the earlier one of two equal rows has `t_next = t`.
"""

_SEED = 42  # Spark's
_TEXTS = 65_536  # terms whose encoding is kept; predicates, classes and small numbers recur most


@dataclass(frozen=True, slots=True)
class Encoded:
    """A term as the columns of a relation hold it.

    `num` is the value of a number as a double; `dec` the exact value of an integer or decimal that fits DECIMAL(38,18).
    """

    text: str
    id: int
    kind: Kind
    num: float | None = None
    dec: Decimal | None = None


def term_id(text: str) -> int:
    """Return the id of the term with this canonical text: a signed 64-bit number."""
    unsigned = xxh64_intdigest(text.encode(), _SEED)
    return unsigned - 2**64 if unsigned >= 2**63 else unsigned


def encode(term: Term) -> Encoded:
    """Return the physical form of `term`."""
    return encode_text(term_text(term))


def decode(text: str) -> Term:
    """Return the term with this canonical text."""
    return parse_term(text)


@lru_cache(_TEXTS)
def encode_text(text: str) -> Encoded:
    """Return the physical form of the term with this canonical text."""
    number = term_id(text)
    if text[0] == "<":
        return Encoded(text, number, Kind.IRI)
    if text[0] == "_":
        return Encoded(text, number, Kind.BLANK)
    quoted, _, datatype = text.rpartition('"')
    if not datatype:
        return Encoded(text, number, Kind.STRING)
    if datatype[0] == "@":
        return Encoded(text, number, Kind.LANG)
    # Escapes need not be undone: no lexical form of a known datatype has one.
    lexical = quoted[1:]
    kind = lexical_kind(lexical, datatype[3:-1])
    return Encoded(text, number, kind, double_of(lexical, kind), decimal_of(lexical, kind))


def salt_of(name: str) -> str:
    """Return what keeps the blank nodes of the stream or file `name` apart from all others: hexadecimal digits."""
    return format(xxh64_intdigest(name.encode(), _SEED), "x")


def skolem(salt: str, seq: int, label: str) -> str:
    """Return the canonical text of blank node `label` of the element at `seq` (S4).

    >>> skolem(salt_of("urn:stream"), 7, "b0")
    '_:e7xc1c861f68f5107dxb0'
    """
    return f"_:e{seq}x{salt}x{label}"


def unskolem(text: str, salt: str, seq: int) -> str:
    """Return the text that `skolem` was given, or `text` itself if it is none of the element's blank nodes."""
    prefix = skolem(salt, seq, "")
    return "_:" + text[len(prefix) :] if text.startswith(prefix) else text

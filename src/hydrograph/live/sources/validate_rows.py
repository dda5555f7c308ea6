"""Validation of externally encoded rows: an invalid term would crash every driver that reads it."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh64_intdigest

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import parse_term, shorten, term_text
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.streams.schema import EVENTS, NOTEWORTHY, check_limits

_NEEDED = ("t", "seq", "s", "p", "o", "s_id", "p_id", "o_id", "o_kind")
_IRI = r'<[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|^`\\]*>'
_BLANK = r"_:[A-Za-z0-9_][A-Za-z0-9_\-]*"
_LITERAL = rf'"[^"\\\n\r]*"(?:@[a-z]+(?:-[a-z0-9]+)*|\^\^{_IRI})?'
_PLAIN = {"s": rf"^(?:{_IRI}|{_BLANK})\z", "p": rf"^{_IRI}\z", "o": rf"^(?:{_IRI}|{_BLANK}|{_LITERAL})\z"}
"""Most canonical texts, for an engine of regular expressions that looks at a whole column; others are parsed."""
_SEED = 42  # that of `term_id`, which is not called for each: it takes twice as long
_FIRST = {"s": ("<", "_"), "p": ("<",), "o": ("<", "_", '"')}
_EXPECTED = {"s": "an IRI or a blank node", "p": "an IRI", "o": "an IRI, a blank node or a literal"}


def check_rows(events: pa.Table) -> pa.Table:
    """Return the rows in the encoded schema; raise DataError with the number of the first invalid row."""
    absent = [name for name in EVENTS.names if name not in events.schema.names]
    if absent:
        raise DataError(f"expected the columns {', '.join(EVENTS.names)}, got {', '.join(events.schema.names)}")
    try:
        events = events.select(EVENTS.names).cast(EVENTS).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"expected columns of the types that `hydrograph convert` writes: {error}") from None
    for name in _NEEDED:
        if events.column(name).null_count:
            row = pc.index(pc.is_null(events.column(name)), value=True).as_py()
            raise DataError(f"row {row + 1}: expected a value for {name!r}, got none")
    if events.num_rows:
        for name in ("s", "p", "o"):
            _check_terms(events, name)
    return events


def _check_terms(events: pa.Table, name: str) -> None:
    """Raise DataError if a text is not the canonical one of a term, or its id another."""
    encoded = events.column(name).combine_chunks().dictionary_encode()
    places = np.asarray(encoded.indices)
    texts = encoded.dictionary

    def fail(number: int, words: str) -> None:
        row = int(np.flatnonzero(places == number)[0])
        raise DataError(f"row {row + 1}: expected {words}, got {shorten(texts[number].as_py())} as {name!r}")

    for number in np.flatnonzero(_doubtful(texts, name)).tolist():
        if (words := _complaint(texts[number].as_py(), name)) is not None:
            fail(number, words)
    data = texts.cast(pa.binary()).to_pylist()
    ids = np.fromiter(map(xxh64_intdigest, data, repeat(_SEED)), np.uint64, len(texts)).view(np.int64)
    wrong = np.flatnonzero(ids[places] != events.column(f"{name}_id").to_numpy())
    if len(wrong):
        row = int(wrong[0])
        fail(int(places[row]), f"the id {events.column(f'{name}_id')[row]} in {f'{name}_id'!r} to be that of the term")


def _doubtful(texts: pa.Array, name: str) -> np.ndarray:
    """Return which texts have to be parsed to know whether they are canonical."""
    plain = pc.match_substring_regex(texts, _PLAIN[name])
    usual = pc.and_(
        pc.less_equal(pc.binary_length(texts), NOTEWORTHY), pc.invert(pc.ends_with(texts, f"^^<{XSD_STRING}>"))
    )
    return ~np.asarray(pc.and_(plain, usual).to_numpy(zero_copy_only=False))


def _complaint(text: str, name: str) -> str | None:
    """Return what was expected where a text is no canonical one of a term that may stand in a column."""
    if not text.startswith(_FIRST[name]):
        return _EXPECTED[name]
    try:
        canonical = term_text(parse_term(text))
        check_limits(*(text if name == each else "<a:>" for each in ("s", "p", "o")))
    except DataError as error:
        return f"{_EXPECTED[name]} ({error})"
    return None if canonical == text else f"the canonical text {shorten(canonical)}"

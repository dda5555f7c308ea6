"""Encoded schema of events and triples: Arrow types, Spark DDL, the encoder of row batches, and the check of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import EVENT_COLUMNS, TRIPLE_COLUMNS, encode_text, term_id

_ARROW = {
    "t": pa.int64(),
    "seq": pa.int64(),
    "t_next": pa.int64(),
    "s": pa.string(),
    "p": pa.string(),
    "o": pa.string(),
    "s_id": pa.int64(),
    "p_id": pa.int64(),
    "o_id": pa.int64(),
    "o_kind": pa.int8(),
    "o_num": pa.float64(),
    "o_dec": pa.decimal128(38, 18),
}
_SPARK = {
    pa.int64(): "BIGINT",
    pa.int8(): "TINYINT",
    pa.string(): "STRING",
    pa.float64(): "DOUBLE",
    pa.decimal128(38, 18): "DECIMAL(38,18)",
}

EVENTS = pa.schema([(name, _ARROW[name]) for name in EVENT_COLUMNS])
"""A recorded stream: one row per triple of an element."""

TRIPLES = pa.schema([(name, _ARROW[name]) for name in TRIPLE_COLUMNS])
"""A static graph."""


def ddl(schema: pa.Schema) -> str:
    """Return `schema` as Spark writes it.

    >>> ddl(EVENTS)[:40]
    't BIGINT, seq BIGINT, t_next BIGINT, s S'
    """
    return ", ".join(f"{field.name} {_SPARK[field.type]}" for field in schema)


def check_files(files: Iterable[Path], schema: pa.Schema) -> None:
    """Raise DataError unless each Parquet file has the columns of `schema`, with their types."""
    for file in files:
        try:
            found = pq.read_schema(file)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{file}: expected a Parquet file, got: {str(error).splitlines()[0]}") from error
        for field in schema:
            at = found.get_field_index(field.name)
            if at < 0:
                known = ", ".join(found.names)
                raise DataError(f"{file}: no column {field.name!r}; it has {known}: write it with `hydrograph convert`")
            if _plain(found.field(at).type) != field.type:
                raise DataError(f"{file}: column {field.name!r} is {found.field(at).type}, expected {field.type}")


def _plain(type_: pa.DataType) -> pa.DataType:
    """Return the type without its encoding: a dictionary or a large string holds the same values."""
    if pa.types.is_dictionary(type_):
        return _plain(type_.value_type)
    return pa.string() if pa.types.is_large_string(type_) or pa.types.is_string_view(type_) else type_


IRI_LIMIT = 8 * 1024


LITERAL_LIMIT = 1024 * 1024
"""The longest IRI (or blank node) and literal, in bytes of the canonical text; a line with a longer one is broken."""


FILE_BITS = 40
"""`seq` is the number of the file, shifted by this, plus the number of the element's first line."""


NOTEWORTHY = IRI_LIMIT // 4  # characters; a shorter line cannot break a limit


BATCH = 65_536


Row = tuple[int, int, str, str, str]
"""Time, `seq`, and the canonical texts of a triple."""


def check_limits(s: str, p: str, o: str) -> None:
    """Raise DataError if a term is longer than it may be."""
    for text in (s, p, o):
        if len(text) <= NOTEWORTHY:
            continue
        kind, limit = ("literal", LITERAL_LIMIT) if text[0] == '"' else ("IRI", IRI_LIMIT)
        if len(text.encode()) > limit:
            raise DataError(f"expected at most {limit} bytes in the {kind}, got {len(text.encode())}")


def encode_events(rows: list[Row]) -> pa.RecordBatch:
    """Return events in the encoded schema, without `t_next`."""
    t, seq, s, p, o = zip(*rows, strict=True)
    return _encode({"t": t, "seq": seq, "t_next": [None] * len(rows)}, s, p, o, EVENTS)


def encode_triples(rows: Sequence[tuple[str, str, str]]) -> pa.RecordBatch:
    """Return triples of a static graph in the encoded schema."""
    s, p, o = zip(*rows, strict=True) if rows else ((), (), ())
    return _encode({}, s, p, o, TRIPLES)


def _encode(
    columns: Mapping[str, Sequence[Any]], s: Sequence[str], p: Sequence[str], o: Sequence[str], schema: pa.Schema
) -> pa.RecordBatch:
    objects = [encode_text(text) for text in o]
    columns = {
        **columns,
        "s": s,
        "p": p,
        "o": o,
        "s_id": [term_id(text) for text in s],
        "p_id": [encode_text(text).id for text in p],
        "o_id": [encoded.id for encoded in objects],
        "o_kind": [encoded.kind for encoded in objects],
        "o_num": [encoded.num for encoded in objects],
        "o_dec": [encoded.dec for encoded in objects],
    }
    return pa.record_batch([pa.array(columns[name], schema.field(name).type) for name in schema.names], schema=schema)

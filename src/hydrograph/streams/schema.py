"""The one encoded schema of streams and static graphs: as Arrow, as Spark's DDL, and the check that files have it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import EVENT_COLUMNS, TRIPLE_COLUMNS

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

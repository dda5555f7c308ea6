"""The records of a run as Parquet, a file for each kind, each row with the origin that makes it repeatable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hydrograph_gauge.results import read, read_origin

TABLES = "tables"


def write_tables(folder: Path) -> list[Path]:
    """Write `tables/<record>.parquet` from the results of a run, and return the files."""
    origin = read_origin(folder).model_dump(mode="json")
    rows: dict[str, list[dict[str, Any]]] = {}
    for record in read(folder):
        line = record.model_dump(mode="json")
        rows.setdefault(line.pop("record"), []).append(_flat(line))
    target = folder / TABLES
    target.mkdir(exist_ok=True)
    files = []
    for kind, lines in rows.items():
        table = pa.Table.from_pylist(lines)
        known = {f"hydrograph.{key}": json.dumps(value) for key, value in origin.items()}
        file = target / f"{kind}.parquet"
        pq.write_table(table.replace_schema_metadata(known), file, compression="zstd")
        files.append(file)
    return files


def _flat(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row: the parts of the key are columns, mappings are JSON.

    >>> _flat({"key": {"test": "a", "settings": {"n": 1}}, "right": 2})
    {'test': 'a', 'settings': '{"n": 1}', 'right': 2}
    """
    flat: dict[str, Any] = {}
    for name, value in line.items():
        if name == "key":
            flat |= _flat(value)
        else:
            flat[name] = json.dumps(value) if isinstance(value, Mapping) else value
    return flat

"""Ids of terms are hashes: two terms of one world with the same id would be taken for one by every query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from hydrograph.errors import DataError

_MEMORY = "1GB"
_HASHES = """
SELECT {place}_id AS id, min(hash({place})) AS low, max(hash({place})) AS high FROM read_parquet({files}) GROUP BY id
"""
_CLASH = "SELECT id FROM ({terms}) GROUP BY id HAVING min(low) <> max(high) LIMIT 1"
_TEXTS = "SELECT DISTINCT {place} AS text FROM read_parquet({files}) WHERE {place}_id = {id}"


def check_ids(parts: Sequence[Sequence[Path]], spill: Path) -> None:
    """Raise DataError if two terms in the files of any parts of a world have the same id.

    What does not fit into memory goes to the directory `spill`.
    """
    given = [[str(file) for file in files] for files in parts if files]
    if not given:
        return
    with duckdb.connect() as database:
        database.execute(f"SET memory_limit = '{_MEMORY}'; SET preserve_insertion_order = false")
        database.execute("SET temp_directory = ?", [str(spill)])
        # Each column is grouped on its own: its values are few against its rows.
        terms = [_HASHES.format(place=place, files=files) for files in given for place in "spo"]
        clash = database.execute(_CLASH.format(terms=" UNION ALL ".join(terms))).fetchone()
        if clash is None:
            return
        texts = [_TEXTS.format(place=place, files=files, id=clash[0]) for files in given for place in "spo"]
        found = database.execute(" UNION ".join(texts) + " ORDER BY text").fetchall()
    shown = " and ".join(text[:200] for (text,) in found[:2])
    raise DataError(f"{shown} have the same 64-bit id: generate with another --seed")

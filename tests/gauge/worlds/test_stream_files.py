"""Files that tasks write: whole or not at all, in row groups of one size, and told of as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hydrograph.rdf.encoding import encode_text, term_id
from hydrograph.streams.formats import parquet
from hydrograph.streams.schema import EVENTS, check_files
from hydrograph_gauge.worlds.hashing import NumberArray, hash_longs
from hydrograph_gauge.worlds.stream_files import _groups, _write_file

SALTS = (5, -6)


def encode(rows: pa.Table) -> pa.Table:
    """Return a triple for each number: even ones are named, odd ones are not."""
    numbers = rows["n"].to_pylist()
    s = [f"<urn:{n % 3}>" if n % 2 == 0 else f"_:b{n}" for n in numbers]
    o = [encode_text(f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>') for n in numbers]
    columns = {
        "t": [n // 2 for n in numbers],
        "seq": numbers,
        "t_next": [None] * len(numbers),
        "s": s,
        "p": ["<urn:p>"] * len(numbers),
        "o": [one.text for one in o],
        "s_id": [term_id(text) for text in s],
        "p_id": [term_id("<urn:p>")] * len(numbers),
        "o_id": [one.id for one in o],
        "o_kind": [int(one.kind) for one in o],
        "o_num": [one.num for one in o],
        "o_dec": [one.dec for one in o],
    }
    table = pa.table({field.name: pa.array(columns[field.name], field.type) for field in EVENTS})
    for name in "spo":
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].combine_chunks().dictionary_encode())
    return table


def order(rows: pa.Table) -> NumberArray:
    found: NumberArray = np.argsort(rows["n"].to_numpy())
    return found


def batches(numbers: list[int], size: int) -> list[pa.RecordBatch]:
    found: list[pa.RecordBatch] = pa.table({"n": pa.array(numbers, pa.int64())}).to_batches(size)
    return found


def test_a_file_has_row_groups_of_one_size_and_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", 4)
    shaken = [7, 0, 9, 3, 1, 8, 2, 6, 5, 4]
    told = _write_file(_groups(iter(batches(shaken, 3)), order), encode, tmp_path, "a.parquet", ".a", SALTS)
    file = tmp_path / "a.parquet"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.parquet"]
    check_files([file], EVENTS)
    found = pq.ParquetFile(file)
    assert [found.metadata.row_group(at).num_rows for at in range(found.num_row_groups)] == [4, 4, 2]
    rows = found.read().to_pylist()
    assert rows == encode(pa.Table.from_batches(batches(list(range(10)), 10))).to_pylist()
    sums = [
        sum(hash_longs(salt, *(row[name] for name in ("t", "seq", "s_id", "p_id", "o_id"))) for row in rows)
        for salt in SALTS
    ]
    assert told is not None
    assert [told[name] % 2**64 for name in "ab"] == [total % 2**64 for total in sums]
    known = told["name"], told["rows"], told["first"], told["last"], told["blanks"], told["kinds"]
    assert known == ("a.parquet", 10, 0, 4, True, 1 << 4)


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    assert _write_file(_groups(iter([]), order), encode, tmp_path, "a.parquet", ".a", SALTS) is None
    assert not list(tmp_path.iterdir())

"""The local placement renews its database to bound memory, without any visible effect."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hydrograph.runtime.placement import local
from hydrograph.runtime.placement.local import Local

ROWS = pa.table({"a": [1, 2, 3]})


def test_tables_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_MOST", 2)
    with Local(1, small=True) as placed:
        placed.add_table("x", ROWS)
        first = placed._database
        sums = [placed.query("SELECT SUM(a) AS n FROM x", {})["n"][0].as_py() for _ in range(3)]
        assert placed._database is not first
        placed.add_table("x", ROWS.slice(1))
        sums += [placed.query("SELECT SUM(a) AS n FROM x", {})["n"][0].as_py() for _ in range(3)]
        assert sums == [6, 6, 6, 5, 5, 5]
        placed.forget()
        with pytest.raises(Exception, match="x does not exist"):
            placed.query("SELECT * FROM x", {})


def test_views_of_files_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_MOST", 1)
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    with Local(1) as placed:
        placed.add_files("y", [str(tmp_path / "rows.parquet")])
        first = placed._database
        for _ in range(3):
            assert placed.count("y") == 3
        assert placed._database is first

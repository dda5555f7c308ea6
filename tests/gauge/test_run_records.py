"""The file forms of a run: what is written is read again, and what is broken is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrograph.errors import DataError
from hydrograph_gauge.run_records import (
    RECORDS_FILE,
    Key,
    OutcomeRecord,
    Record,
    RowExplanation,
    WindowRecord,
    line_of,
    read_provenance,
    read_records,
)

KEY = Key(test="t", engine="e", query="q1", settings={"rate": 1000, "static": "small"})
RECORDS: tuple[Record, ...] = (
    OutcomeRecord(key=KEY, verdict="ok", phase="execution", precision=1.0, recall=0.5),
    WindowRecord(
        key=KEY, t=5000, open=0, close=5000, expected=2, actual=1, precision=1.0, recall=0.5,
        missing=(RowExplanation(row=("<urn:a>", None), triples=("<urn:a> <urn:b> <urn:c> .",)),),
    ),
)  # fmt: skip


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    (tmp_path / RECORDS_FILE).write_text("".join(map(line_of, RECORDS)), "utf-8")
    assert tuple(read_records(tmp_path)) == RECORDS


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / RECORDS_FILE).write_text("".join(map(line_of, RECORDS))[:-5], "utf-8")
    assert tuple(read_records(tmp_path)) == RECORDS[:1]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / RECORDS_FILE).write_text('{"record": "outcome"}\n', "utf-8")
    with pytest.raises(DataError, match="line 1: outcome"):
        list(read_records(tmp_path))


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no run"):
        read_provenance(tmp_path)

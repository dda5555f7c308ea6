"""The local placement joins in the order the optimizer chose: never two windows by time alone (S19)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hydrograph
from hydrograph.runtime.placement import Parameters
from hydrograph.runtime.placement.local import Local
from hydrograph.streams.formats import parquet
from hydrograph.streams.sources import events_as_arrow, open_stream

STREAM = "http://example.org/s"
QUERY = f"""PREFIX : <http://example.org/>
SELECT ?a ?c FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 5s STEP 1s]
WHERE {{ WINDOW :w {{ {{ ?a :follows ?b }} {{ ?b :posted ?c }} }} ?b :livesIn :city7 }}"""
USERS = 700


def written(folder: Path) -> tuple[str, str]:
    """Return a stream in Parquet, of which DuckDB guesses that a pattern in a window has one row, and static data."""
    follows, posted, lives = (f"<http://example.org/{name}>" for name in ("follows", "posted", "livesIn"))
    text, stream, static = folder / "s.tnt", folder / "s.parquet", folder / "static.nt"
    with text.open("w", encoding="utf-8") as lines:
        for n in range(3_000):
            lines.write(f"{n}\t{user(n)} {follows} {user(7 * n)} .\n")
            lines.write(f"{n}\t{user(3 * n)} {posted} <http://example.org/post{n}> .\n")
    static.write_text(
        "".join(f"{user(n)} {lives} <http://example.org/city{n % 50}> .\n" for n in range(USERS)), "utf-8"
    )
    source = open_stream(str(text), name=STREAM)
    parquet.write_arrow(events_as_arrow(source), stream, salt=source.salt)
    return str(stream), str(static)


def user(number: int) -> str:
    return f"<http://example.org/u{number % USERS}>"


def joins(node: dict[str, Any]) -> Iterator[str]:
    """Return the conditions of every join in a plan."""
    if "JOIN" in node["name"] or "PRODUCT" in node["name"]:
        yield str(node.get("extra_info", {}).get("Conditions", node["name"]))
    for child in node["children"]:
        yield from joins(child)


def test_windows_and_static_data_with_one_key_are_joined_by_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stream, static = written(tmp_path)
    found: list[str] = []
    query = Local.query

    def explained(self: Local, text: str, parameters: Parameters) -> pa.Table:
        if "JOIN" in text:
            (plan,) = query(self, f"EXPLAIN (FORMAT JSON) {text}", parameters).column("explain_value").to_pylist()
            found.extend(condition for node in json.loads(plan) for condition in joins(node))
        return query(self, text, parameters)

    monkeypatch.setattr(Local, "query", explained)
    with hydrograph.query(QUERY).over(stream, static, placement="local") as run:
        assert sum(len(report.rows) for report in run.reports()) > 0
    assert len(found) == 2, f"expected two joins, got {found}"
    assert all("v0 = v0" in condition for condition in found), f"expected every join by its key, got {found}"

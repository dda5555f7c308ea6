"""The checks of the worked examples hold, and fail for queries and data that are a little different."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hydrograph.cli.main import main
from tests.support.world_checks import features


def test_the_worked_examples_come_out() -> None:
    no_spark: Any = None
    assert [check.name for check in features.check(no_spark) if not check.passed] == []


def test_other_examples_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query, static = tmp_path / "q.rq", tmp_path / "static.nt"

    def said(text: str, *options: str) -> Any:
        query.write_text(text)
        main(["features", str(query), "--json", *options])
        return json.loads(capsys.readouterr().out)

    other_tree = features._TREE.replace("?u :p6 ?z", "?u :p6 ?y")
    assert not features.tree(said(features._plain(other_tree))).passed
    lines = features.DATA.splitlines(keepends=True)
    for line in lines:
        static.write_text("".join(one for one in lines if one != line))
        assert not features.fractions(said(features._plain(features._SUBSCRIBERS), "--static", str(static))).passed
    joined = features._HYBRID.replace("?e :t5 ?f", "?d :t5 ?f")
    assert not features.units(said(joined, "--static-unit", "component")).passed

"""`hydrograph features` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrograph.cli.main import main

QUERY = """PREFIX : <http://example.org/>
SELECT ?o ?v FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 2s]
WHERE { WINDOW :w { ?o :value ?v } ?o :in :kitchen }"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    query, stream, static = tmp_path / "q.rq", tmp_path / "s.tnt", tmp_path / "static.nt"
    query.write_text(QUERY)
    stream.write_text(
        "".join(
            f"{t}\t<http://example.org/o{t // 1000}> <http://example.org/value> <http://example.org/v{t}> .\n"
            for t in (0, 500, 1000, 2500)
        )
    )
    static.write_text("<http://example.org/o0> <http://example.org/in> <http://example.org/kitchen> .\n")
    return str(query), str(stream), str(static)


def test_text_alone(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["features", files[0]])
    shown = capsys.readouterr().out
    assert "hybrid, linear: 2 patterns, 1 stream" in shown
    assert "classes: join, static" in shown
    assert "join vertex ?o: degree 2, SS+" in shown


def test_with_data(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    query, stream, static = files
    main(["features", query, "--stream", stream, "--static", static, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [window["t"] for window in found["windows"]] == [2000, 4000]
    first, second = found["windows"]
    assert (first["cardinality"], second["cardinality"]) == (2, 0)
    # Three of four triples match the stream's pattern, one of four the static one; in the second window one of two.
    assert first["patterns"] == {"mean": 0.5, "deviation": 0.25}
    assert first["restricted"]["mean"] == pytest.approx((2 / 3 + 1) / 2)
    assert second["patterns"] == {"mean": 0.5, "deviation": 0}
    assert found["run"]["cardinality"] == 1
    main(["features", query, "--stream", stream, "--static", static, "--windows", "1"])
    assert "over 1 window," in capsys.readouterr().out


def test_a_query_that_has_no_selectivities(files: tuple[str, str, str], tmp_path: Path) -> None:
    query = tmp_path / "path.rq"
    query.write_text(QUERY.replace(":in :kitchen", ":in+ :kitchen"))
    with pytest.raises(SystemExit) as stopped:
        main(["features", str(query), "--stream", files[1]])
    assert stopped.value.code == 3


def test_only_what_is_wanted_is_shown(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    query, stream, static = files
    main(["features", query, "--where", "kind = pure"])
    assert capsys.readouterr().out == ""
    data = ["--stream", stream, "--static", static]
    main(["features", query, *data, "--where", "kind = hybrid, cardinality > 1"])
    assert capsys.readouterr().out == ""
    main(["features", query, *data, "--like", query])
    assert "hybrid, linear" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(["features", query, "--where", "cardinality > 1"])
    assert stopped.value.code == 2
    assert "cardinality is measured on data" in capsys.readouterr().err

"""`hydrograph features` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrograph.cli.main import main

EX = "http://example.org/"
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
    assert [one["pattern"].split()[1] for one in first["each"]] == [f"<{EX}value>", f"<{EX}in>"]
    assert [one["selectivity"] for one in first["each"]] == ["3/4", "1/4"]
    assert first["each"][0]["joined"] == {"?o": "2/3"}
    run = found["run"]
    assert (run["windows"], run["cardinality"], run["cardinality_deviation"]) == (2, 1, 1)
    assert run["patterns"] == {"mean": 0.5, "deviation": 0.125, "over_windows": 0}
    # In the second window no value is of o0.
    assert run["restricted"]["over_windows"] == pytest.approx((2 / 3 + 1) / 4)


def test_windows_in_text(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    query, stream, static = files
    data = ["--stream", stream, "--static", static]
    main(["features", query, *data])
    shown = capsys.readouterr().out
    assert "over 2 windows: mean (deviation over the windows; over the patterns)" in shown
    assert "result cardinality 1.0 (1.0)" in shown
    assert "f-TP selectivity   0.5000 (0.0000; 0.1250)" in shown
    assert "window at" not in shown
    main(["features", query, *data, "--each"])
    shown = capsys.readouterr().out
    assert [line.strip() for line in shown.splitlines() if "window at" in line] == [
        "window at 2000, 4 triples: mean (deviation over the patterns)",
        "window at 4000, 2 triples: mean (deviation over the patterns)",
    ]
    assert f"?o <{EX}value> ?v: f-TP 3/4, BGP-restricted 2/3, join-restricted at ?o 2/3" in shown
    assert "over 2 windows" in shown
    main(["features", query, *data, "--windows", "1"])
    shown = capsys.readouterr().out
    assert "window at 2000, 4 triples" in shown
    assert "window at 4000" not in shown


def test_static_data_alone(files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query, _, static = files
    plain = tmp_path / "plain.rq"
    plain.write_text(f"SELECT * {{ ?o <{EX}in> ?room }}")
    main(["features", str(plain), "--static", static])
    shown = capsys.readouterr().out
    assert "static data, 1 triple: mean" in shown
    assert f"?o <{EX}in> ?room: f-TP 1, BGP-restricted 1" in shown
    main(["features", str(plain), "--static", f"{EX}rooms={static}", "--json"])
    assert json.loads(capsys.readouterr().out)["windows"][0]["triples"] == 1
    with pytest.raises(SystemExit) as stopped:
        main(["features", query, "--static", static])
    assert stopped.value.code == 2
    assert f"no data for the stream <{EX}s>" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "solutions"),
    [
        ("?o :in+ :kitchen", [2, 0]),
        ("OPTIONAL { ?o :in ?room }", [3, 1]),
        ("FILTER NOT EXISTS { ?o :in :kitchen }", [1, 1]),
        ("{ ?o :in :kitchen } UNION { ?o :in ?room }", [4, 0]),
    ],
)
def test_a_query_that_has_no_selectivities_has_a_cardinality(
    files: tuple[str, str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pattern: str,
    solutions: list[int],
) -> None:
    query = tmp_path / "other.rq"
    query.write_text(QUERY.replace("?o :in :kitchen", pattern))
    call = ["features", str(query), "--stream", files[1], "--static", files[2]]
    main([*call, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [window["cardinality"] for window in found["windows"]] == solutions
    assert found["run"]["patterns"] is None
    assert "selectivities not computed: the query uses" in found["undefined"]
    main(call)
    shown = capsys.readouterr().out
    assert f"hybrid, {found['shape']}: {found['patterns']} patterns" in shown
    assert found["undefined"] in shown
    assert f"result cardinality {sum(solutions) / 2:.1f}" in shown
    main([*call, "--where", "selectivity >= 0"])
    assert capsys.readouterr().out == "", "of what is not defined nothing holds"


def test_groups_are_solutions(files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "count.rq"
    query.write_text(QUERY.replace("SELECT ?o ?v", "SELECT ?o (COUNT(*) AS ?n)") + " GROUP BY ?o")
    main(["features", str(query), "--stream", files[1], "--static", files[2], "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [window["cardinality"] for window in found["windows"]] == [1, 0]
    assert found["classes"] == ["join", "aggregation", "static"]


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

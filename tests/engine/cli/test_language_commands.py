"""`hydrograph validate` and `hydrograph translate`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hydrograph.cli.main import main

CSPARQL = """REGISTER QUERY Meet AS
PREFIX : <http://ex.org/>
SELECT ?room ?rom
FROM STREAM <http://ex.org/s> [RANGE 10s STEP 10s]
WHERE { :m1 :at ?room . :m2 :at ?room }
"""
WRONG = "SELECT ?s\nWHERE { ?s ex:p ?o }"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command; return exit code, output and errors."""
    code: str | int | None = 0
    try:
        main(list(arguments))
    except SystemExit as stopped:
        code = stopped.code
    captured = capsys.readouterr()
    assert isinstance(code, int)
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command with --json; return exit code and object."""
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out)


def test_a_right_query(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "validate", "-q", CSPARQL)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "valid C-SPARQL",
        "  a window of 10s every 10s over <http://ex.org/s>",
        "  preset csparql",
        "  reports: when a window closes, if some window has content",
        "  answers: all of each report (RSTREAM)",
        "  empty answers: reported",
        "  events of one instant: enter together",
        "  t0: at registration, rounded down to 1s",
        "  first windows: full",
        "  slides of time windows: kept",
        "  AVG of nothing: 0",
        "line 3, column 14: ?rom is read, but nothing binds it; did you mean ?room?",
    ]


def test_a_right_query_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, result = found(capsys, "validate", "-q", CSPARQL)
    assert code == 0
    assert (result["valid"], result["dialect"], result["preset"]) == (True, "csparql", "csparql")
    assert result["notes"] == [
        {"line": 3, "column": 14, "message": "?rom is read, but nothing binds it", "hint": "did you mean ?room?"}
    ]


def test_a_preset_changes_how_windows_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    _, result = found(capsys, "validate", "-q", CSPARQL, "--preset", "cqels")
    assert result["windows"] == ["a window of 10s that slides continuously over <http://ex.org/s>"]
    assert result["profile"]["reports"] == "when an event enters"


def test_a_wrong_query(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "validate", "-q", WRONG)
    assert (code, out) == (3, "")
    assert err.splitlines() == [
        "hydrograph: line 2, column 12: unknown prefix 'ex:'; known prefixes: none",
        "  WHERE { ?s ex:p ?o }",
        "             ^",
    ]


def test_a_wrong_query_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys, "validate", "-q", WRONG) == (
        3,
        {
            "valid": False,
            "kind": "query",
            "line": 2,
            "column": 12,
            "message": "unknown prefix 'ex:'",
            "hint": "known prefixes: none",
        },
    )


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("ASK { SERVICE <urn:x> { } }", "unsupported", 1),
        ("ASK " + "{" * 200 + "}" * 200, "query", 1),
        ("ASK { }" + "\n" * 70_000, "query", 65_530),
    ],
)
def test_every_refusal_has_a_place(capsys: pytest.CaptureFixture[str], text: str, kind: str, line: int) -> None:
    code, result = found(capsys, "validate", "-q", text)
    assert (code, result["kind"], result["line"]) == (3, kind, line)


def test_the_query_may_be_a_file_or_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "query.rq"
    file.write_text("ASK { }")
    assert run(capsys, "validate", str(file)) == (0, "valid SPARQL\n", "")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ASK { }")))
    assert run(capsys, "validate", "-") == (0, "valid SPARQL\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate"],
        ["validate", "file", "-q", "ASK {}"],
        ["validate", "-q", "ASK {}", "--dialect", "csparq"],
        ["validate", "-q", "ASK {}", "--preset", "none"],
        ["validate", "missing.rq"],
        ["translate", "-q", "ASK {}"],
        ["translate", "-q", "ASK {}", "--to", "cypher"],
    ],
)
def test_wrong_calls(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("hydrograph: ")


def test_a_translation_says_what_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "translate", "-q", CSPARQL, "--to", "sparqlstream")
    assert code == 0
    assert out.splitlines() == [
        "PREFIX : <http://ex.org/>",
        "SELECT ?room ?rom",
        "FROM NAMED STREAM <http://ex.org/s> [NOW - 10 SECONDS SLIDE 10 SECONDS]",
        "WHERE {",
        "  :m1 :at ?room .",
        "  :m2 :at ?room .",
        "}",
    ]
    assert err.splitlines() == [
        "not kept: SPARQLstream has no place for the name 'Meet'",
        "not kept: reports: when a window closes, if some window has content; in SPARQLstream when a window closes",
        "not kept: t0: at registration, rounded down to 1s; in SPARQLstream at registration",
        "in Hydrograph, --preset csparql keeps the profile of this query",
    ]


def test_a_translation_that_keeps_everything_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "translate", "-q", CSPARQL, "--to", "rspql", "--preset", "rspql")
    assert (code, err) == (0, "")


def test_a_translation_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, result = found(capsys, "translate", "-q", CSPARQL, "--to", "csparql")
    assert code == 0
    assert (result["dialect"], result["to"], result["lost"]) == ("csparql", "csparql", [])


def test_what_can_not_be_said_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT ?s { STREAM <urn:s> [NOW] { ?s ?p ?o } ?s ?q ?r }"
    code, out, err = run(capsys, "translate", "-q", text, "--to", "csparql")
    assert (code, out) == (3, "")
    assert err == (
        "hydrograph: cannot translate to C-SPARQL: C-SPARQL has no blocks: its patterns see all windows and "
        "static graphs as one graph; C-SPARQL has no words for the window of the newest instant (NOW)\n"
    )

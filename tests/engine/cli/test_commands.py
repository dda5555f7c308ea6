"""What the commands print."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from hydrograph.cli.main import main
from hydrograph.rdf.nquads import term_text
from tests.support.oracle_experiments import ROOM_CHANGES, STREAM

MEET = """PREFIX : <http://ex.org/>
SELECT ?room FROM NAMED WINDOW :w ON <http://ex.org/streams/test> [RANGE 10 STEP 10]
WHERE { WINDOW :w { :m1 :detectedAt ?room . :m2 :detectedAt ?room } }"""


@pytest.fixture
def detections(tmp_path: Path) -> Path:
    """Experiment 1 of the functional-testing paper, as a file."""
    file = tmp_path / "detections.tnt"
    lines = [
        f"{element.t}\t{' '.join(map(term_text, (x.subject, x.predicate, x.object)))} .\n"
        for element in ROOM_CHANGES
        for x in element.triples
    ]
    file.write_text("".join(lines))
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(list(arguments))
    return capsys.readouterr().out


def test_reports_are_json_lines(detections: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "run", "-q", MEET, "--stream", f"{STREAM.value}={detections}")
    reports = [json.loads(line) for line in out.splitlines()]
    assert [(r["open"], r["close"], r["t"]) for r in reports] == [(0, 10, 10), (10, 20, 20)]
    assert [r["rows"] for r in reports] == [
        [{"room": {"type": "uri", "value": "http://ex.org/r1"}}],
        [{"room": {"type": "uri", "value": "http://ex.org/r2"}}],
    ]


@pytest.mark.parametrize(
    ("results_format", "lines"),
    [
        ("csv", ["t,room", "10,http://ex.org/r1", "20,http://ex.org/r2"]),
        ("tsv", ["?t\t?room", "10\t<http://ex.org/r1>", "20\t<http://ex.org/r2>"]),
    ],
)
def test_other_formats(
    detections: Path, capsys: pytest.CaptureFixture[str], results_format: str, lines: list[str]
) -> None:
    out = run(capsys, "run", "-q", MEET, "--stream", str(detections), "-t", results_format)
    assert out.splitlines() == lines


def test_digests_count_rows(detections: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "run", "-q", MEET, "--stream", str(detections), "-t", "digest")
    assert [line.split("\t")[:2] for line in out.splitlines()] == [["10", "1"], ["20", "1"]]


def test_a_stream_on_standard_input(
    detections: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run(capsys, "run", "-q", MEET, "--stream", str(detections))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(detections.read_bytes())))
    assert run(capsys, "run", "-q", MEET, "--stream", "-") == expected


def test_output_goes_to_a_file(detections: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "answers.jsonl"
    assert run(capsys, "run", "-q", MEET, "--stream", str(detections), "-o", str(target)) == ""
    assert len(target.read_text().splitlines()) == 2


def test_explain_says_what_windows_mean(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "explain", "-q", MEET, "--t0", "3")
    assert "windows from t0 = 3: [3, 13), [13, 23), [23, 33)" in out
    assert "none: all of it is SQL" in out
    assert "q0_window" in out


def test_static_graphs_are_named_on_the_command_line(
    detections: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, floor in (("old", 1), ("new", 2)):
        (tmp_path / f"{name}.ttl").write_text(f"<http://ex.org/r1> <http://ex.org/floor> {floor} .")
    text = MEET.replace("?room FROM", "?g ?floor FROM").replace("} }", "} GRAPH ?g { ?room :floor ?floor } }")
    statics = [f"--static=http://ex.org/{name}={tmp_path / name}.ttl" for name in ("old", "new")]
    out = run(capsys, "run", "-q", text, "--stream", str(detections), *statics, "-t", "csv")
    assert out.splitlines() == ["t,g,floor", "10,http://ex.org/new,2", "10,http://ex.org/old,1"]

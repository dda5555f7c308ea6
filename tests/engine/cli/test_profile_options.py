"""Every part of a profile as an option of `hydrograph run`: what it changes in the paper's first experiment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrograph.cli.main import main
from hydrograph.rdf.nquads import term_text
from tests.support.oracle_experiments import ROOM_CHANGES, STREAM

MEET = "<http://ex.org/m1> <http://ex.org/detectedAt> ?room . <http://ex.org/m2> <http://ex.org/detectedAt> ?room"
CSPARQL = f"SELECT ?room FROM STREAM <{STREAM.value}> [RANGE 10ms STEP 10ms] {{ {MEET} }}"
PLAIN = CSPARQL.replace("STEP 10ms", "STEP 5ms")

EXPECTED = {
    # t0 is 0: the first event, rounded down to the second
    (): ["r1@10", "r2@20"],
    ("--t0", "2"): ["-@12", "r2@22"],
    ("--t0", "6", "--until", "26"): ["r2@16"],
    ("--t0", "6", "--until", "26", "--or-empty"): ["r2@16", "-@26"],
    ("--t0", "2", "--no-empty"): ["r2@22"],
    ("--t0", "first-event", "--profile", "sparqlstream"): ["r1@11", "r2@21"],
    ("--t0", "epoch", "--r2s", "dstream"): ["-@10", "r1@20"],
    ("--report", "content-change"): ["-@1", "r1@3", "-@12", "r2@15"],
    ("--report", "content-change", "--expiry", "--or-empty"): ["-@1", "r1@3", "-@10", "-@12", "r2@15", "-@20"],
    ("--report", "content-change", "--expiry"): ["-@1", "r1@3", "-@12", "r2@15"],
    ("--report", "content-change", "--no-slide", "--t0", "3"): ["-@3", "-@12", "r2@15"],
    ("--every", "4ms"): ["r1@4", "r1@8", "-@12", "r2@16"],
    ("--report", "periodic", "--every", "4", "--from", "8"): ["-@12", "r2@16"],
    ("--tick", "tuple", "--profile", "cqels"): ["r1@3", "r2@15"],
    ("--profile", "cqels", "--empty", "--bags"): ["-@1", "r1@3", "-@12", "r2@15"],
}
"""Silence where no window has content is C-SPARQL's; so is saying an empty answer."""


@pytest.fixture
def detections(tmp_path: Path) -> str:
    lines = [
        f"{element.t}\t{' '.join(map(term_text, (x.subject, x.predicate, x.object)))} .\n"
        for element in ROOM_CHANGES
        for x in element.triples
    ]
    (tmp_path / "detections.tnt").write_text("".join(lines))
    return str(tmp_path / "detections.tnt")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    main(["run", "--placement", "local", *arguments])
    found = []
    for line in capsys.readouterr().out.splitlines():
        report = json.loads(line)
        rooms = [row["room"]["value"].removeprefix("http://ex.org/") for row in report["rows"]]
        found.append(f"{' '.join(rooms) or '-'}@{report['t']}")
    return found


@pytest.mark.parametrize("options", EXPECTED, ids=" ".join)
def test_options(options: tuple[str, ...], detections: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "-q", CSPARQL, "--stream", detections, *options) == EXPECTED[options]


def test_alignment(detections: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("-q", PLAIN, "--stream", detections, "--t0", "0")
    assert said(capsys, *given) == ["r1@10", "-@15", "r2@20", "-@25"]
    assert said(capsys, *given, "--align", "close") == ["r1@5", "r1@10", "-@15", "r2@20", "-@25"]


def test_windows_that_close_together(detections: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        f"SELECT ?room FROM NAMED WINDOW <urn:w> ON <{STREAM.value}> [RANGE 10 STEP 4] "
        f"FROM NAMED WINDOW <urn:v> ON <{STREAM.value}> [RANGE 10 STEP 6] {{ WINDOW <urn:w> {{ {MEET} }} }}"
    )
    given = ("-q", text, "--stream", detections)
    assert said(capsys, *given) == ["r1@10", "-@14", "-@16", "r2@18", "r2@22"]
    assert said(capsys, *given, "--multi", "all") == ["r1@10", "r2@22"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--t0", "yesterday"), "expected a time in milliseconds or one of epoch, registration, first-event"),
        (("--every", "often"), "--every: expected a duration"),
        (("--report", "periodic"), "periodic reporting needs a period above zero"),
        (("--no-slide",), "a continuously sliding window never closes"),
    ],
)
def test_what_is_wrong_is_said(
    options: tuple[str, ...], message: str, detections: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "-q", CSPARQL, "--stream", detections, *options])
    assert message in capsys.readouterr().err

"""Example checks: the command in the second line of each query gives the stored answers, and the oracle agrees.

`HYDROGRAPH_GOLDEN=1` writes the answers instead of comparing.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from pathlib import Path

import pytest

import hydrograph
from hydrograph.cli.main import main
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.result_formats import FORMATS
from hydrograph.streams.sources import open_stream
from hydrograph.streams.static_graphs import read_static
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import NO_STATIC, StaticData, elements_of, graph_of
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports

EXAMPLES = Path(__file__).parents[1] / "examples"
QUERIES = sorted(file for file in EXAMPLES.iterdir() if file.is_file() and file.suffix != ".md")
GOLDEN = os.environ.get("HYDROGRAPH_GOLDEN") == "1"


def command_of(query: Path) -> list[str]:
    line = query.read_text("utf-8").splitlines()[1]
    assert line.startswith("# $ hydrograph "), f"{query.name}: the second line has to say how to run it"
    return shlex.split(line.removeprefix("# $ hydrograph "))


def option(arguments: list[str], name: str, otherwise: str | None = None) -> str | None:
    return arguments[arguments.index(name) + 1] if name in arguments else otherwise


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_an_example(query: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = command_of(query)
    assert option(arguments, "-f") == query.name
    main(arguments)
    captured = capsys.readouterr()
    assert captured.err == ""
    ending = FORMATS[option(arguments, "--format", "json") or ""].ending
    answers = EXAMPLES / "answers" / f"{query.name.replace('.', '-')}{ending}"
    if GOLDEN:
        answers.parent.mkdir(exist_ok=True)
        answers.write_text(captured.out, "utf-8", newline="")
    assert captured.out == answers.read_text("utf-8")


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_the_oracle_agrees(query: Path) -> None:
    arguments = command_of(query)
    parsed = hydrograph.query(query.read_text("utf-8"))
    (stream,) = {window.stream.value for window in parsed.algebra.windows}
    location, static = option(arguments, "--stream"), option(arguments, "--static")
    assert location is not None
    recorded = open_stream(location, name=stream)
    with parsed.over({stream: recorded}, static, placement="local") as run:
        got = [Report(each.t, each.open, each.close, Counter(each.terms()), seq=each.seq) for each in run.reports()]
    wanted = evaluate_reports(
        parsed.algebra,
        {Iri(stream): elements_of(recorded)},
        NO_STATIC if static is None else StaticData(graph_of(read_static(static))),
        profile=parsed.profile,
    )
    if not parsed.profile.emit_empty:
        wanted = [report for report in wanted if report.rows]
    assert not compare_reports(wanted, got)


def test_every_query_is_in_the_list() -> None:
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert [query.name for query in QUERIES if f"`{query.name}`" not in listed] == []

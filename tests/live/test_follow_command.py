"""`hydrograph run --follow` and `hydrograph status`, and what Prometheus is told."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from hydrograph.bench.live.site import QUERY, STREAM, Site
from hydrograph.cli.main import main
from hydrograph.cli.run import command as run
from hydrograph.cli.status import command as status
from hydrograph.errors import UsageError
from hydrograph.live.metrics import MetricsServer


def followed(site: Site, *options: str) -> str:
    arguments = ["-f", str(site.root / "query.rq"), "--follow", "--stream", f"{STREAM}={site.root / 'in'}"]
    ran = CliRunner().invoke(run, [*arguments, "--lateness", "300", *options], catch_exceptions=False)
    assert ran.exit_code == 0
    return ran.stdout


def test_answers_go_to_standard_output_or_to_results(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=2, files=8)
    site.give(8)
    assert followed(site).splitlines() == site.expected()
    checkpoint = str(tmp_path / "checkpoint")
    assert followed(site, "--checkpoint", checkpoint, "--results", str(tmp_path / "results")) == ""
    assert site.found() == site.expected()
    shown = CliRunner().invoke(status, [checkpoint])
    assert f"{len(site.expected())} reports" in shown.stdout
    assert "placement local" in shown.stdout
    assert "is evaluated so: incremental: keeps the rows of q" in shown.stdout
    said = json.loads(CliRunner().invoke(status, [checkpoint, "--json"]).stdout)
    assert said["used"] + said["late_partial"] + said["late_dropped"] + said["outside"] == len(site.lines)
    assert set(said["milliseconds"]) == {"wait", "read", "decode", "plan", "execute", "write", "commit"}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--checkpoint", "there"], "--checkpoint is for live queries"),
        (["--follow", "--until", "5"], "for recorded streams"),
        (["--follow", "--stream", "gopher://x"], "no source for"),
        (["--follow", "--bad-lines", "file"], "expected fail or skip"),
    ],
)
def test_wrong_uses_are_refused(options: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        CliRunner().invoke(run, ["-q", QUERY, *options], catch_exceptions=False)


def test_a_place_without_a_query_has_no_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["status", str(tmp_path)])
    assert end.value.code == UsageError.exit_code
    assert "expected the checkpoint of a live query" in capsys.readouterr().err


def test_prometheus_is_answered_on_this_machine_only() -> None:
    queries = {'a "b"': {"reports": 2, "watermark": None}, "c": {"reports": 5, "watermark": None}}
    said = {"query": 'a "b"', "batch": 3, "queries": queries, "milliseconds": {"execute": 1.5}}
    server = MetricsServer(lambda: said, 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
            text = answer.read().decode()
        assert 'hydrograph_batch_total{query="a \\"b\\""} 3' in text
        assert 'hydrograph_step_milliseconds{query="a \\"b\\"",step="execute"} 1.5' in text
        assert 'hydrograph_reports_total{query="c"} 5' in text
        assert "watermark" not in text
        assert server._server.server_address[0] == "127.0.0.1"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/other")
        refused.value.close()
    finally:
        server.close()

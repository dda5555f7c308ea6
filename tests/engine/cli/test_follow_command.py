"""`hydrograph run --follow` and `hydrograph status`, and what Prometheus is told."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from hydrograph import api
from hydrograph.cli.main import main
from hydrograph.cli.run import command as run
from hydrograph.cli.status import command as status
from hydrograph.errors import UsageError
from hydrograph.live.metrics import MetricsServer, metrics_text
from hydrograph.live.status import STEPS, Progress
from tests.support.kill_harness import QUERY, STREAM, Site


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
    assert "evaluation: incremental; kept: q" in shown.stdout
    said = json.loads(CliRunner().invoke(status, [checkpoint, "--json"]).stdout)
    assert said["used"] + said["late_partial"] + said["late_dropped"] + said["outside"] == len(site.lines)
    assert set(said["milliseconds"]) == {"wait", "read", "decode", "plan", "execute", "write", "commit"}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--checkpoint", "there"], "--checkpoint is for live queries"),
        (["--follow", "--until", "5"], "for recorded streams"),
        (["--follow", "--stream", "gopher://x"], "no source for"),
        (["--follow", "--stream", "tcp://h:99999"], "port out of range"),
        (["--follow", "--stream", "tcp://h:abc"], "expected tcp://host:port"),
        (["--follow", "--stream", "tcp://h:9000?listen"], "expected options as name=value"),
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
        assert server.server.server_address[0] == "127.0.0.1"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/other")
        refused.value.close()
    finally:
        server.close()


def test_prometheus_is_told_all_figures_of_a_query_that_runs(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=2, files=8)
    site.give(8)
    live = api.query(QUERY).start({STREAM: str(site.root / "in")}, checkpoint=str(tmp_path / "there"), lateness=300)
    assert live.wait(60)
    said = live.status()
    found = dict(re.findall(r"^hydrograph_(\w+)\{[^}]*\} (\S+)$", metrics_text(said), re.MULTILINE))
    live.stop()
    assert set(found) == {
        *("batch_total", "triples_total", "triples_per_second", "reports_total", "lag_ms", "used_total"),
        *("outside_total", "late_partial_total", "late_dropped_total", "rejected_total", "quarantined", "state_rows"),
        *("restarts_total", "step_milliseconds"),
    }  # but no watermark: the stream has ended
    assert int(found["triples_total"]) == len(site.lines)
    assert int(found["reports_total"]) == len(site.expected())
    assert set(re.findall(r'step="(\w+)"', metrics_text(said))) == set(STEPS)


def test_a_line_on_a_terminal_shows_how_it_goes(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=2, files=8)
    site.give(8)
    ours, theirs = pty.openpty()
    driver = subprocess.Popen(site.command(), cwd=site.root, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # Linux reports the closed terminal this way
        pass
    os.close(ours)
    assert driver.wait(60) == 0
    last = shown.decode().replace("\r", "\n").strip().splitlines()[-1]
    assert f"{len(site.expected())} reports" in last
    assert re.search(
        r"triples/s, lag \d+ ms, \d+ late, 0 rejected, 0 quarantined, [\d,]+ rows, last batch [\d.]+ ms", last
    )


def test_a_driver_that_waits_says_so_in_its_status(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=2, files=8)
    site.give(8)
    checkpoint = tmp_path / "checkpoint"
    followed(site, "--checkpoint", str(checkpoint), "--results", str(tmp_path / "results"))
    known = json.loads((checkpoint / "status.json").read_text())
    (checkpoint / "status.json").write_text(json.dumps(known | {"paused": "No space left on device"}))
    assert (
        "paused: No space left on device; it resumes by itself" in CliRunner().invoke(status, [str(checkpoint)]).stdout
    )


def test_a_rate_falls_when_nothing_comes() -> None:
    progress = Progress()
    progress._recent.extend([(10.0, 500), (11.0, 1000), (12.0, 1000)])
    assert progress.rate(now=12.0) == 1000
    assert progress.rate(now=30.0) == 100

"""Queries that come, change and go while others run: each reports what replay does over what it has seen (S27, S40)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hydrograph import api
from hydrograph.cli.status import command as status
from hydrograph.errors import HydrographError, RunError, UsageError
from hydrograph.live.query import LiveQuery
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.step.step import Stepper
from hydrograph.live.storage.files import LocalFiles
from hydrograph.runtime.placement.local import Local
from tests.support.live_changes import Group

HISTORIES = int(os.environ.get("HYDROGRAPH_CHANGES", "60"))
BLOCK = 6
BLOCKS = [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(BLOCK, HISTORIES, BLOCK))]


@pytest.fixture(scope="module")
def databases() -> Iterator[list[Local]]:
    found = [Local(threads=1, small=True) for _ in range(4)]
    yield found
    for each in found:
        each.__exit__(None, None, None)


@pytest.mark.parametrize("first", BLOCKS)
def test_each_query_reports_what_replay_does_from_its_start(first: int, databases: list[Local]) -> None:
    did: Counter[str] = Counter()
    reports = 0
    for seed in range(first, first + BLOCK):
        group = Group(seed, databases[1:])
        group.play()
        did.update(group.did)
        for lived in group.lived.values():
            expected = lived.expected(group.elements, databases[0])
            found = group.found(lived)
            lines = [line for _, line in expected]
            where = f"seed {seed}, {lived.name} version {lived.version}, {group.did}"
            reports += len(found)
            if lived.end is None:
                assert found == lines, where
            else:
                assert found == lines[: len(found)], where
                closed = [line for t, line in expected if lived.watermark is not None and t < lived.watermark]
                assert len(found) >= len(closed), where
    assert {"add", "remove", "replace", "static", "restart", "death"} <= set(did), did
    assert reports > 2 * BLOCK


STREAM = "urn:stream"
WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10ms STEP 10ms]"
SUBJECTS = f"SELECT ?s {WINDOW} {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"
OBJECTS = f"SELECT ?o {WINDOW} {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"
KINDS = f"SELECT ?s ?kind {WINDOW} {{ WINDOW <urn:w> {{ ?s ?p ?o }} ?s <urn:is> ?kind }}"


class Site:
    """A checkpoint on which a query on one stream is started again and again."""

    def __init__(self, root: Path) -> None:
        """Nothing has come so far."""
        self.root = root
        self.t = 0

    def start(self, text: str = SUBJECTS, static: Path | None = None) -> LiveQuery:
        places = {"checkpoint": self.root / "checkpoint", "results": self.root / "results"}
        return api.query(text).start({STREAM: "push:"}, static, **places)

    def send(self, live: LiveQuery, reports: int) -> None:
        """Send an element for each of so many windows, and one more that closes the last; wait for what is said."""
        wanted = live.status()["batch"] + 1
        for _ in range(reports):
            live.streams[STREAM].send(self.t + 1, f"<urn:s{self.t}> <urn:p> <urn:o{self.t}> .")
            self.t += 10
        for _ in range(400):
            done = live.status()
            if done["batch"] >= wanted and done["newest"] == self.t - 9:
                return
            assert not live.wait(0.01)
        raise AssertionError(f"not taken: {live.status()}")

    def found(self) -> dict[tuple[str, int], list[int]]:
        """Return the times of the units of each version of each query."""
        by_key: dict[tuple[str, int], list[int]] = {}
        for key, _ in read_units(LocalFiles(self.root / "results")):
            by_key.setdefault((key.query, key.version), []).append(key.t)
        return by_key


def test_added_replaced_and_removed_queries_survive_a_restart(tmp_path: Path) -> None:
    site = Site(tmp_path)
    live = site.start()
    site.send(live, 3)  # windows close at 10 and 20
    assert live.add(OBJECTS, name="other") == ("other", 1)
    site.send(live, 2)  # 30, 40; the other one has seen two elements of which one window has closed
    assert live.replace(SUBJECTS, name="other") == ("other", 2)
    site.send(live, 2)
    live.stop()
    live = site.start()
    assert live.queries == {"query": 1, "other": 2}
    site.send(live, 1)
    live.remove("query")
    assert [*live.status()["queries"]] == ["other"]
    site.send(live, 1)
    live.stop()
    live = site.start()
    assert live.queries == {"other": 2}
    assert live.add(SUBJECTS, name="query") == ("query", 2)  # no version comes again
    site.send(live, 2)
    live.stop()
    assert site.found() == {
        ("query", 1): [10, 20, 30, 40, 50, 60, 70],
        ("other", 1): [40],
        ("other", 2): [60, 70, 80, 90, 100],
        ("query", 2): [100],
    }


def test_replaced_static_data_survives_a_restart(tmp_path: Path) -> None:
    def kinds(name: str) -> Path:
        path = tmp_path / f"{name}.nt"
        path.write_text("".join(f"<urn:s{t}> <urn:is> <urn:{name}> .\n" for t in range(0, 200, 10)))
        return path

    site = Site(tmp_path)
    live = site.start(KINDS, kinds("first"))
    site.send(live, 2)
    live.replace_static(kinds("second"))
    site.send(live, 1)
    assert live.status()["queries"]["query"]["static"] == 2
    live.stop()
    for given in ("first", "second"):  # what it began with, or what it has now
        live = site.start(KINDS, kinds(given))
        site.send(live, 1)
        live.stop()
    with pytest.raises(RunError, match="the static data of query is neither"):
        site.start(KINDS, kinds("third"))
    lines = [text for _, text in read_units(LocalFiles(tmp_path / "results"))]
    assert ["urn:first" in line for line in lines] == [True, False, False, False]
    assert ["urn:second" in line for line in lines] == [False, True, True, True]


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        (SUBJECTS, "query", "already running"),
        (SUBJECTS.replace("urn:stream", "urn:elsewhere"), "other", "no stream is given"),
        ("SELECT nonsense", "other", "expected"),
    ],
)
def test_a_refused_query_does_not_affect_the_others(tmp_path: Path, text: str, name: str, complaint: str) -> None:
    site = Site(tmp_path)
    live = site.start()
    with pytest.raises(HydrographError, match=complaint):
        live.add(text, name=name)
    with pytest.raises(UsageError, match="no query named missing"):
        live.remove("missing")
    site.send(live, 2)
    live.stop()
    with pytest.raises(UsageError, match="is not running"):
        live.add(OBJECTS, name="other")
    assert site.found() == {("query", 1): [10]}


def test_a_query_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path)
    live = site.start()
    live.add(OBJECTS, name="other")
    site.send(live, 2)
    evaluate = Stepper.evaluate

    def fail_one(stepper: Stepper, batch: Any) -> Any:
        if stepper.query.name == "other":
            raise RunError("out of luck")
        return evaluate(stepper, batch)

    monkeypatch.setattr(Stepper, "evaluate", fail_one)
    site.send(live, 2)
    assert live.status()["failed"] == {"other": "RunError: out of luck"}
    assert live.queries == {"query": 1}
    live.stop()
    shown = CliRunner().invoke(status, [str(tmp_path / "checkpoint")]).stdout
    assert "other: failed: RunError: out of luck" in shown
    live = site.start()
    assert live.queries == {"query": 1}
    assert live.status()["failed"] == {"other": "RunError: out of luck"}
    monkeypatch.undo()
    assert live.add(OBJECTS, name="other") == ("other", 2)
    site.send(live, 2)
    assert not live.status()["failed"]
    live.stop()
    assert site.found() == {("query", 1): [10, 20, 30, 40, 50], ("other", 1): [10], ("other", 2): [50]}


def test_the_failure_of_the_only_query_stops_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path)
    live = site.start()
    monkeypatch.setattr(Stepper, "evaluate", lambda *_: (_ for _ in ()).throw(RunError("out of luck")))
    live.streams[STREAM].send(1, "<urn:s> <urn:p> <urn:o> .")
    with pytest.raises(RunError, match="out of luck"):
        live.wait(30)

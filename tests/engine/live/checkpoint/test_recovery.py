"""Whatever dies or breaks, nothing is lost and nothing doubled: drivers over files and logs in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from hydrograph.algebra.queries import StreamOperator
from hydrograph.errors import RunError
from hydrograph.live import failpoints
from hydrograph.live.driver import batch_loop as runner
from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.evaluate import incremental, whole_windows
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.results import exactly_once_sink as sink
from hydrograph.live.step.records import QueryRecord, ResultUnit
from hydrograph.live.step.state import State
from hydrograph.live.step.step import Stepper
from hydrograph.live.storage.files import frame
from hydrograph.live.storage.lease import FencedError
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from tests.support.live_faults import DAMAGES, DeadError, World
from tests.support.live_histories import History, random_history, replayed

SEEDS = (5, 42, 13)
"""A grid, reports without one, and changes; see `test_the_seeds_cover_the_documented_cases`."""
QUICK_OR_SLOW = [5, pytest.param(42, marks=pytest.mark.slow), pytest.param(13, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def placed() -> Iterator[Local]:
    with Local(threads=1, small=True) as database:
        yield database


def few(seed: int) -> History:
    """Return a history of some batches."""
    return random_history(seed)


def test_the_seeds_cover_the_documented_cases() -> None:
    plans = [few(seed).registered().plan for seed in SEEDS]
    assert [plan.reports is None for plan in plans] == [False, True, False]
    assert plans[2].operator is not StreamOperator.RSTREAM
    assert all(len(few(seed).batches) >= 3 for seed in SEEDS)


@pytest.mark.parametrize("seed", QUICK_OR_SLOW)
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("place", ["checkpoint", "results"])
def test_recovery_after_a_failure_of_any_write(seed: int, half: bool, place: str, placed: Local) -> None:
    history = few(seed)
    expected = replayed(history.case, placed)
    for number in range(1, 200):
        world = World(history, placed)
        files = getattr(world, place)
        files.fails, files.half = number, half
        last = world.survive()
        assert world.lines(last) == expected, f"seed {seed}, write {number} of {place}, half {half}"
        assert list(dict.fromkeys(world.seen)) == list(dict.fromkeys(expected))
        if files.changes < number:
            return
    pytest.fail("more writes than there should be")


@pytest.mark.parametrize("seed", QUICK_OR_SLOW)
@pytest.mark.parametrize("point", [point for point in failpoints.POINTS if point != "write"])
def test_recovery_after_a_crash_at_any_point(
    seed: int, point: str, placed: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = few(seed)
    expected = replayed(history.case, placed)
    for number in (1, 2, 4):
        reached = 0

        def reach(name: str, *, number: int = number) -> None:
            nonlocal reached
            reached += name == point
            if name == point and reached == number:
                raise DeadError(name)

        monkeypatch.setattr(runner, "reach", reach)
        monkeypatch.setattr(incremental, "reach", reach)
        monkeypatch.setattr(whole_windows, "reach", reach)
        world = World(history, placed)
        assert world.lines(world.survive()) == expected, f"seed {seed}, {point} {number}"


def test_recovery_after_a_crash_while_units_are_written(placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    history = few(SEEDS[0])
    expected = replayed(history.case, placed)
    times = iter(["driver"])
    monkeypatch.setattr(sink, "due", lambda _: next(times, None))

    def strike(victim: str) -> None:
        raise DeadError(victim)

    monkeypatch.setattr(sink, "strike", strike)
    world = World(history, placed)
    assert world.lines(world.survive()) == expected
    assert any(name.startswith("quarantine/") for name in world.results.data)


@pytest.mark.parametrize("seed", QUICK_OR_SLOW)
@pytest.mark.parametrize("damage", DAMAGES)
def test_recovery_after_damage_of_any_file_of_the_last_batch(seed: int, damage: str, placed: Local) -> None:
    history = few(seed)
    expected = replayed(history.case, placed)
    steps = max(2, len(history.batches) - 1)
    before = World(history, placed)
    before.go_on(steps)
    last = max(name for name in before.checkpoint.data if name.startswith("batches/"))
    touched = [name for name in before.checkpoint.data if name.startswith(last.partition(".")[0])]
    assert touched
    for name in (*touched, *before.results.data, *(n for n in before.checkpoint.data if n.startswith("leases/"))):
        world = World(history, placed)
        world.go_on(steps)
        files = world.results if name in world.results.data else world.checkpoint
        changed = DAMAGES[damage](files.data[name])
        if changed is None:
            del files.data[name]
        else:
            files.data[name] = changed
        assert world.lines(world.go_on()) == expected, f"seed {seed}, {name} {damage}"


def test_a_replayed_unit_that_differs_stops_the_query(placed: Local) -> None:
    history = few(SEEDS[0])
    world = World(history, placed)
    world.go_on()
    batches = sorted(name for name in world.checkpoint.data if name.startswith("batches/"))
    for name in batches:
        if name.endswith("done"):
            del world.checkpoint.data[name]
    (segment,) = [name for name in world.results.data if name.endswith(".seg")]
    lines = world.results.data[segment].splitlines(keepends=True)
    key, _, text = lines[0][9:-1].partition(b"\t")
    lines[0] = frame((key + b"\t" + text.replace(b'"rows"', b'"other"')).decode())
    world.results.data[segment] = b"".join(lines)
    for _ in range(3):
        with pytest.raises(RunError, match="must give the same report"):
            world.go_on()
    for number in range(1, 20):  # also if the start dies before it has compared anything
        world.results.changes, world.results.fails = 0, number
        with pytest.raises((RunError, DeadError)):
            world.go_on()
        if world.results.changes < number:
            break
    world.results.fails = None
    for name in [name for name in world.results.data if name.startswith("ahead/")]:
        del world.results.data[name]
    world.go_on()


def test_uncommitted_units_are_kept_until_they_are_committed(placed: Local) -> None:
    history = few(SEEDS[0])
    expected = replayed(history.case, placed)
    kept = 0
    for steps in range(2, len(history.batches) + 2):
        world = World(history, placed)
        world.go_on(steps)
        for _ in range(3):  # the last record is lost each time
            del world.checkpoint.data[max(name for name in world.checkpoint.data if name.endswith("done"))]
            world.go_on(0)
            kept += any(name.startswith("ahead/") for name in world.results.data)
        assert world.lines(world.go_on()) == expected
        world.go_on()
        assert not [name for name in world.results.data if name.startswith("ahead/")]
    assert kept


def test_a_fenced_driver_stops_before_it_writes(placed: Local) -> None:
    history = few(SEEDS[0])
    expected = replayed(history.case, placed)
    world = World(history, placed)
    older = world.go_on(2)
    newer = world.driver()
    newer.open()
    arrivals = next(arrivals for arrivals in history.arrivals()[2:] if arrivals)
    for arrival in arrivals:
        world.sources[arrival.stream].there = arrival.end
    written = {**world.results.data}, {**world.checkpoint.data}
    with pytest.raises(FencedError, match="another driver has taken over"):
        older.run_once()
    assert (world.results.data, world.checkpoint.data) == written
    assert world.lines(world.go_on()) == expected


@pytest.mark.parametrize("point", [*failpoints.POINTS, "about to write"])
def test_writes_of_a_fenced_driver_are_ignored(point: str, placed: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    history = few(SEEDS[0])
    expected = replayed(history.case, placed)
    world = World(history, placed)
    older = world.go_on(2)
    with Local(threads=1, small=True) as elsewhere:
        successors: list[BatchLoop] = []

        def take_over(name: str = point) -> None:
            if name == point and not successors:
                world.placed = elsewhere
                successors.append(world.driver())
                successors[0].open()

        monkeypatch.setattr(runner, "reach", take_over)
        monkeypatch.setattr(incremental, "reach", take_over)
        monkeypatch.setattr(whole_windows, "reach", take_over)
        monkeypatch.setattr(sink, "due", lambda name: None if name != point or successors else "asleep")
        monkeypatch.setattr(sink, "strike", lambda _: take_over("write"))
        if point == "about to write":  # the lease is looked at before, and lost after
            write = sink.SegmentSink.write

            def late(self: sink.SegmentSink, units: Sequence[ResultUnit]) -> None:
                take_over("about to write")
                write(self, units)

            monkeypatch.setattr(sink.SegmentSink, "write", late)

        def go_on() -> None:
            while not older.is_over:
                world.step(older)

        with pytest.raises(RunError):  # fenced, or its segment has changed under its hands
            go_on()
        (newer,) = successors
        while not newer.is_over:
            world.step(newer)
        assert world.lines(newer) == expected
        assert [text for _, text in sink.read_units(world.results)] == expected
        assert world.lines(world.go_on()) == expected


@pytest.mark.parametrize(("on_spark", "fails", "survives"), [(True, 1, True), (True, 2, False), (False, 1, False)])
def test_a_failed_spark_job_is_retried_once(
    on_spark: bool, fails: int, survives: bool, placed: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = World(few(SEEDS[0]), placed).driver().founding
    batch = query.classify([], query.stepper.decide(query.state, [], query.record))
    if on_spark:
        query.stepper.evaluations = EvaluationChoice(Spark.__new__(Spark))  # no session: nothing is evaluated here
    attempts = 0

    def evaluate(stepper: Stepper, batch: Any) -> tuple[State, list[ResultUnit], QueryRecord]:
        nonlocal attempts
        attempts += 1
        if attempts <= fails:
            raise RunError("the Spark job failed: an executor was lost")
        return query.state, [], query.record

    monkeypatch.setattr(Stepper, "evaluate", evaluate)
    if survives:
        assert query.evaluate(batch) == (query, [])
    else:
        with pytest.raises(RunError, match="an executor was lost"):
            query.evaluate(batch)


def test_a_checkpoint_of_another_query_is_refused(placed: Local) -> None:
    world = World(few(SEEDS[0]), placed)
    world.go_on(2)
    other = world.driver()
    other.about = {"query": "another"}
    with pytest.raises(RunError, match="belongs to another query"):
        other.open()


def test_missing_results_that_cannot_be_replayed_are_an_error(placed: Local) -> None:
    world = World(random_history(8, one_by_one=True), placed)
    world.go_on(39)
    assert world.results.data
    world.results.data.clear()
    with pytest.raises(RunError, match="results are missing"):
        world.go_on()

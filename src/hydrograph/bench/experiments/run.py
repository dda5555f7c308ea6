"""Runs an experiment: plays, asks the oracle, judges, and writes the records; what is written is not done again."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from hydrograph import __version__
from hydrograph.bench.engines import registry
from hydrograph.bench.engines.verdict import Verdict
from hydrograph.bench.experiments.data import Data, prepare
from hydrograph.bench.experiments.expect import expect
from hydrograph.bench.experiments.folder import PLAYED, PlayedRecord, name_of, played_folders, read_record
from hydrograph.bench.experiments.holding import grows, highest
from hydrograph.bench.experiments.judging import judged, mismatches
from hydrograph.bench.experiments.model import Experiment, Test, WorldPart
from hydrograph.bench.experiments.play import plan_runs, play
from hydrograph.bench.experiments.queries import Posed, bound, facts, posed
from hydrograph.bench.experiments.tables import write_tables
from hydrograph.bench.results import (
    ORIGIN,
    RESULTS,
    Excluded,
    Functional,
    Held,
    Key,
    Mismatch,
    Origin,
    Outcome,
    QueryFacts,
    Record,
    Sampled,
    Window,
    line_of,
    read,
    read_origin,
)
from hydrograph.errors import UsageError
from hydrograph.worlds.queries.load import about_set

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORLDS = "worlds"
_GIGABYTE = 1 << 30
_PACKAGES = ("duckdb", "pyarrow", "pyoxigraph", "pyspark")


def _silent(_: str) -> None:
    pass


@dataclass(slots=True)
class Options:
    """How a run is done, whatever the experiment is."""

    worlds: Path | None = None
    """Where generated worlds are kept; by default in the folder of the run."""
    session: SparkSession | None = None
    """Where the oracle works; by default in processes of this machine."""
    processes: int | None = None
    say: Callable[[str], None] = field(default=_silent)


def oracle_session(master: str | None) -> SparkSession | None:
    """Return the Spark on which the oracle works; None where none is named."""
    if master is None:
        return None
    from hydrograph.runtime.session import spark_session

    return spark_session(master, None)


def run_experiment(experiment: Experiment, folder: Path, options: Options | None = None) -> None:
    """Run what is not in the folder yet, and write the results as Parquet too in the end."""
    options = options or Options()
    begin(experiment, folder)
    written = Results.resume(folder)
    for test in experiment.tests:
        _run_test(test, folder, written, options)
    write_tables(folder)


def play_experiment(experiment: Experiment, folder: Path, options: Options | None = None) -> int:
    """Play only, and return how many runs were done; oracle and judge can come later."""
    options = options or Options()
    begin(experiment, folder)
    done = 0
    for test in experiment.tests:
        data, queries = _given(test, folder, options)
        for planned in _planned(test, data, queries):
            done += play(test, data, planned, queries, folder) is not None
            options.say(f"played {name_of(planned)}")
    return done


def _given(test: Test, folder: Path, options: Options) -> tuple[Data, tuple[Posed, ...]]:
    """Return the data and the queries of a test."""
    kept = options.worlds or folder / WORLDS
    data = prepare(_world(test), test.seed, kept)
    queries = posed(test, data, kept)
    return bound(data, queries, test.queries), queries


def _world(test: Test) -> WorldPart:
    """Return the world of a test; where it names none, that of its set of queries."""
    world, name = test.world, test.queries.set
    if world.name is not None or world.folder is not None or world.streams or name is None:
        return world
    about = about_set(name)
    if about.world is None:
        return world
    return world.model_copy(update={"name": about.world, "settings": {**about.settings, **world.settings}})


def _planned(test: Test, data: Data, queries: Sequence[Posed]) -> Iterator[PlayedRecord]:
    for repetition in range(test.repetitions):
        for engine in test.engines:
            yield from plan_runs(test, data, queries, engine, repetition)


def begin(experiment: Experiment, folder: Path) -> None:
    """Write where the figures come from; a folder of another experiment is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / ORIGIN).exists():
        if (known := read_origin(folder).experiment) != experiment.name:
            raise UsageError(f"{folder} holds a run of {known}, not of {experiment.name}: choose another folder")
        return
    partial = folder / f".{ORIGIN}.partial"
    partial.write_text(origin_of(experiment).model_dump_json(indent=1) + "\n", "utf-8")
    partial.replace(folder / ORIGIN)


def origin_of(experiment: Experiment) -> Origin:
    """Return what makes a run repeatable."""
    return Origin(
        experiment=experiment.name,
        title=experiment.title,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=experiment.seed,
        settings=experiment.parameters,
        machine={
            "system": f"{platform.system()} {platform.release()}",
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count() or 1,
            "memory_gib": round(psutil.virtual_memory().total / _GIGABYTE, 1),
            "load": round(os.getloadavg()[0], 2),
        },
        versions={"hydrograph": __version__, "python": platform.python_version(), **_versions()},
        commit=_commit(),
        published=experiment.published,
    )


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """Return the commit of the sources, None where they are no clone."""
    here = Path(__file__).parent
    try:
        ran = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return ran.stdout.strip() or None


class Results:
    """The file of results: what is in it is known, and records are added whole."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of a run."""
        self.file = folder / RESULTS
        self.outcomes: dict[Hashable, Outcome] = {}
        """By `identity`."""
        self.facts: set[tuple[str, str]] = set()
        self.excluded: set[tuple[str, str]] = set()
        self.functional: set[str] = set()
        self.held: set[Hashable] = set()
        self.compared: set[tuple[str, str, str, int]] = set()

    @classmethod
    def resume(cls, folder: Path) -> Results:
        """Return what is written; a torn last line, and the windows of a query that has no outcome, are cut off."""
        written = cls(folder)
        if not written.file.exists():
            return written
        records = list(read(folder))
        done = {identity(record.key) for record in records if isinstance(record, Outcome)}
        kept = [each for each in records if not isinstance(each, Window | Sampled) or identity(each.key) in done]
        partial = written.file.with_name(f".{RESULTS}.partial")
        with partial.open("w", encoding="utf-8") as out:
            out.writelines(map(line_of, kept))
        partial.replace(written.file)
        for record in kept:
            written._note(record)
        return written

    def add(self, records: Iterable[Record]) -> None:
        """Add records; those of a query end with its outcome."""
        with self.file.open("a", encoding="utf-8") as out:
            for record in records:
                out.write(line_of(record))
                self._note(record)

    def _note(self, record: Record) -> None:
        match record:
            case Outcome():
                self.outcomes[identity(record.key)] = record
            case QueryFacts():
                self.facts.add((record.test, record.query))
            case Excluded():
                self.excluded.add((record.test, record.query))
            case Functional():
                self.functional.add(record.engine)
            case Held():
                self.held.add(identity(record.key))
            case Mismatch():
                self.compared.add((record.test, record.query, str(dict(record.settings)), record.repetition))
            case _:
                pass


def _run_test(test: Test, folder: Path, written: Results, options: Options) -> None:
    if test.measure == "functional":
        _run_functional(test, written, options)
        return
    data, queries = _given(test, folder, options)
    written.add(fact for fact in facts(test, queries) if (fact.test, fact.query) not in written.facts)
    excluded = list(_excluded(test, queries, written))
    written.add(each for each in excluded if (each.test, each.query) not in written.excluded)
    out = {each.query for each in excluded}
    queries = tuple(query for query in queries if query.name not in out)
    if test.measure == "held":
        written.add(hold(test, data, queries, folder, options, written))
        return
    for planned in _planned(test, data, queries):
        if all(key in written.outcomes for key in _keys(planned)):
            continue
        options.say(f"{name_of(planned)}")
        play(test, data, planned, queries, folder)
        place = folder / PLAYED / name_of(planned)
        target = expect(
            folder, place, read_record(place), session=options.session, processes=options.processes, say=options.say
        )
        done = {key for key in _keys(planned) if key in written.outcomes}
        written.add(each for each in judged(place, target) if _key_of(each) not in done)
    if len(test.engines) > 1:
        written.add(_compared(test, data, queries, folder, written))


def _run_functional(test: Test, written: Results, options: Options) -> None:
    from hydrograph.bench.functional.suite import functional

    for engine in test.engines:
        if engine not in written.functional and (absent := registry.missing(engine)) is not None:
            options.say(f"{engine} is left out: {absent}")
        elif engine not in written.functional:
            options.say(f"{test.name}, {engine}")
            written.add(list(functional(engine)))


def hold(
    test: Test, data: Data, queries: Sequence[Posed], folder: Path, options: Options, written: Results
) -> Iterator[Held]:
    """Yield the highest rate at which each query stays right on each engine, found by bisection."""
    for query in queries:
        for engine in test.engines:
            key = Key(test=test.name, engine=engine, query=query.name, settings=test.settings)
            if identity(key) in written.held:
                continue

            def holds(rate: float, engine: str = engine, query: Posed = query) -> bool:
                paced = test.play.model_copy(update={"pace": "rate", "rate": rate})
                tried = test.model_copy(update={"play": paced, "settings": {**test.settings, "rate": round(rate, 3)}})
                (planned,) = plan_runs(tried, data, [query], engine, 0)
                options.say(name_of(planned))
                play(tried, data, planned, [query], folder)
                place = folder / PLAYED / name_of(planned)
                target = expect(folder, place, read_record(place), session=options.session, processes=options.processes)
                *windows, outcome = [each for each in judged(place, target) if isinstance(each, Window | Outcome)]
                assert isinstance(outcome, Outcome), "the outcome comes last"
                delays = [each.delay for each in windows if isinstance(each, Window) and each.delay is not None]
                return outcome.verdict == Verdict.OK and not grows(delays)

            rate, tries = highest(holds, test.held_from, test.held_to)
            yield Held(key=key, rate=rate, tried=tries)


def identity(key: Key) -> Hashable:
    """Return what two keys share if they mean the same."""
    return key.test, key.engine, key.query, key.repetition, tuple(sorted(key.settings.items()))


def _keys(planned: PlayedRecord) -> list[Hashable]:
    settings = tuple(sorted(planned.settings.items()))
    return [(planned.test, planned.engine, name, planned.repetition, settings) for name in planned.questions]


def _key_of(record: Record) -> Hashable:
    return identity(record.key) if isinstance(record, Outcome | Window | Sampled) else None


def _compared(test: Test, data: Data, queries: Sequence[Posed], folder: Path, written: Results) -> Iterator[Mismatch]:
    """Yield the mismatches of all engines' outputs, repetition by repetition."""
    groups: dict[tuple[int, tuple[str, ...]], list[Path]] = {}
    for planned in _planned(test, data, queries):
        known = [(test.name, query, str(dict(planned.settings)), planned.repetition) for query in planned.questions]
        if not all(each in written.compared for each in known):
            group = groups.setdefault((planned.repetition, tuple(planned.questions)), [])
            group.append(folder / PLAYED / name_of(planned))
    for places in groups.values():
        yield from mismatches(places, test.comparable)


def _excluded(test: Test, queries: Sequence[Posed], written: Results) -> Iterator[Excluded]:
    """Yield the queries that were not right, or said nothing, on some engine of the test that decides."""
    if test.only_right is None:
        return
    for query in queries:
        name = query.name.partition("/")[0]
        found = [o for o in written.outcomes.values() if o.key.test == test.only_right and o.key.query == name]
        if why := _why_not(found, test.engines):
            yield Excluded(test=test.name, query=query.name, why=why)


def _why_not(outcomes: Sequence[Outcome], engines: Sequence[str]) -> str:
    """Return why a query is not compared by speed; nothing if it is."""
    if silent := [engine for engine in engines if not any(each.key.engine == engine for each in outcomes)]:
        return f"not asked of {silent[0]}"
    for outcome in outcomes:
        if outcome.key.engine in engines and outcome.verdict != Verdict.OK:
            return f"{outcome.verdict} on {outcome.key.engine}"
    return "" if any(outcome.non_empty for outcome in outcomes) else "no results"


def oracle_run(folder: Path, options: Options | None = None, *, profile: str | None = None) -> list[Path]:
    """Let the oracle answer for everything that was played; return where its reports lie."""
    options = options or Options()
    found = []
    for place in played_folders(folder):
        record = read_record(place)
        found.append(
            expect(
                folder,
                place,
                record,
                given=profile,
                session=options.session,
                processes=options.processes,
                say=options.say,
            )
        )
    return found


def compare_run(folder: Path, target: Path, options: Options | None = None, *, profile: str | None = None) -> Results:
    """Judge what was played again, by the habits of `profile` if one is named, and write the results to `target`."""
    options = options or Options()
    origin = read_origin(folder)
    places = played_folders(folder)
    kept: list[Record] = []
    if (folder / RESULTS).exists():
        kept = [each for each in read(folder) if isinstance(each, QueryFacts | Excluded)]
    target.mkdir(parents=True, exist_ok=True)
    if target != folder:
        settings = dict(origin.settings) | ({"profile": profile} if profile else {})
        (target / ORIGIN).write_text(
            origin.model_copy(update={"settings": settings}).model_dump_json(indent=1), "utf-8"
        )
    written = Results(target)
    written.file.unlink(missing_ok=True)
    written.add(kept)
    groups: dict[tuple[str, str, int, tuple[str, ...]], list[Path]] = {}
    for place in places:
        record = read_record(place)
        expected = expect(
            folder, place, record, given=profile, session=options.session, processes=options.processes, say=options.say
        )
        written.add(judged(place, expected, profile))
        key = record.test, str(dict(record.settings)), record.repetition, tuple(record.questions)
        groups.setdefault(key, []).append(place)
    for same in groups.values():
        if len(same) > 1:
            written.add(mismatches(same, _COMPARABLE))
    write_tables(target)
    return written


_COMPARABLE = Test(name="").comparable

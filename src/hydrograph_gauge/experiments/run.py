"""Runs an experiment: plays, asks the oracle, judges, and writes the records; what is written is not done again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from hydrograph.errors import UsageError
from hydrograph_gauge.engines import registry
from hydrograph_gauge.experiments.data import Data, prepare
from hydrograph_gauge.experiments.exclusions import excluded
from hydrograph_gauge.experiments.expected_reports import expect
from hydrograph_gauge.experiments.judge_run import judged, mismatches
from hydrograph_gauge.experiments.max_rate import hold
from hydrograph_gauge.experiments.model import Experiment, Test, WorldPart
from hydrograph_gauge.experiments.options import Options, label
from hydrograph_gauge.experiments.play import plan_runs, play
from hydrograph_gauge.experiments.provenance import begin
from hydrograph_gauge.experiments.queries import Posed, bound, facts, posed
from hydrograph_gauge.experiments.results_file import Results, compared_of, identity
from hydrograph_gauge.experiments.run_folder import PLAYED, PlayedRecord, name_of, read_record
from hydrograph_gauge.experiments.tables import write_tables
from hydrograph_gauge.results import Absent, Mismatch, Outcome, Record, Sampled, Window
from hydrograph_gauge.worlds.queries.load import about_set

_RACE = "what its windows hold depends on how fast that is"


def run_experiment(experiment: Experiment, folder: Path, options: Options | None = None) -> None:
    """Run what is not in the folder yet, and write the results as Parquet too in the end."""
    options = options or Options()
    begin(experiment, folder, options.say)
    written = Results.resume(folder, {test.name for test in experiment.tests})
    for test in _present(experiment, written, options):
        _run_test(test, folder, written, options)
    write_tables(folder)


def play_experiment(experiment: Experiment, folder: Path, options: Options | None = None) -> int:
    """Play only, and return how many runs were done; oracle and judge can come later."""
    options = options or Options()
    for test in experiment.tests:
        if not _can_be_played(test):
            options.say(f"test {test.name} is left out: `hydrograph bench run` plays and judges it in one")
    if not any(map(_can_be_played, experiment.tests)):
        raise UsageError(
            f"{experiment.name} can not be played alone: the functional suite, and the search for the highest rate, "
            "play what the judge's last verdict asks for; say `hydrograph bench run`"
        )
    begin(experiment, folder, options.say)
    done = 0
    for test in filter(_can_be_played, _present(experiment, None, options)):
        data, queries = _given(test, folder, options)
        for planned in _planned(test, data, queries):
            done += play(test, data, planned, queries, folder) is not None
            options.say(f"played {label(planned)}")
    return done


def _can_be_played(test: Test) -> bool:
    return test.measure in ("windows", "cmet")


def _present(experiment: Experiment, written: Results | None, options: Options) -> Iterator[Test]:
    """Yield the tests with the engines that can be run here; who is absent is said, and written if there is where.

    An engine that is not there has answered nothing wrong: it must not decide which queries are compared by speed.
    """
    missing: dict[str, str | None] = {}
    for test in experiment.tests:
        for engine in test.engines:
            if engine not in missing:
                missing[engine] = registry.missing(engine)
        absent = [(engine, why) for engine in test.engines if (why := missing[engine]) is not None]
        for engine, why in absent:
            if written is None or (test.name, engine) not in written.absent:
                options.say(f"{test.name}: {engine} is left out: {why}")
            if written is not None and (test.name, engine) not in written.absent:
                written.add([Absent(test=test.name, engine=engine, why=why)])
        if here := tuple(engine for engine in test.engines if missing[engine] is None):
            yield test.model_copy(update={"engines": here})


def _given(test: Test, folder: Path, options: Options) -> tuple[Data, tuple[Posed, ...]]:
    """Return the data and the queries of a test."""
    kept = options.kept(folder)
    with options.timed("data"):
        data = prepare(world_of(test), test.seed, kept, options.say)
        queries = posed(test, data, kept, options.say)
        return bound(data, queries, test.queries), queries


def world_of(test: Test) -> WorldPart:
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


def _run_test(test: Test, folder: Path, written: Results, options: Options) -> None:
    if test.measure == "functional":
        _run_functional(test, written, options)
        return
    for engine in test.engines if test.measure != "held" and test.play.pace in ("fast", "step") else ():
        if registry.engine(engine).by_clock:
            options.say(
                f"{test.name}: {engine} goes by the clock, and elements come as fast as they are taken: {_RACE}"
            )
    data, queries = _given(test, folder, options)
    written.add(fact for fact in facts(test, queries) if (fact.test, fact.query) not in written.facts)
    left_out = list(excluded(test, queries, written))
    written.add(each for each in left_out if (each.test, each.query) not in written.excluded)
    names = {each.query for each in left_out}
    queries = tuple(query for query in queries if query.name not in names)
    if test.measure == "held":
        written.add(hold(test, data, queries, folder, options, written))
        return
    for planned in _planned(test, data, queries):
        done = [key for key in _keys(planned) if key in written.outcomes]
        if len(done) < len(planned.questions):
            _run_engine(test, data, planned, queries, folder, written, options)
    if len(test.engines) > 1:
        with options.timed("judge"):
            known = frozenset(written.compared)
            written.add(
                each for each in _compared(test, data, queries, folder, written) if compared_of(each) not in known
            )


def _run_engine(
    test: Test,
    data: Data,
    planned: PlayedRecord,
    queries: Sequence[Posed],
    folder: Path,
    written: Results,
    options: Options,
) -> None:
    """Play one run of an engine, judge what has no outcome yet, and say both."""
    options.say(f"{label(planned)}: playing")
    with options.timed("play"):
        play(test, data, planned, queries, folder)
    place = folder / PLAYED / name_of(planned)
    record = read_record(place)
    options.say(f"{label(planned)}: {record.triples:,} triples played in {record.seconds:.1f} s")
    with options.timed("oracle"):
        target = expect(folder, place, record, options)
    done = {key for key in _keys(planned) if key in written.outcomes}
    with options.timed("judge"):
        written.add(each for each in judged(place, target) if _key_of(each) not in done)
    found = [written.outcomes[key] for key in _keys(planned)]
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(each.verdict for each in found).items())
    options.say(f"{label(planned)}: {verdicts}; {sum(each.windows for each in found)} windows")


def _run_functional(test: Test, written: Results, options: Options) -> None:
    from hydrograph_gauge.functional.cases import CASES
    from hydrograph_gauge.functional.suite import functional
    from hydrograph_gauge.functional.w3c import w3c

    cases = [*CASES, *(w3c(Path(test.w3c)) if test.w3c else ())]
    for engine in test.engines:
        if engine not in written.functional:
            options.say(f"{test.name}, {engine}, {len(cases)} cases")
            written.add(list(functional(engine, cases)))


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
        yield from mismatches(places)

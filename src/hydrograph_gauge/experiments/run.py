"""Running an experiment: plan, play, expected reports, judge, records and tables, for each test in this order.

An interrupted run is resumed: what has been written is not repeated. Each step can also be run alone on the files of
the steps before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from hydrograph.errors import UsageError
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.experiments.data import ExperimentData, prepare_data
from hydrograph_gauge.experiments.expected_reports import compute_expected
from hydrograph_gauge.experiments.judge_run import compare_outputs, judge_run
from hydrograph_gauge.experiments.max_rate import measure_max_rates
from hydrograph_gauge.experiments.model import Experiment, ExperimentTest, WorldTable
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.play import plan_runs, play
from hydrograph_gauge.experiments.provenance import start_run
from hydrograph_gauge.experiments.queries import ExperimentQuery, bind_static_graph, describe_queries, load_queries
from hydrograph_gauge.experiments.run_folder import (
    PLAYED,
    PlayedRun,
    ResultsFile,
    identify_comparison,
    identify_key,
    label_run,
    list_played,
    name_run,
    read_played,
    write_tables,
)
from hydrograph_gauge.queries.query_sets import read_set_description
from hydrograph_gauge.run_records import (
    PROVENANCE_FILE,
    RECORDS_FILE,
    ExclusionRecord,
    FunctionalRecord,
    MaxRateRecord,
    MismatchRecord,
    MissingEngineRecord,
    OutcomeRecord,
    QueryRecord,
    Record,
    SampleRecord,
    WindowRecord,
    read_provenance,
    read_records,
)


def find_excluded(
    test: ExperimentTest, queries: Sequence[ExperimentQuery], written: ResultsFile
) -> Iterator[ExclusionRecord]:
    """Yield the queries that were not right, or said nothing, on some engine of the test that decides."""
    if test.only_right is None:
        return
    for query in queries:
        name = query.name.partition("/")[0]
        found = [o for o in written.outcomes.values() if o.key.test == test.only_right and o.key.query == name]
        if why := _why_not(found, test.engines):
            yield ExclusionRecord(test=test.name, query=query.name, why=why)


def _why_not(outcomes: Sequence[OutcomeRecord], engines: Sequence[str]) -> str:
    """Return why a query is not compared by speed; nothing if it is."""
    if silent := [engine for engine in engines if not any(each.key.engine == engine for each in outcomes)]:
        return f"not asked of {silent[0]}"
    for outcome in outcomes:
        if outcome.key.engine in engines and outcome.verdict != Verdict.OK:
            return f"{outcome.verdict} on {outcome.key.engine}"
    return "" if any(outcome.non_empty for outcome in outcomes) else "no results"


_RACE = "what its windows hold depends on how fast that is"


def run_experiment(experiment: Experiment, folder: Path, options: RunOptions | None = None) -> None:
    """Run what is not in the folder yet, and write the results as Parquet too in the end."""
    options = options or RunOptions()
    start_run(experiment, folder, options.progress)
    written = ResultsFile.resume(folder, {test.name for test in experiment.tests})
    for test in _present(experiment, written, options):
        _run_test(test, folder, written, options)
    write_tables(folder)


def play_experiment(experiment: Experiment, folder: Path, options: RunOptions | None = None) -> int:
    """Play only, and return how many runs were done; oracle and judge can come later."""
    options = options or RunOptions()
    for test in experiment.tests:
        if not _can_be_played(test):
            options.progress(f"test {test.name} is left out: only `hydrograph bench run` can play it")
    if not any(map(_can_be_played, experiment.tests)):
        raise UsageError(
            f"{experiment.name} cannot be played alone: the functional suite and the search for the highest rate "
            "depend on verdicts; use `hydrograph bench run`"
        )
    start_run(experiment, folder, options.progress)
    done = 0
    for test in filter(_can_be_played, _present(experiment, None, options)):
        data, queries = _given(test, folder, options)
        for planned in _planned(test, data, queries):
            done += play(test, data, planned, queries, folder) is not None
            options.progress(f"played {label_run(planned)}")
    return done


def _can_be_played(test: ExperimentTest) -> bool:
    return test.measure in ("windows", "cmet")


def _present(experiment: Experiment, written: ResultsFile | None, options: RunOptions) -> Iterator[ExperimentTest]:
    """Yield the tests with the engines that can be run here; who is absent is said, and written if there is where.

    An engine that is not there has answered nothing wrong: it must not decide which queries are compared by speed.
    """
    missing: dict[str, str | None] = {}
    for test in experiment.tests:
        for engine in test.engines:
            if engine not in missing:
                missing[engine] = registry.find_missing(engine)
        absent = [(engine, why) for engine in test.engines if (why := missing[engine]) is not None]
        for engine, why in absent:
            if written is None or (test.name, engine) not in written.absent:
                options.progress(f"{test.name}: {engine} is left out: {why}")
            if written is not None and (test.name, engine) not in written.absent:
                written.add([MissingEngineRecord(test=test.name, engine=engine, why=why)])
        if here := tuple(engine for engine in test.engines if missing[engine] is None):
            yield test.model_copy(update={"engines": here})


def _given(
    test: ExperimentTest, folder: Path, options: RunOptions
) -> tuple[ExperimentData, tuple[ExperimentQuery, ...]]:
    """Return the data and the queries of a test."""
    cache = options.data_folder(folder)
    with options.timed("data"):
        data = prepare_data(resolve_world(test), test.seed, cache, options.progress)
        queries = load_queries(test, data, cache, options.progress)
        return bind_static_graph(data, queries, test.queries), queries


def resolve_world(test: ExperimentTest) -> WorldTable:
    """Return the world of a test; where it names none, that of its set of queries."""
    world, name = test.world, test.queries.set
    if world.name is not None or world.folder is not None or world.streams or name is None:
        return world
    about = read_set_description(name)
    if about.world is None:
        return world
    return world.model_copy(update={"name": about.world, "settings": {**about.settings, **world.settings}})


def _planned(test: ExperimentTest, data: ExperimentData, queries: Sequence[ExperimentQuery]) -> Iterator[PlayedRun]:
    for repetition in range(test.repetitions):
        for engine in test.engines:
            yield from plan_runs(test, data, queries, engine, repetition)


def _run_test(test: ExperimentTest, folder: Path, written: ResultsFile, options: RunOptions) -> None:
    if test.measure == "functional":
        _run_functional(test, written, options)
        return
    for engine in test.engines if test.measure != "held" and test.play.pace in ("fast", "step") else ():
        if registry.get_engine(engine).by_clock:
            options.progress(
                f"{test.name}: {engine} goes by the clock, and elements come as fast as they are taken: {_RACE}"
            )
    data, queries = _given(test, folder, options)
    written.add(fact for fact in describe_queries(test, queries) if (fact.test, fact.query) not in written.facts)
    left_out = list(find_excluded(test, queries, written))
    written.add(each for each in left_out if (each.test, each.query) not in written.excluded)
    names = {each.query for each in left_out}
    queries = tuple(query for query in queries if query.name not in names)
    if test.measure == "held":
        written.add(measure_max_rates(test, data, queries, folder, options, written))
        return
    for planned in _planned(test, data, queries):
        done = [key for key in _keys(planned) if key in written.outcomes]
        if len(done) < len(planned.questions):
            _run_engine(test, data, planned, queries, folder, written, options)
    if len(test.engines) > 1:
        with options.timed("judge"):
            known = frozenset(written.compared)
            written.add(
                each
                for each in _compared(test, data, queries, folder, written)
                if identify_comparison(each) not in known
            )


def _run_engine(
    test: ExperimentTest,
    data: ExperimentData,
    planned: PlayedRun,
    queries: Sequence[ExperimentQuery],
    folder: Path,
    written: ResultsFile,
    options: RunOptions,
) -> None:
    """Play one run of an engine, judge what has no outcome yet, and say both."""
    options.progress(f"{label_run(planned)}: playing")
    with options.timed("play"):
        play(test, data, planned, queries, folder)
    place = folder / PLAYED / name_run(planned)
    record = read_played(place)
    options.progress(f"{label_run(planned)}: {record.triples:,} triples played in {record.seconds:.1f} s")
    with options.timed("oracle"):
        target = compute_expected(folder, place, record, options)
    done = {key for key in _keys(planned) if key in written.outcomes}
    with options.timed("judge"):
        written.add(each for each in judge_run(place, target) if _key_of(each) not in done)
    found = [written.outcomes[key] for key in _keys(planned)]
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(each.verdict for each in found).items())
    options.progress(f"{label_run(planned)}: {verdicts}; {sum(each.windows for each in found)} windows")


def _run_functional(test: ExperimentTest, written: ResultsFile, options: RunOptions) -> None:
    from hydrograph_gauge.functional.cases import CASES
    from hydrograph_gauge.functional.suite import run_suite
    from hydrograph_gauge.functional.w3c import w3c

    cases = [*CASES, *(w3c(Path(test.w3c)) if test.w3c else ())]
    for engine in test.engines:
        if engine in written.functional:
            options.progress(f"{test.name}, {engine}: asked before, and not asked again")
            continue
        options.progress(f"{test.name}, {engine}, {len(cases)} cases, {test.repetitions} times")
        written.add(list(run_suite(engine, cases, repeat=test.repetitions, phase=test.phase)))


def _keys(planned: PlayedRun) -> list[Hashable]:
    settings = tuple(sorted(planned.settings.items()))
    return [(planned.test, planned.engine, name, planned.repetition, settings) for name in planned.questions]


def _key_of(record: Record) -> Hashable:
    return identify_key(record.key) if isinstance(record, OutcomeRecord | WindowRecord | SampleRecord) else None


def _compared(
    test: ExperimentTest, data: ExperimentData, queries: Sequence[ExperimentQuery], folder: Path, written: ResultsFile
) -> Iterator[MismatchRecord]:
    """Yield the mismatches of all engines' outputs, repetition by repetition."""
    groups: dict[tuple[int, tuple[str, ...]], list[Path]] = {}
    for planned in _planned(test, data, queries):
        known = [(test.name, query, str(dict(planned.settings)), planned.repetition) for query in planned.questions]
        if not all(each in written.compared for each in known):
            group = groups.setdefault((planned.repetition, tuple(planned.questions)), [])
            group.append(folder / PLAYED / name_run(planned))
    for places in groups.values():
        yield from compare_outputs(places)


def compute_run_expected(folder: Path, options: RunOptions | None = None, *, profile: str | None = None) -> list[Path]:
    """Let the oracle answer for everything that was played; return where its reports lie."""
    options = options or RunOptions()
    with options.timed("oracle"):
        return [
            compute_expected(folder, place, read_played(place), options, given=profile) for place in list_played(folder)
        ]


def rejudge_run(
    folder: Path, target: Path, options: RunOptions | None = None, *, profile: str | None = None
) -> ResultsFile:
    """Judge a played run again, by `profile` if one is given, and write the results to `target`."""
    options = options or RunOptions()
    origin = read_provenance(folder)
    places = list_played(folder)
    kept: list[Record] = []
    if (folder / RECORDS_FILE).exists():
        # Records that are not judged from played files stay. The highest rate depends on the profile it was found with.
        held = (MaxRateRecord,) if profile is None else ()
        stays: tuple[type[Record], ...] = (QueryRecord, ExclusionRecord, MissingEngineRecord, FunctionalRecord, *held)
        engines = {read_played(place).engine for place in places}
        kept = [each for each in read_records(folder) if isinstance(each, stays) or _is_foreign(each, engines)]
    target.mkdir(parents=True, exist_ok=True)
    if target != folder:
        settings = dict(origin.settings) | ({"profile": profile} if profile else {})
        (target / PROVENANCE_FILE).write_text(
            origin.model_copy(update={"settings": settings}).model_dump_json(indent=1), "utf-8"
        )
    written = ResultsFile(target)
    written.file.unlink(missing_ok=True)
    written.add(kept)
    groups: dict[tuple[str, str, int, tuple[str, ...]], list[Path]] = {}
    for place in places:
        record = read_played(place)
        if record.measure == "held":
            continue
        with options.timed("oracle"):
            expected = compute_expected(folder, place, record, options, given=profile)
        with options.timed("judge"):
            written.add(judge_run(place, expected, profile))
        options.progress(f"{label_run(record)}: judged")
        key = record.test, str(dict(record.settings)), record.repetition, tuple(record.questions)
        groups.setdefault(key, []).append(place)
    with options.timed("judge"):
        for same in groups.values():
            if len(same) > 1:
                written.add(compare_outputs(same))
        write_tables(target)
    return written


def _is_foreign(record: Record, engines: set[str]) -> bool:
    """Tell whether a verdict is of another judge, such as YABench's own: no played engine has its name."""
    return isinstance(record, OutcomeRecord | WindowRecord) and record.key.engine not in engines


def format_judged(written: ResultsFile, options: RunOptions) -> str:
    """Return how much was judged, and how long that took; expected reports that were there already take no time.

    >>> format_judged(ResultsFile(Path("run")), RunOptions(spent={"oracle": 61.2, "judge": 5}))
    'judged: 0 queries, 0 windows in 66 s (oracle 61 s, judge 5 s)'
    """
    windows = sum(outcome.windows for outcome in written.outcomes.values())
    parts = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in options.spent.items())
    seconds = sum(options.spent.values())
    return f"judged: {len(written.outcomes):,} queries, {windows:,} windows in {seconds:.0f} s ({parts})"

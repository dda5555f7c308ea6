"""The steps of a run alone, on what was played before: the oracle, and the judge by these habits or others."""

from __future__ import annotations

from pathlib import Path

from hydrograph_gauge.experiments.expected_reports import expect
from hydrograph_gauge.experiments.judge_run import judged, mismatches
from hydrograph_gauge.experiments.options import Options, label
from hydrograph_gauge.experiments.results_file import Results
from hydrograph_gauge.experiments.run_folder import played_folders, read_record
from hydrograph_gauge.experiments.tables import write_tables
from hydrograph_gauge.results import (
    ORIGIN,
    RESULTS,
    Absent,
    Excluded,
    Functional,
    Held,
    Outcome,
    QueryFacts,
    Record,
    Window,
    read,
    read_origin,
)


def oracle_run(folder: Path, options: Options | None = None, *, profile: str | None = None) -> list[Path]:
    """Let the oracle answer for everything that was played; return where its reports lie."""
    options = options or Options()
    with options.timed("oracle"):
        return [expect(folder, place, read_record(place), options, given=profile) for place in played_folders(folder)]


def compare_run(folder: Path, target: Path, options: Options | None = None, *, profile: str | None = None) -> Results:
    """Judge what was played again, by the habits of `profile` if one is named, and write the results to `target`."""
    options = options or Options()
    origin = read_origin(folder)
    places = played_folders(folder)
    kept: list[Record] = []
    if (folder / RESULTS).exists():
        # What is not judged from what was played stays; the highest rate is one of the habits it was found by.
        held = (Held,) if profile is None else ()
        stays: tuple[type[Record], ...] = (QueryFacts, Excluded, Absent, Functional, *held)
        engines = {read_record(place).engine for place in places}
        kept = [each for each in read(folder) if isinstance(each, stays) or _is_foreign(each, engines)]
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
        if record.measure == "held":
            continue
        with options.timed("oracle"):
            expected = expect(folder, place, record, options, given=profile)
        with options.timed("judge"):
            written.add(judged(place, expected, profile))
        options.say(f"{label(record)}: judged")
        key = record.test, str(dict(record.settings)), record.repetition, tuple(record.questions)
        groups.setdefault(key, []).append(place)
    with options.timed("judge"):
        for same in groups.values():
            if len(same) > 1:
                written.add(mismatches(same))
        write_tables(target)
    return written


def _is_foreign(record: Record, engines: set[str]) -> bool:
    """Tell whether a verdict is another judge's, such as YABench's own: it stands for no engine that was played."""
    return isinstance(record, Outcome | Window) and record.key.engine not in engines


def judged_line(written: Results, options: Options) -> str:
    """Return how much was judged, and how long that took; expected reports that were there already take no time.

    >>> judged_line(Results(Path("run")), Options(spent={"oracle": 61.2, "judge": 5}))
    'judged: 0 queries, 0 windows in 66 s (oracle 61 s, judge 5 s)'
    """
    windows = sum(outcome.windows for outcome in written.outcomes.values())
    parts = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in options.spent.items())
    seconds = sum(options.spent.values())
    return f"judged: {len(written.outcomes):,} queries, {windows:,} windows in {seconds:.0f} s ({parts})"

"""Results of YABench's runner as a run of ours: its answers are judged by our oracle, its own verdicts stand beside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from hydrograph.errors import DataError
from hydrograph.rdf.terms import Iri
from hydrograph_gauge.engines.session import Played
from hydrograph_gauge.experiments.data import elements, prepare
from hydrograph_gauge.experiments.expected_reports import expect
from hydrograph_gauge.experiments.judge_run import judged
from hydrograph_gauge.experiments.model import WorldPart
from hydrograph_gauge.experiments.options import Options
from hydrograph_gauge.experiments.provenance import begin
from hydrograph_gauge.experiments.results_file import Results
from hydrograph_gauge.experiments.run_folder import Judging, PlayedRecord, Question, read_record, write_played
from hydrograph_gauge.experiments.tables import write_tables
from hydrograph_gauge.experiments.yabench import (
    YabenchTest,
    is_eager,
    is_gracious,
    is_single,
    profile_named,
    read_answers_file,
    read_directory,
    read_performance,
    read_verdicts,
    read_yabench,
)
from hydrograph_gauge.player import Handed
from hydrograph_gauge.results import Key, Outcome, Record, Window

QUERY = "query"
THEIRS = "YABench's oracle"


def import_yabench(directory: Path, folder: Path, say: Callable[[str], None] = lambda _: None) -> int:
    """Judge what YABench's runner left in a directory, write it to a folder, and return the number of its runs."""
    experiment = read_yabench(directory)
    begin(experiment, folder)
    written = Results(folder)
    written.file.unlink(missing_ok=True)
    number = 0
    for test in read_directory(directory):
        if is_eager(test.config) and is_single(test.config):
            say(f"{test.name}: singleresult is true, but rows are matched wherever they come, as if it were false")
        for repetition, suffix in enumerate(_runs(directory / "results", test.name)):
            say(f"{test.name}, run {repetition}")
            written.add(_imported(directory / "results", test, suffix, repetition, folder))
            number += 1
    if not number:
        names = ", ".join(test.name for test in read_directory(directory))
        raise DataError(f"{directory / 'results'}: expected a file QR_ for a test ({names}), found none")
    write_tables(folder)
    return number


def _runs(results: Path, name: str) -> list[str]:
    """Return what stands behind the names of the files of each run."""
    pattern = re.compile(rf"QR_{re.escape(name)}([_-]?[0-9]*)")
    found = [match[1] for file in sorted(results.glob("QR_*")) if (match := pattern.fullmatch(file.name))]
    return sorted(found, key=lambda suffix: int(suffix.strip("_-") or 0))


def _imported(results: Path, test: YabenchTest, suffix: str, repetition: int, folder: Path) -> Iterator[Record]:
    stream = next((f for f in (results / f"SG_{test.name}{suffix}", results / f"SG_{test.name}") if f.exists()), None)
    if stream is None:
        raise DataError(f"{results}: expected the stream SG_{test.name}, found none")
    data = prepare(
        WorldPart(streams={test.stream: str(stream)}, format="yabench"), 0, Options().kept(folder), Options().say
    )
    variables, blocks = read_answers_file(results / f"QR_{test.name}{suffix}")
    performance = results / f"P_{test.name}{suffix}"
    name, samples = read_performance(performance) if performance.exists() else ("", [])
    engine = str(test.config.get("enginename") or name or "engine")
    (recorded,) = data.streams.values()
    played = elements(test.stream, recorded.location)
    first = played[0].t if played else 0
    record = PlayedRecord(
        test=test.name,
        engine=engine,
        repetition=repetition,
        questions={QUERY: Question(asked=test.engine_query, text=test.oracle_query, variables=variables)},
        streams={test.stream: recorded.location},
        first=0,
        speed=1.0,
        judging=Judging(
            profile=profile_named(test.config),
            time="handed",  # its wrappers feed engines by the clock, whatever these are called
            gracious=is_gracious(test.config),
            eager=is_eager(test.config),
        ),
        seconds=max([block.at for block in blocks] + [(e.t - first) for e in played[-1:]], default=0.0) / 1000,
        elements=len(played),
        triples=sum(len(element.triples) for element in played),
        executions={QUERY: len(blocks)},
    )
    handed = [Handed(Iri(test.stream), element, element.t, element.t) for element in played]
    place = write_played(folder, record, Played(blocks={QUERY: blocks}, handed=handed, samples=samples))
    for each in judged(place, expect(folder, place, read_record(place), Options())):
        # As YABench says it: nothing opens before the stream does.
        before = isinstance(each, Window) and each.open is not None and each.open < 0
        yield each.model_copy(update={"open": 0}) if before else each
    verdicts = results / f"ORACLE_{test.name}{suffix}"
    if verdicts.exists():
        key = Key(test=test.name, engine=f"{engine}, {THEIRS}", query=QUERY, repetition=repetition)
        windows = list(read_verdicts(verdicts, key))
        yield from windows
        yield _outcome(key, windows)


def _outcome(key: Key, windows: list[Window]) -> Outcome:
    number = len(windows) or 1
    right = sum(window.precision == window.recall == 1 for window in windows)
    return Outcome(
        key=key,
        verdict="ok" if right == len(windows) else "wrong",
        phase="execution",
        windows=len(windows),
        non_empty=sum(window.expected > 0 for window in windows),
        right=right,
        precision=sum(window.precision for window in windows) / number,
        recall=sum(window.recall for window in windows) / number,
        output=sum(window.actual for window in windows),
    )

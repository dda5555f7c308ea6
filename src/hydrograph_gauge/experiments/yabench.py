"""YABench's own files: test directories with `config.json`, and what its runner left in their `results`.

A directory holds `config.json`, `engine.query` and `oracle.query`; its tests override the settings at the top, and
`vars` fill the texts. The runner writes SG_ (the stream), QR_ (what the engine said), P_ (resources) and ORACLE_ (its
own verdicts) for each test, with the number of the run behind the name if there are several.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydrograph.algebra.queries import ContinuousQuery, NamedWindow
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import DataError, HydrographError, UsageError
from hydrograph.language import dialect_of, parse, print_query
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import Iri, Literal, Term
from hydrograph.rdf.vocab import XSD_FLOAT
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import AnswerBlock
from hydrograph_gauge.engines.resources import PERIOD, Sample
from hydrograph_gauge.engines.session import SessionResult
from hydrograph_gauge.experiments.data import prepare_data, read_elements
from hydrograph_gauge.experiments.expected_reports import compute_expected
from hydrograph_gauge.experiments.judge_run import judge_run
from hydrograph_gauge.experiments.model import Experiment, ExperimentTest, WorldTable, parse_experiment
from hydrograph_gauge.experiments.options import Progress, RunOptions, ignore_progress
from hydrograph_gauge.experiments.provenance import start_run
from hydrograph_gauge.experiments.run_folder import (
    JudgeSettings,
    PlayedQuery,
    PlayedRun,
    ResultsFile,
    read_played,
    write_played,
    write_tables,
)
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import Key, OutcomeRecord, Record, WindowRecord
from hydrograph_gauge.worlds.settings import parse_length

CONFIG = "config.json"
_HOLE = re.compile(r"\$\{([A-Za-z_]+)\}")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TYPED = re.compile(r'"?(.*?)"?\^\^<?([^<>]+)>?')
_SETTINGS = {
    "generator": "generator",
    "stations": "stations",
    "interval": "interval",
    "duration": "duration",
    "min_temp": "min",
    "max_temp": "max",
}
_PROFILES = {"onwindowclose": "yabench-close", "oncontentchange": "yabench-change"}
_EAGER = "oncontentchange"
_GIVEN = {*_SETTINGS, "seed", "graceful", "singleresult", "runs", "inputstream"}
"""What -D may say otherwise; the rest of `config.json` is for YABench's own programs."""
_KNOWN = {
    *_GIVEN, "name", "vars", "enginename", "boxplots", "tests", "exec.generator", "exec.engine", "exec.oracle",
}  # fmt: skip
_PLAIN = ("engines", "repetitions", "seed")
"""What -D sets as in any other experiment."""
_ORACLE_COLUMNS = 8
_AVERAGE = "<http://yabench/avg>"
_AVERAGED = re.compile(rf"{re.escape(_AVERAGE)}\s*\(\s*(\?\w+)\s*\)")
_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])')


@dataclass(frozen=True, slots=True)
class YabenchTest:
    """One test of a directory, with what overrides what done."""

    name: str
    config: Mapping[str, Any]
    engine_query: str
    oracle_query: str
    """As the oracle is asked: a window over the stream that the engine reads, in C-SPARQL."""
    stream: str


def read_yabench_tests(folder: Path, given: Mapping[str, str] | None = None) -> list[YabenchTest]:
    """Return the tests of a directory, or raise DataError; `given` overrides keys and vars of all of them."""
    config = _json(folder / CONFIG)
    _check(config, folder)
    tests = config.get("tests") or [{"name": config.get("name", folder.name)}]
    texts = {name: _text(folder / name) for name in ("engine.query", "oracle.query")}
    holes = {hole for text in texts.values() for hole in _HOLE.findall(text)}
    named = {name for part in (config, *tests) for name in part.get("vars", {})}
    over = given or {}
    if unknown := sorted(over.keys() - _GIVEN - holes - named):
        known = ", ".join(sorted({*_GIVEN, *_PLAIN, *holes, *named}))
        raise UsageError(f"{folder}: no key or variable {unknown[0]!r} to set with -D; there are {known}")
    values = {key: _value(value) for key, value in over.items() if key in _GIVEN}
    if "inputstream" in over:  # what the user names starts from where the user is
        values["inputstream"] = str(Path(over["inputstream"]).resolve())
    variables = {key: value for key, value in over.items() if key not in _GIVEN}
    found = []
    for test in tests:
        _check(test, folder)
        merged = {**config, **test, **values}
        merged["vars"] = {**config.get("vars", {}), **test.get("vars", {}), **variables}
        merged.pop("tests", None)
        for flag in ("graceful", "singleresult"):
            _flag(merged, flag)
        engine, oracle = (_filled(folder / name, text, merged["vars"]) for name, text in texts.items())
        try:
            stream = _stream(parse(engine))
            asked = parse(_plain_average(oracle), "sparql")
            text = print_query(_windowed(asked, stream, merged["vars"]), "csparql")
        except HydrographError as error:
            raise DataError(f"{folder}, test {test['name']}: {error}") from error
        found.append(YabenchTest(test["name"], merged, engine, text, stream.value))
    return found


def _stream(query: ContinuousQuery) -> Iri:
    streams = {window.stream for window in query.windows}
    if len(streams) != 1:
        raise DataError(f"engine.query: expected one stream, got {len(streams)}")
    return streams.pop()


def _windowed(query: ContinuousQuery, stream: Iri, given: Mapping[str, Any]) -> ContinuousQuery:
    """Return a plain query as one over a window of the stream."""
    if missing := [name for name in ("WSIZE", "WSLIDE") if name not in given]:
        raise DataError(f"no {missing[0]} in the vars of {CONFIG}")
    size, slide = (parse_length(str(given[name])) for name in ("WSIZE", "WSLIDE"))
    assert isinstance(size, int)
    assert isinstance(slide, int)
    return replace(query, windows=(NamedWindow(None, stream, TimeWindow(size, slide)),))


def _plain_average(text: str) -> str:
    """Return a query with the average that YABench's oracle adds to SPARQL in words of SPARQL.

    It is AVG, but an empty group has no solution, where AVG has 0.

    >>> _plain_average("SELECT (<http://yabench/avg>(?v) AS ?a) { ?s ?p ?v }")
    'SELECT (AVG(?v) AS ?a) { ?s ?p ?v } HAVING (COUNT(?v) > 0)'
    """
    found = _AVERAGED.search(text)
    if found is None:
        return text
    plain = _AVERAGED.sub(r"AVG(\1)", text).rstrip()
    body, end, modifiers = plain.rpartition("}")
    if "GROUP" in modifiers.upper():  # a group that has a key is never empty
        return plain
    return f"{body}{end} HAVING (COUNT({found[1]}) > 0){modifiers}"


def _json(file: Path) -> dict[str, Any]:
    """Return a JSON object; a comma behind the last of its parts, as in a published file, is not an error."""
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        raise DataError(f"{file}: no such file") from None
    try:
        found = json.loads(_COMMA.sub(lambda part: part[1] or "", text))
    except ValueError as error:
        raise DataError(f"{file}: expected JSON: {error}") from error
    if not isinstance(found, dict):
        raise DataError(f"{file}: expected a JSON object")
    return found


def _check(config: Mapping[str, Any], folder: Path) -> None:
    if unknown := sorted(config.keys() - _KNOWN):
        raise UsageError(f"{folder / CONFIG}: unknown key {unknown[0]!r}; known are {', '.join(sorted(_KNOWN))}")


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None


def _value(text: str) -> Any:
    """Return the value of a text of -D in JSON, or the text itself.

    >>> _value("50"), _value("false"), _value("30s")
    (50, False, '30s')
    """
    try:
        return json.loads(text)
    except ValueError:
        return text


def _flag(config: Mapping[str, Any], key: str) -> bool:
    """Return whether a key is true; what is not said is false."""
    value = config.get(key, False)
    said = _value(value.lower()) if isinstance(value, str) else value
    if not isinstance(said, bool):
        raise UsageError(f"{CONFIG}: expected {key} to be true or false, got {value!r}")
    return said


def _filled(file: Path, text: str, values: Mapping[str, Any]) -> str:
    if missing := [name for name in _HOLE.findall(text) if name not in values]:
        raise DataError(f"{file}: no value for ${{{missing[0]}}} in the vars of {CONFIG}")
    return _HOLE.sub(lambda hole: str(values[hole[1]]), text)


def read_yabench(folder: Path, given: Sequence[str] = (), *, only: Sequence[str] = ()) -> Experiment:
    """Return the tests of a directory as an experiment; -D sets engines, keys of `config.json`, and variables."""
    raw: dict[str, Any] = {"title": folder.name, "about": f"YABench's tests of {folder.name}", "test": []}
    if wrong := [text for text in given if "=" not in text]:
        raise UsageError(f"expected key=value, got {wrong[0]!r}")
    plain = [text for text in given if text.partition("=")[0] in _PLAIN]
    changed = dict(text.partition("=")[::2] for text in given if text not in plain)
    asked = next((text.partition("=")[2].split(",") for text in reversed(plain) if text.startswith("engines=")), None)
    engines = ExperimentTest.model_fields["engines"].default if asked is None else asked
    for test in read_yabench_tests(folder, changed):
        config = test.config
        raw["test"].append(
            {
                "name": test.name,
                "repetitions": int(config.get("runs", 1)),
                "seed": int(config.get("seed", 1024)),
                "world": _world(config, test, folder),
                "queries": {
                    "texts": {"query": test.oracle_query},
                    "engine_texts": {e: {"query": test.engine_query} for e in engines if _reads(e, test.engine_query)},
                },
                "play": {"pace": "event-time"},
                "oracle": {"profile": choose_policy_profile(config), "gracious": is_gracious(config)},
            }
        )
    return parse_experiment(folder.name, raw, plain, only=only)


def _reads(engine: str, text: str) -> bool:
    """Tell whether an engine reads the language of a text; Hydrograph reads all of them."""
    found = registry.get_engine(engine)
    return found.name.startswith("hydrograph") or (found.words is None and found.dialect == dialect_of(text).name)


def is_gracious(config: Mapping[str, Any]) -> bool:
    """Return whether the borders that an engine used are looked for."""
    return _flag(config, "graceful")


def is_single(config: Mapping[str, Any]) -> bool:
    """Return whether YABench's own oracle would take an answer that is too much for the next one expected."""
    return _flag(config, "singleresult")


def is_eager(config: Mapping[str, Any]) -> bool:
    """Return whether an engine is expected to answer whenever the content changes, whatever it is called."""
    return choose_policy_profile(config) == _PROFILES[_EAGER]


def _world(config: Mapping[str, Any], test: YabenchTest, folder: Path) -> dict[str, Any]:
    if "inputstream" in config:
        return {"streams": {test.stream: str((folder / config["inputstream"]).resolve())}, "format": "yabench"}
    if "generator" not in config:
        raise UsageError(f"{folder / CONFIG}: no stream: expected a generator, or a file with -D inputstream=FILE")
    settings = {ours: config[theirs] for theirs, ours in _SETTINGS.items() if theirs in config}
    # As in YABench: its seed, its draws, its quirks, and its only stream is whatever the query reads.
    original = {"static": False, "faithful": True, "random": "java"}
    return {"name": "sensors", "settings": {**original, **settings}, "stream": test.stream}


def choose_policy_profile(config: Mapping[str, Any]) -> str:
    """Return the profile of the expected reports of a test."""
    policy = config.get("vars", {}).get("WPOLICY", "onwindowclose")
    if policy not in _PROFILES:
        raise UsageError(f"{CONFIG}: expected WPOLICY to be one of {', '.join(_PROFILES)}, got {policy!r}")
    return _PROFILES[policy]


def read_yabench_answers(file: Path) -> tuple[tuple[str, ...], list[AnswerBlock]]:
    """Return the variables and the answers of a QR_ file; times count from the start that its first line tells."""
    lines = file.read_text("utf-8").splitlines()
    if not lines or not lines[0].strip().isdigit():
        raise DataError(f"{file}, line 1: expected the time of the start in milliseconds")
    start = int(lines[0])
    variables: tuple[str, ...] = tuple(lines[1].split("\t")) if len(lines) > 1 else ()
    blocks: list[AnswerBlock] = []
    for number, line in enumerate(lines[2:], start=3):
        if line.strip().isdigit() and "\t" not in line and len(line.strip()) == len(lines[0].strip()):
            blocks.append(AnswerBlock(float(int(line) - start), Counter()))
        elif line:
            row = _row(line, file, number)
            if not blocks or len(row) != len(variables):
                raise DataError(f"{file}, line {number}: expected {len(variables)} values behind a time, got {line!r}")
            blocks[-1].rows[row] += 1
    return variables, blocks


def _row(line: str, file: Path, number: int) -> Row:
    try:
        return tuple(_term(text) for text in line.split("\t"))
    except HydrographError as error:
        raise DataError(f"{file}, line {number}: {error}") from None


def _term(text: str) -> Term | None:
    """Return a term as engines print it: IRIs with or without brackets, literals with or without quotes.

    Numbers without a type are floats, as in YABench's streams.

    >>> _term('"62.0"^^http://www.w3.org/2001/XMLSchema#float') == _term("62.0")
    True
    >>> _term("http://knoesis.wright.edu/ssw/System_A1")
    Iri(value='http://knoesis.wright.edu/ssw/System_A1')
    """
    text = text.strip()
    if not text or text == "null":
        return None
    if typed := _TYPED.fullmatch(text):
        return Literal(typed[1], typed[2])
    if _NUMBER.fullmatch(text):
        return Literal(text, XSD_FLOAT)
    if text.startswith(("<", "_:", '"')):
        return decode(text)
    return Iri(text) if "://" in text else Literal(text)


def read_yabench_samples(file: Path) -> tuple[str, list[Sample]]:
    """Return the engine's name and its resources from a P_ file: a row each half second."""
    lines = file.read_text("utf-8").splitlines()
    samples: list[Sample] = []
    cpu = 0.0
    for number, row in enumerate(csv.DictReader(lines[1:])):
        try:
            cpu += float(row["cpu_percent"]) / 100 * PERIOD
            samples.append(Sample(number * PERIOD, float(row["rss_mem"]), cpu, int(float(row["threads"]))))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{file}, line {number + 3}: expected rss_mem, cpu_percent, threads: {error}") from None
    return lines[0].strip() if lines else "", samples


def read_yabench_verdicts(file: Path, key: Key) -> Iterator[WindowRecord]:
    """Yield the verdicts of an ORACLE_ file."""
    with file.open(encoding="utf-8", newline="") as opened:
        for number, row in enumerate(csv.reader(opened), start=1):
            if not row:
                continue
            if len(row) != _ORACLE_COLUMNS:
                raise DataError(f"{file}, line {number}: expected {_ORACLE_COLUMNS} values, got {len(row)}")
            precision, recall, actual, expected, triples, start, end, delay = map(float, row)
            yield WindowRecord(
                key=key,
                t=int(end),
                open=int(start),
                close=int(end),
                content=int(triples),
                expected=int(expected),
                actual=int(actual),
                precision=precision,
                recall=recall,
                delay=delay,
            )


QUERY = "query"
YABENCH_ORACLE = "YABench's oracle"


def import_yabench(directory: Path, folder: Path, progress: Progress = ignore_progress) -> int:
    """Judge what YABench's runner left in a directory, write it to a folder, and return the number of its runs."""
    experiment = read_yabench(directory)
    start_run(experiment, folder)
    written = ResultsFile(folder)
    written.file.unlink(missing_ok=True)
    number = 0
    for test in read_yabench_tests(directory):
        if is_eager(test.config) and is_single(test.config):
            progress(f"{test.name}: singleresult is true, but rows are matched wherever they come, as if it were false")
        for repetition, suffix in enumerate(_runs(directory / "results", test.name)):
            progress(f"{test.name}, run {repetition}")
            written.add(_imported(directory / "results", test, suffix, repetition, folder))
            number += 1
    if not number:
        names = ", ".join(test.name for test in read_yabench_tests(directory))
        raise DataError(f"{directory / 'results'}: expected a file QR_ for a test ({names}), found none")
    write_tables(folder)
    return number


def _runs(results: Path, name: str) -> list[str]:
    """Return the suffixes of the file names of each run."""
    pattern = re.compile(rf"QR_{re.escape(name)}([_-]?[0-9]*)")
    found = [match[1] for file in sorted(results.glob("QR_*")) if (match := pattern.fullmatch(file.name))]
    return sorted(found, key=lambda suffix: int(suffix.strip("_-") or 0))


def _imported(results: Path, test: YabenchTest, suffix: str, repetition: int, folder: Path) -> Iterator[Record]:
    stream = next((f for f in (results / f"SG_{test.name}{suffix}", results / f"SG_{test.name}") if f.exists()), None)
    if stream is None:
        raise DataError(f"{results}: expected the stream SG_{test.name}, found none")
    data = prepare_data(
        WorldTable(streams={test.stream: str(stream)}, format="yabench"),
        0,
        RunOptions().data_folder(folder),
        RunOptions().progress,
    )
    variables, blocks = read_yabench_answers(results / f"QR_{test.name}{suffix}")
    performance = results / f"P_{test.name}{suffix}"
    name, samples = read_yabench_samples(performance) if performance.exists() else ("", [])
    engine = str(test.config.get("enginename") or name or "engine")
    (recorded,) = data.streams.values()
    played = read_elements(test.stream, recorded.location)
    first = played[0].t if played else 0
    record = PlayedRun(
        test=test.name,
        engine=engine,
        repetition=repetition,
        questions={QUERY: PlayedQuery(asked=test.engine_query, text=test.oracle_query, variables=variables)},
        streams={test.stream: recorded.location},
        first=0,
        speed=1.0,
        judging=JudgeSettings(
            profile=choose_policy_profile(test.config),
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
    place = write_played(folder, record, SessionResult(blocks={QUERY: blocks}, handed=handed, samples=samples))
    for each in judge_run(place, compute_expected(folder, place, read_played(place), RunOptions())):
        # As in YABench: no window opens before the stream.
        before = isinstance(each, WindowRecord) and each.open is not None and each.open < 0
        yield each.model_copy(update={"open": 0}) if before else each
    verdicts = results / f"ORACLE_{test.name}{suffix}"
    if verdicts.exists():
        key = Key(test=test.name, engine=f"{engine}, {YABENCH_ORACLE}", query=QUERY, repetition=repetition)
        windows = list(read_yabench_verdicts(verdicts, key))
        yield from windows
        yield _outcome(key, windows)


def _outcome(key: Key, windows: list[WindowRecord]) -> OutcomeRecord:
    number = len(windows) or 1
    right = sum(window.precision == window.recall == 1 for window in windows)
    return OutcomeRecord(
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

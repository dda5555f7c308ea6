"""Publishing a run: one folder with all that a reader needs to check its verdicts, without names of the machine.

Data, queries, raw answers and settings are copied first. The verdicts of the folder are then judged from these copies,
and compared with those of the run: what is published has been judged once from exactly the published files.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrograph.atomic_files import atomic_path
from hydrograph.errors import DataError, RunError, UsageError
from hydrograph_gauge.experiments.machine_names import MachineNames, find_machine_names
from hydrograph_gauge.experiments.model import ExperimentTest
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.paper_tables import DOCUMENT, write_csv_and_latex
from hydrograph_gauge.experiments.provenance import EXPERIMENT_FILE, read_tests
from hydrograph_gauge.experiments.published_data import (
    DATA,
    DATA_FILE,
    LARGEST,
    DataRecipe,
    PublishedData,
    find_recipe,
    publish_data,
)
from hydrograph_gauge.experiments.rejudge import (
    CHECKSUMS,
    ENGINE_FILES,
    compare_records,
    judge_published,
    write_checksums,
)
from hydrograph_gauge.experiments.run import resolve_world
from hydrograph_gauge.experiments.run_folder import (
    PLAYED,
    PLAYED_FILE,
    PlayedRun,
    list_played,
    read_played,
    write_tables,
)
from hydrograph_gauge.run_records import (
    PROVENANCE_FILE,
    RECORDS_FILE,
    OutcomeRecord,
    Provenance,
    Record,
    line_of,
    parse_record,
    read_provenance,
    read_records,
)

QUERIES = "queries"
PAGE = "report.html"
README = "README.md"
COMMANDS = "commands.txt"

WritePage = Callable[[Path, Path], None]
"""Writes the report page of a run folder to a file."""
_MOST_SHOWN = 10
_TEXT_FILES = (".txt", ".log", ".err", ".json", ".jsonl")


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """Folder that was written, and what is in it."""

    folder: Path
    runs: int
    queries: int
    data: tuple[PublishedData, ...]


def publish_run(
    run: Path, target: Path, options: RunOptions, write_page: WritePage, *, largest: float = LARGEST
) -> PublishedRun:
    """Write the published folder of a run; generated data of more than `largest` megabytes is described, not copied."""
    origin = read_provenance(run)
    places = list_played(run)
    if not (run / RECORDS_FILE).exists():
        raise UsageError(f"{run} has no verdicts yet: run `hydrograph bench compare {run}` first")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists and is not an empty folder: choose another folder with --to")
    target.parent.mkdir(parents=True, exist_ok=True)
    played = {place: read_played(place) for place in places}
    records = list(read_records(run))
    names = find_machine_names(run, _engines(records, played.values()))
    tests = read_tests(run)
    with atomic_path(target) as folder:
        folder.mkdir()
        recipes = {place: _recipe(record, tests) for place, record in played.items()}
        options.progress(f"copying the data and answers of {len(places)} runs")
        data, files = publish_data(((record, recipes[place]) for place, record in played.items()), folder, largest)
        for place, record in played.items():
            _copy_played(place, _published_run(record, names, files), folder, names)
        _copy_descriptions(names, folder)
        _write_queries(played.values(), names, folder)
        _write_origin(origin, tests, played.values(), files, names, folder)
        stripped = [_stripped(record, names) for record in records]
        _write_records(stripped, folder)
        judged = _judge(folder, stripped, files, options)
        _write_records(judged, folder)
        write_tables(folder)
        write_csv_and_latex(folder)
        write_page(folder, folder / PAGE)
        (folder / COMMANDS).write_text(_commands(read_provenance(folder), data), "utf-8")
        (folder / README).write_text(_readme(read_provenance(folder), data, folder), "utf-8")
        write_checksums(folder)
    queries = sum(isinstance(each, OutcomeRecord) for each in judged)
    return PublishedRun(target, len(places), queries, tuple(data))


def _engines(records: Iterable[Record], played: Iterable[PlayedRun]) -> list[str]:
    found = [record.engine for record in played]
    for record in records:
        key = getattr(record, "key", None)
        found.append(key.engine if key is not None else getattr(record, "engine", ""))
    return [engine for engine in dict.fromkeys(found) if engine]


def _recipe(record: PlayedRun, tests: Iterable[ExperimentTest]) -> DataRecipe | None:
    """Return how the data of a run was generated; None if it was not, or the run does not tell."""
    for test in tests:
        if test.name == record.test and dict(test.settings) == dict(record.settings):
            return find_recipe(resolve_world(test), test.seed)
    return None


def _published_run(record: PlayedRun, names: MachineNames, files: Mapping[tuple[str, str], str]) -> PlayedRun:
    """Return the description of a run without names of the machine, its data by their files in the folder."""
    plain = names.strip_json(record.model_dump(mode="json"))
    plain["streams"] = {iri: files["stream", location] for iri, location in record.streams.items()}
    plain["static"] = {iri: files["static", location] for iri, location in record.static.items()}
    return PlayedRun.model_validate(plain)


def _copy_played(place: Path, record: PlayedRun, folder: Path, names: MachineNames) -> None:
    """Copy answers, hand-over times and samples; the name of a run has the engine in it, with its path cut off."""
    target = folder / PLAYED / names.strip(place.name)
    target.mkdir(parents=True)
    for file in sorted(place.iterdir()):
        if file.name == PLAYED_FILE or file.name.startswith("."):
            continue
        if file.suffix in _TEXT_FILES:  # output of engines, which may name files
            (target / file.name).write_text(names.strip(file.read_text("utf-8", "replace")), "utf-8")
        else:
            shutil.copyfile(file, target / file.name)
    (target / PLAYED_FILE).write_text(record.model_dump_json(indent=1) + "\n", "utf-8")


def _copy_descriptions(names: MachineNames, folder: Path) -> None:
    """Copy the descriptions of engines, by which their answers are judged."""
    for engine, plain in names.engines.items():
        base, _, rest = engine.partition(":")
        if base == "described":
            file = Path(rest.partition(",")[0])
            name = plain.partition(":")[2].partition(",")[0]
            (folder / ENGINE_FILES).mkdir(exist_ok=True)
            try:
                shutil.copyfile(file, folder / ENGINE_FILES / name)
            except OSError as error:
                raise DataError(
                    f"{file}: {error.strerror}; the description of an engine is needed to judge its answers"
                ) from None


def _write_queries(played: Iterable[PlayedRun], names: MachineNames, folder: Path) -> None:
    """Write each query: the text that the oracle goes by, and what each engine was asked."""
    for record in played:
        place = folder / QUERIES / _file_name(record.test)
        for name, question in record.questions.items():
            stem = _file_name(re.sub("/[0-9]+$", "", name))
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{stem}.rq").write_text(question.text.rstrip() + "\n", "utf-8")
            if question.oracle_text is not None:
                (place / f"{stem}.oracle.rq").write_text(question.oracle_text.rstrip() + "\n", "utf-8")
            engine = _file_name(names.strip_engine(record.engine))
            asked = (
                "# not asked: the language of the engine cannot express it"
                if question.asked is None
                else question.asked
            )
            (place / f"{stem}.{engine}.txt").write_text(asked.rstrip() + "\n", "utf-8")


def _file_name(text: str) -> str:
    """Return text as part of a file name.

    >>> _file_name("shop, Q9 and Q47"), _file_name("program?eager=true:python3 x.py")
    ('shop-Q9-and-Q47', 'program-eager-true-python3-x.py')
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "unnamed"


def _write_origin(
    origin: Provenance,
    tests: Iterable[ExperimentTest],
    played: Iterable[PlayedRun],
    files: Mapping[tuple[str, str], str],
    names: MachineNames,
    folder: Path,
) -> None:
    plain = names.strip_json(origin.model_dump(mode="json"))
    (folder / PROVENANCE_FILE).write_text(Provenance.model_validate(plain).model_dump_json(indent=1) + "\n", "utf-8")
    streams: dict[str, dict[str, str]] = {}
    for record in played:
        known = streams.setdefault(record.test, {})
        known |= {iri: files["stream", location] for iri, location in record.streams.items()}
    lines = [_published_test(test, streams.get(test.name, {}), names) for test in tests]
    (folder / EXPERIMENT_FILE).write_text(json.dumps(lines, indent=1) + "\n", "utf-8")


def _published_test(test: ExperimentTest, streams: Mapping[str, str], names: MachineNames) -> dict[str, Any]:
    """Return the settings of a test; files that the user gave are those of the folder."""
    plain: dict[str, Any] = names.strip_json(test.model_dump(mode="json"))
    world, queries = plain["world"], plain["queries"]
    world["streams"] = {iri: streams.get(iri, Path(place).name) for iri, place in test.world.streams.items()}
    world["static"] = {iri: Path(place).name for iri, place in test.world.static.items()}
    queries["files"] = [f"{QUERIES}/{_file_name(test.name)}/{Path(file).name}" for file in test.queries.files]
    queries["engine_texts"] = {
        names.strip_engine(engine): dict(texts) for engine, texts in test.queries.engine_texts.items()
    }
    for field in ("oracle_texts", "texts", "constants"):
        queries[field] = dict(getattr(test.queries, field))
    return plain


def _stripped(record: Record, names: MachineNames) -> Record:
    return parse_record(names.strip_json(record.model_dump(mode="json", exclude_none=True)))


def _write_records(records: Iterable[Record], folder: Path) -> None:
    (folder / RECORDS_FILE).write_text("".join(map(line_of, records)), "utf-8")


def _judge(
    folder: Path, records: Iterable[Record], files: Mapping[tuple[str, str], str], options: RunOptions
) -> list[Record]:
    """Return the records as judged from the folder, or raise RunError if they are not those of the run.

    Data that is not copied is read where it lies.
    """
    known = {
        file: str((folder / file if (folder / file).exists() else Path(location)).resolve())
        for (_, location), file in files.items()
    }
    options.progress("judging the copied answers")
    with tempfile.TemporaryDirectory(prefix="hydrograph-publish-") as scratch:
        judged, wrong = judge_published(folder, Path(scratch), options, known)
    differences = [*wrong, *compare_records(records, judged)]
    if differences:
        more = f" and {len(differences) - _MOST_SHOWN} more" if len(differences) > _MOST_SHOWN else ""
        raise RunError(
            "the answers of the run, judged again, do not give its verdicts: it was judged by other sources, or by "
            f"another profile. Judge it again with `hydrograph bench compare`, then publish it: "
            f"{'; '.join(differences[:_MOST_SHOWN])}{more}"
        )
    return judged


def _commands(origin: Provenance, data: Iterable[PublishedData]) -> str:
    """Return the commands that repeat each step, one a line."""
    given = " ".join(f"-D '{name}={value}'" for name, value in origin.settings.items())
    lines = [
        "# Judge the stored answers again; no engine runs. Exit code 1 if a verdict differs.",
        "hydrograph bench rejudge .",
        "",
        "# Check the files.",
        f"sha256sum --check {CHECKSUMS}",
        "",
        f"# Run the experiment again, with the engines installed; {EXPERIMENT_FILE} has every setting.",
        " ".join(filter(None, ["hydrograph bench run", origin.experiment, given, "-o RUN"])),
    ]
    generated = dict.fromkeys(entry.command for entry in data if entry.command)
    if generated:
        lines += ["", "# Generate the data again; the seed gives the same rows on any machine.", *generated]
    return "\n".join(lines) + "\n"


_FILES = {
    README: "this page",
    CHECKSUMS: "SHA-256 of every other file",
    COMMANDS: "commands that judge, run and generate again",
    PROVENANCE_FILE: "machine, versions of product, Python, Java and engines, seeds, settings, commit",
    EXPERIMENT_FILE: "every test with every setting: data, queries, engines, pace, limits, and how answers are judged",
    DATA_FILE: "each stream and static graph: its IRI, file, number of triples, checksum, and how it is generated",
    f"{DATA}/stream-*": "streams as Parquet, a row per triple: `t` (ms), `seq` (place of the element), `s`, `p`, `o`",
    f"{DATA}/static-*": "static graphs as Parquet with `s`, `p`, `o`, and as N-Triples",
    f"{QUERIES}/<test>/<query>.rq": "the normative text of a query, by which the oracle judges",
    f"{QUERIES}/<test>/<query>.<engine>.txt": "what this engine was asked",
    f"{ENGINE_FILES}/": "descriptions of engines, where they have one",
    f"{PLAYED}/<run>/{PLAYED_FILE}": "what was asked of which engine over which data, and how it ended",
    f"{PLAYED}/<run>/answers.parquet": "raw answers: `query`, `at` (ms since the start), `t` (if the engine named a "
    "time), `rows` (terms as in N-Triples)",
    f"{PLAYED}/<run>/handed.parquet": "when each element was due and handed over",
    f"{PLAYED}/<run>/taken.parquet": "when each query took each element, for engines that feed queries independently",
    f"{PLAYED}/<run>/samples.parquet": "memory, processor time and threads of the engine",
    f"{PLAYED}/<run>/stderr.txt": "the engine's standard error, with paths cut off",
    RECORDS_FILE: "verdicts: one record a line for each query, window and comparison",
    "tables/*.csv": "the same records as tables",
    "tables/*.parquet": "the same records, with types",
    "tables/*.tex": f"summaries in LaTeX without packages; {DOCUMENT} prints all of them",
    PAGE: "the report page; it needs no network",
}


def _readme(origin: Provenance, data: Iterable[PublishedData], folder: Path) -> str:
    """Return the page that explains the folder."""
    entries = list(data)
    absent = [entry for entry in entries if not entry.included]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    machine = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in origin.machine.items())
    versions = ", ".join(f"{name} {value}" for name, value in origin.versions.items())
    lines = [
        f"# {origin.title or origin.experiment}",
        "",
        f"A run of the experiment `{origin.experiment}` of {origin.started}, published by Hydrograph "
        f"{origin.versions.get('hydrograph', '')}".rstrip()
        + f" ({size / 2**20:.1f} MB).",
        "",
        "`hydrograph bench rejudge .` judges the stored answers again and compares every verdict with the published "
        "one. It starts no engine, and works in any copy of this folder.",
        "",
        f"- machine: {machine}",
        f"- versions: {versions}",
        f"- seeds: {', '.join(map(str, origin.all_seeds))}",
        f"- commit: {origin.commit or 'none'}",
        "",
        "| file | holds |",
        "|---|---|",
        *(f"| `{name}` | {holds} |" for name, holds in _FILES.items()),
        "",
        "## Data",
        "",
        "| file | IRI | triples | included | generated by |",
        "|---|---|---|---|---|",
        *(
            f"| `{entry.file}` | {f'<{entry.iri}>' if entry.iri else 'default graph'} | {entry.triples:,} | "
            f"{'yes' if entry.included else 'no'} | {f'`{entry.command}`' if entry.command else 'given as files'} |"
            for entry in entries
        ),
        "",
    ]
    if absent:
        lines += [
            "Data that is not included is generated by `rejudge`, which checks its rows by their checksum.",
            "",
        ]
    lines += [
        "Paths and names of the machine are cut off in messages and names of engines. Cases of the functional suite "
        "and highest rates are published as they were recorded; they have no stored answers to judge again.",
        "",
    ]
    return "\n".join(lines)

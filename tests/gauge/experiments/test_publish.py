"""Publishing a run: the folder is complete, names no machine, moves, and is judged again with the same verdicts."""

from __future__ import annotations

import csv
import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from hydrograph.errors import DataError, RunError, UsageError
from hydrograph_gauge.cli.bench import command
from hydrograph_gauge.experiments.machine_names import MachineNames
from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.paper_tables import escape_latex, latex_table, write_csv_and_latex
from hydrograph_gauge.experiments.provenance import read_tests
from hydrograph_gauge.experiments.publish import publish_run
from hydrograph_gauge.experiments.published_data import (
    DataRecipe,
    checksum_rows,
    find_recipe,
    list_parquet,
    publish_data,
    read_published_data,
)
from hydrograph_gauge.experiments.rejudge import rejudge_published, write_checksums
from hydrograph_gauge.experiments.run import run_experiment
from hydrograph_gauge.experiments.run_folder import list_played, read_played
from hydrograph_gauge.run_records import OutcomeRecord, read_records
from tests.support import gauge_runs
from tests.support.gauge_runs import STREAM

EXPERIMENT = """
title = "Small"
engines = ["oxigraph", "program:ENGINE"]
seed = 5
[world.streams]
"urn:stream" = "stream.tnt"
[world.static]
default = "static.nt"
[queries.texts]
all = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s] { WINDOW <urn:w> { ?s <urn:p> ?o } }"
"""
WRONG = """
import json, subprocess, sys
engine = subprocess.Popen([sys.executable, "-m", "hydrograph_gauge.engines.oxigraph", "incremental"],
                          stdin=sys.stdin, stdout=subprocess.PIPE)
for line in engine.stdout:
    reply = json.loads(line)
    if reply["reply"] == "answer":
        reply["rows"] = reply["rows"][1:]
    print(json.dumps(reply), flush=True)
print(f"died in {__file__}", file=sys.stderr)
"""
"""An engine that loses a row of every answer."""


ALONE = RunOptions(processes=1)


def bench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)])


def write_page(_: Path, page: Path) -> None:
    page.write_text("page")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of a right engine and of a wrong one that lies in a folder of this machine."""
    folder = tmp_path_factory.mktemp("publish")
    (folder / "stream.tnt").write_text(STREAM)
    (folder / "static.nt").write_text("<urn:a> <urn:b> <urn:c> .\n")
    (folder / "wrong.py").write_text(WRONG)
    (folder / "small.toml").write_text(EXPERIMENT.replace("ENGINE", f"{sys.executable} {folder / 'wrong.py'}"))
    run_experiment(read_experiment(str(folder / "small.toml")), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def published(run: Path) -> Path:
    target = run.parent / "published"
    done = bench("publish", run, "--to", target, "--quiet")
    assert done.exit_code == 0, done.output
    assert done.output == f"published 2 runs, 2 verdicts to {target}\n"
    return target


@pytest.fixture
def copy(published: Path, tmp_path: Path) -> Path:
    """Return a copy that may be changed."""
    return Path(shutil.copytree(published, tmp_path / "copy"))


def test_a_moved_copy_gives_the_same_verdicts_without_an_engine(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "another machine"
    shutil.copytree(published, elsewhere)
    hidden = published.with_name("hidden")
    published.rename(hidden)
    (published.parent / "run").rename(published.parent / "gone")  # nothing of the run is read
    monkeypatch.setattr("hydrograph_gauge.experiments.play.run_session", None)
    monkeypatch.chdir(tmp_path)
    try:
        done = bench("rejudge", "another machine", "--quiet")
    finally:
        hidden.rename(published)
        (published.parent / "gone").rename(published.parent / "run")
    assert done.output == "rejudged: 2 queries, 10 windows, 0 differences\n"
    assert done.exit_code == 0


def test_the_verdicts_are_those_of_the_run(run: Path, published: Path) -> None:
    def verdicts(folder: Path) -> list[tuple[str, str, int, tuple[str, ...]]]:
        found = [each for each in read_records(folder) if isinstance(each, OutcomeRecord)]
        return sorted((each.key.query, each.verdict, each.missing, each.faults) for each in found)

    assert verdicts(published) == verdicts(run)
    assert [verdict for _, verdict, _, _ in verdicts(published)] == ["ok", "wrong"]


def test_every_file_is_explained_and_has_a_checksum(published: Path) -> None:
    files = {file.relative_to(published).as_posix() for file in published.rglob("*") if file.is_file()}
    sums = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=published, capture_output=True, check=False)
    assert sums.returncode == 0
    assert len(sums.stdout.splitlines()) == len(files) - 1
    explained = re.findall(r"^\| `([^`]+)` \| (?!<)", (published / "README.md").read_text(), re.MULTILINE)
    patterns = [re.escape(name).replace(r"\*", ".*") for name in explained]
    patterns = [re.sub("<[a-z]+>", "[^/]+", name) + (".*" if name.endswith("/") else "(/.*)?") for name in patterns]
    assert [name for name in sorted(files) if not any(re.fullmatch(each, name) for each in patterns)] == []
    assert {"run.json", "experiment.json", "commands.txt", "report.html", "data/data.json"} <= files
    assert (published / "queries/small/all.rq").read_text().startswith("SELECT ?s ?o")
    assert {"all.rq", "all.oxigraph.txt"} < {file.name for file in (published / "queries/small").iterdir()}


def test_nothing_names_the_machine(run: Path, published: Path) -> None:
    private = [str(run.parent), str(Path.home()), sys.prefix, platform.node()]
    for file in published.rglob("*"):
        text = file.read_bytes() if file.is_file() else b""
        assert [name for name in private if name.encode() in text] == [], file
    name = f"program:{Path(sys.executable).name} wrong.py"
    assert {read_played(place).engine for place in list_played(published)} == {"oxigraph", name}
    assert json.loads((published / "run.json").read_text())["machine"].keys() >= {"cores", "memory_gib", "system"}


def test_a_changed_answer_a_changed_verdict_and_a_lost_file_are_listed(copy: Path) -> None:
    results = copy / "results.jsonl"
    results.write_text(results.read_text().replace('"verdict":"wrong"', '"verdict":"ok"'))
    done = bench("rejudge", copy, "--quiet")
    assert done.exit_code == 1
    first, second, last = done.output.splitlines()
    assert first == "results.jsonl: the file was changed, its SHA-256 is not that of SHA256SUMS"
    assert "wrong.py, all: published ok, " in second
    assert ", now wrong, " in second
    assert last == "rejudged: 2 queries, 10 windows, 2 differences"
    (copy / "report.html").unlink()
    (copy / "more.txt").write_text("")
    assert list(rejudge_published(copy, ALONE).differences[:2]) == [
        "report.html: the file is gone",
        "more.txt: the file was not published",
    ]


def test_other_answers_give_other_verdicts_although_checksums_hold(copy: Path) -> None:
    wrong, right = sorted(list_played(copy), key=lambda place: "oxigraph" in place.name)
    shutil.copyfile(wrong / "answers.parquet", right / "answers.parquet")
    write_checksums(copy)
    found = rejudge_published(copy, ALONE).differences
    assert any(line.startswith("small, oxigraph, all: published ok, now wrong, ") for line in found)
    assert any("oxigraph, all, window at 2000 ms: published 4 rows for 4" in line for line in found)


def test_other_data_is_noticed(copy: Path) -> None:
    (stream,) = [entry for entry in read_published_data(copy) if entry.kind == "stream"]
    (part,) = list_parquet(copy / stream.file)
    rows = pq.read_table(part)
    pq.write_table(rows.slice(0, rows.num_rows - 1), part)
    write_checksums(copy)
    done = rejudge_published(copy, ALONE)
    assert done.queries == 0
    assert [line.partition(" 19 ")[0] for line in done.differences] == [f"{stream.file}: rows have the checksum"]


def test_a_folder_without_a_published_run_is_refused(run: Path, published: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no published run: expected SHA256SUMS"):
        rejudge_published(run, ALONE)
    with pytest.raises(UsageError, match="is not an empty folder: choose another folder with --to"):
        publish_run(run, published, ALONE, write_page)
    with pytest.raises(DataError, match="holds no run"):
        publish_run(tmp_path, tmp_path / "to", ALONE, write_page)


def test_verdicts_of_another_judge_are_not_published(run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    results = folder / "results.jsonl"
    results.write_text(results.read_text().replace('"verdict":"wrong"', '"verdict":"ok"'))
    with pytest.raises(RunError, match=r"judged again, do not give its verdicts.* published ok, .* now wrong"):
        publish_run(folder, tmp_path / "to", ALONE, write_page)
    assert not (tmp_path / "to").exists()
    assert list(tmp_path.iterdir()) == [folder]


def test_every_setting_of_the_tests_is_published(published: Path) -> None:
    (test,) = read_tests(published)
    assert (test.name, test.seed, test.engines[0]) == ("small", 5, "oxigraph")
    assert dict(test.world.streams) == {"urn:stream": read_published_data(published)[0].file}


def test_large_generated_data_is_described_and_given_data_is_copied(run: Path, tmp_path: Path) -> None:
    record = read_played(list_played(run)[0])
    world = (
        read_experiment("rooms")
        .tests[0]
        .world.model_copy(
            update={"name": "sensors", "streams": {}, "static": {}, "settings": {"stations": 3, "duration": "9s"}}
        )
    )
    recipe = find_recipe(world, 7)
    assert recipe is not None
    assert recipe.command == "hydrograph generate sensors DIR --seed=7 --stations=3 --duration=9s"
    for largest, known, included in ((0, recipe, False), (1, recipe, True), (0, None, True)):
        target = tmp_path / f"{largest} {included} {known is None}"
        target.mkdir()
        entries, _ = publish_data([(record, known)], target, largest)
        assert {entry.included for entry in entries} == {included}
        assert [(target / entry.file).exists() for entry in entries] == [included] * 2
    assert entries[0].checksum == checksum_rows(Path(record.streams["urn:stream"]), "stream")[1]


def test_tables_hold_every_record_and_any_text(tmp_path: Path) -> None:
    folder = gauge_runs.write(tmp_path / "run", gauge_runs.origin(), gauge_runs.hostile_records())
    files = {file.name: file for file in write_csv_and_latex(folder)}
    assert {"outcome.csv", "window.csv", "verdicts.tex", "windows.tex", "functional.tex", "tables.tex"} <= files.keys()
    with files["outcome.csv"].open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["words"] for row in rows] == [*gauge_runs.HOSTILE]
    for name, file in files.items():
        if name.endswith(".tex"):
            assert unescaped(file.read_text()) == [], name


def unescaped(text: str) -> list[str]:
    """Return what LaTeX would not compile: characters outside of ASCII, special ones, unbalanced braces."""
    assert text.isascii()
    wrong = []
    for line in text.splitlines():
        plain = re.sub(r"\\(?:[{}$&#%_]|\\)", "", line.partition("% Prints")[0])  # escaped characters and line ends
        if plain.startswith((r"\begin", r"\end", r"\input", r"\caption", r"\documentclass")) or " & " in plain:
            plain = plain.replace(" & ", " ")
        plain = plain.replace(r"$\times$", "").replace(r"$\mu$", "")
        depth = 0
        for letter in plain:
            depth += (letter == "{") - (letter == "}")
            assert depth >= 0, line
        if depth or re.search(r"[#%&$_^~]", re.sub(r"\\[\"'`^~=.]\{", "{", plain)):
            wrong.append(line)
    return wrong


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b & 50% #1 {x} $y", r"a\_b \& 50\% \#1 \{x\} \$y"),
        ("C:\\x ~ ^", r"C:\textbackslash{}x \textasciitilde{} \textasciicircum{}"),
        ("naïve café, Łódź", "na\\\"{\\i}ve caf\\'{e}, U+0141\\'{o}d\\'{z}"),
        ("--- \u2013 \u2603 \u202e", "{-}{-}{-} -- U+2603 U+202E"),
        ("two\nlines\t!", "two lines !"),
        ('say "x"', "say ''x''"),
    ],
)
def test_text_is_escaped_for_latex(text: str, escaped: str) -> None:
    assert escape_latex(text) == escaped


def test_a_row_of_a_table_has_a_cell_for_each_column() -> None:
    text = latex_table("A & B", ["a", "b"], [["x", 1.5], ["y_1", None]], [1])
    assert r"\begin{tabular}{lr}" in text
    assert "x & 1.5 \\\\" in text
    assert "y\\_1 & {-}{-} \\\\" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
def test_latex_compiles_the_tables(tmp_path: Path) -> None:
    folder = gauge_runs.write(tmp_path / "run", gauge_runs.origin(), gauge_runs.hostile_records())
    write_csv_and_latex(folder)
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=folder / "tables",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:]


def test_queries_and_data_keep_what_looks_like_a_path() -> None:
    names = MachineNames({"/home/ann": "HOME"}, {"csparql:/opt/jars": "csparql:jars"}, "box7")
    record = {"engine": "csparql:/opt/jars", "words": "at /opt/jars/x.jar on box7", "triples": ["<file:///a/b> box7"]}
    assert names.strip_json(record) == {
        "engine": "csparql:jars",
        "words": "at x.jar on HOST",
        "triples": ["<file:///a/b> box7"],
    }


def test_described_data_is_read_where_it_lies_while_publishing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = DataRecipe(world="sensors", settings={"stations": 3}, seed=7)
    monkeypatch.setattr("hydrograph_gauge.experiments.publish.find_recipe", lambda *_: recipe)
    monkeypatch.setattr("hydrograph_gauge.experiments.published_data.prepare_data", None)  # nothing is generated
    done = publish_run(run, tmp_path / "to", ALONE, write_page, largest=0)
    assert [entry.included for entry in done.data] == [False, False]
    assert [file.name for file in (tmp_path / "to" / "data").iterdir()] == ["data.json"]
    assert recipe.command in (tmp_path / "to" / "commands.txt").read_text()

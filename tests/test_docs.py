"""Documentation checks: every command is run, every example evaluated, every link followed.

Commands are in `console` blocks after a `$`, followed by their output. They are run in order, page by page, in a copy
of `examples`. `HYDROGRAPH_GOLDEN=1` writes the output into the pages instead of comparing.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from hydrograph.cli.main import COMMANDS, main
from hydrograph.runtime.result_formats import FORMATS as RESULTS
from hydrograph.streams.format_registry import ENDINGS
from hydrograph.windows.profile import PRESETS

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
)
GOLDEN = os.environ.get("HYDROGRAPH_GOLDEN") == "1"
_BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SECONDS = re.compile(r"[0-9]+\.[0-9] seconds")


def blocks(page: Path, kind: str) -> list[str]:
    return [text for found, text in _BLOCK.findall(page.read_text("utf-8")) if found == kind]


def commands(block: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with its documented output."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    assert parts[0] == "", "a console block starts with a command"
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "examples"))


def printed(command: str, directory: Path) -> str:
    """Return the output of a command; our own run in this process if they need no shell, which is faster."""
    columns, _, rest = command.rpartition(" hydrograph ") if command.startswith("COLUMNS=") else ("", "", command)
    if not set(command) & set("|;<>&()$`") and command.startswith(("hydrograph ", "COLUMNS=")):
        return here(shlex.split(rest.removeprefix("hydrograph ")), directory, columns.removeprefix("COLUMNS="))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        command,
        shell=True,
        cwd=directory,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.stdout


def here(arguments: list[str], directory: Path, columns: str) -> str:
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
        patch.chdir(directory)
        patch.setenv("COLUMNS", columns or "100")
        main(arguments)
    return out.buffer.getvalue().decode()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name)
def test_commands(page: Path, examples: Path) -> None:
    text = page.read_text("utf-8")
    for block in blocks(page, "console"):
        outcome = ""
        for command, said in commands(block):
            found = _SECONDS.sub("0.1 seconds", printed(command, examples)).replace(f"{examples.resolve()}/", "")
            outcome += f"$ {command}\n{found}"
            if not GOLDEN:
                assert found == said, command
        text = text.replace(f"```console\n{block}```", f"```console\n{outcome}```")
    if GOLDEN:
        page.write_text(text, "utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "pycon")], ids=lambda page: page.name)
def test_python(page: Path, examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(examples)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page.name, str(page), 0)
    assert test.examples
    problems: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=problems.append)
    assert "".join(problems) == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    for link in _LINK.findall(page.read_text("utf-8")):
        if not link.startswith(("http://", "https://", "#")):
            assert (page.parent / link.partition("#")[0]).exists(), link


LONG = ("generate", "demo")
"""Commands that take a minute on Spark: the tour mentions them without a console block."""


def test_the_tour_shows_every_command() -> None:
    text = (ROOT / "docs" / "tour.md").read_text("utf-8")
    shown = "\n".join(blocks(ROOT / "docs" / "tour.md", "console"))
    assert [name for name in COMMANDS if f"hydrograph {name}" not in shown and name not in LONG] == []
    assert [name for name in LONG if f"{name}`" not in text and f"hydrograph {name}" not in text] == []


def test_every_format_and_preset_is_described() -> None:
    formats = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert [name for name in (*ENDINGS, *RESULTS) if f"`{name}`" not in formats] == []
    assert [ending for endings in ENDINGS.values() for ending in endings if f"`{ending}`" not in formats] == []
    semantics = (ROOT / "docs" / "semantics.md").read_text("utf-8")
    assert [name for name in PRESETS if f"`{name}`" not in semantics] == []

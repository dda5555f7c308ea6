"""One vocabulary: words that this project avoids do not appear, and one class name denotes one class."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

AVOIDED = re.compile(
    r"\b(whoever|nobody|somebody|anew|work(?:s|ed|ing)? off|go(?:es|ing)? on|went on|mend(?:s|ed|ing)?|what has come"
    r"|lets? expect|can not|habits?|stands|says)\b",
    re.IGNORECASE,
)
"""Words and phrases that a stream-processing engineer would not write here; docs/glossary.md has those to use."""


FOLDERS = ("src", "tests", "docs", "examples", ".ci", ".github")
SUFFIXES = {".py", ".md", ".toml", ".js", ".css", ".html", ".yml", ""}

EXEMPT = {
    Path("tests/test_vocabulary.py"),
}


def texts() -> Iterator[Path]:
    """Yield the files that people read, relative to the root."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)
    yield from (path.relative_to(ROOT) for path in sorted(ROOT.glob("*.md")))
    yield Path("Makefile")


def avoided(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield line number and word of each avoided word in a text.

    >>> list(avoided("one\nnobody stands here"))
    [(2, 'nobody'), (2, 'stands')]
    """
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, match.group(1)) for match in AVOIDED.finditer(line))


def test_avoided_words_do_not_appear() -> None:
    hits = [
        f"{path}:{line}: {word}"
        for path in texts()
        if path not in EXEMPT
        for line, word in avoided((ROOT / path).read_text("utf-8", errors="replace"))
    ]
    assert hits == []


def class_names(package: Path) -> dict[str, list[str]]:
    """Return the modules that define a public class, by its name."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(path.relative_to(package)))
    return modules


@pytest.mark.parametrize("package", ["hydrograph", "hydrograph_gauge"])
def test_a_class_name_denotes_one_class(package: str) -> None:
    repeated = {name: modules for name, modules in class_names(ROOT / "src" / package).items() if len(modules) > 1}
    assert repeated == {}

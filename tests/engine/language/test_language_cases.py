"""The case files of `tests/cases/language`: a query text and its algebra, or the error it meets.

A file dropped there is a test; `HYDROGRAPH_GOLDEN=1` writes what comes out into the files instead of comparing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from hydrograph.algebra import sse
from hydrograph.errors import HydrographError
from hydrograph.language import parse, print_query

CASES = Path(__file__).parents[2] / "cases" / "language"
GOLDEN = os.environ.get("HYDROGRAPH_GOLDEN") == "1"
PREFIXES = "PREFIX : <http://ex.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"

_CASE = re.compile(r"^# (?P<title>.*)\n--- query ?(?P<dialect>\w*)\n", re.MULTILINE)
_EXPECTED = re.compile(r"^--- (?:algebra|error)\n", re.MULTILINE)


class Case(NamedTuple):
    """One case of a file."""

    title: str
    dialect: str
    query: str
    expected: str

    def outcome(self) -> str:
        """Return what parsing gives now, in the form of the files; a case without PREFIX gets the usual ones."""
        try:
            query = parse(self.text(), self.dialect or None)
        except HydrographError as error:
            return f"--- error\n{error}\n"
        return f"--- algebra\n{sse.print_query(query)}\n"

    def text(self) -> str:
        """Return the query with its prefixes, which stand behind it in no line of their own."""
        return self.query if re.search("PREFIX|BASE", self.query) else PREFIXES + self.query

    def __str__(self) -> str:
        """Return the case in the format of its file."""
        return f"# {self.title}\n--- query{' ' * bool(self.dialect)}{self.dialect}\n{self.query}{self.expected}"


def read(file: Path) -> list[Case]:
    """Return the cases of a file."""
    text = file.read_text(encoding="utf-8")
    starts = [*_CASE.finditer(text)]
    ends = [start.start() for start in starts[1:]] + [len(text)]
    cases = []
    for start, end in zip(starts, ends, strict=True):
        body = text[start.end() : end].rstrip("\n") + "\n"
        expected = _EXPECTED.search(body)
        split = expected.start() if expected else len(body)
        cases.append(Case(start["title"], start["dialect"], body[:split], body[split:]))
    return cases


FILES = sorted(CASES.glob("*.test"))


@pytest.mark.skipif(not GOLDEN, reason="writes the case files only where HYDROGRAPH_GOLDEN=1")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_write_the_golden_files(file: Path) -> None:
    written = [str(case._replace(expected=case.outcome())) for case in read(file)]
    file.write_text("\n".join(written), encoding="utf-8")


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{file.stem}: {case.title}") for file in FILES for case in read(file)]
)
def test_case(case: Case) -> None:
    if GOLDEN:
        pytest.skip("the case files are being written")
    assert case.outcome() == case.expected


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{file.stem}: {case.title}") for file in FILES for case in read(file)]
)
def test_what_is_printed_parses_to_the_same_algebra(case: Case) -> None:
    try:
        query = parse(case.text(), case.dialect or None)
    except HydrographError:
        return
    assert parse(print_query(query)) == query

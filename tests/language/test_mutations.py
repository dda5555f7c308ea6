"""Broken texts are refused with a position, or read; nothing else ever comes out."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from hydrograph.errors import HydrographError, SyntaxQueryError
from hydrograph.language import parse, print_query

CASES = Path(__file__).parents[1] / "cases" / "language"
PREFIXES = "PREFIX : <http://ex.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
ODD = [
    "\u202e",
    "\x00",
    "\ufeff",
    "9" * 400,
    "\ud800",
    "é",
    "\\u0041",
    "\\",
    '"""',
    "'",
    "<",
    "1e999999",
    "_:",
    "?",
    "@en",
]
COUNT = 2_000


def texts() -> list[str]:
    """Return the queries of the case files."""
    found: list[str] = []
    for file in sorted(CASES.glob("*.test")):
        queries = re.findall(r"^--- query.*\n((?:(?!--- ).*\n)*)", file.read_text(encoding="utf-8"), re.MULTILINE)
        found += [query if "PREFIX" in query else PREFIXES + query for query in queries]
    return found


def mutate(text: str, others: list[str], draw: random.Random) -> str:
    """Return `text` with one to four changes to its words."""
    words = re.findall(r"\s+|\w+|.", text)
    for _ in range(draw.randint(1, 4)):
        at, other = draw.randrange(len(words)), draw.randrange(len(words))
        match draw.randrange(8):
            case 0 if len(words) > 1:
                del words[at]
            case 1:
                words.insert(at, words[at])
            case 2:
                words[at], words[other] = words[other], words[at]
            case 3:
                donor = re.findall(r"\s+|\w+|.", draw.choice(others))
                start = draw.randrange(len(donor))
                words[at:at] = donor[start : start + draw.randint(1, 12)]
            case 4:
                words[at] = words[at].swapcase()
            case 5:
                words.insert(at, draw.choice(ODD))
            case 6:
                words[at] = words[at] + draw.choice(ODD)
            case _:
                del words[min(at, other) : max(at, other)]
                words = words or [" "]
    return "".join(words)


def check(error: HydrographError, text: str) -> None:
    """Every error has a position, but for the limits."""
    if isinstance(error, SyntaxQueryError):
        assert 0 <= error.offset <= len(text)
        assert str(error).startswith(f"line {error.line}, column {error.column}: ")
    else:
        assert " may " in str(error)


@pytest.mark.parametrize("seed", range(4))
def test_mutations(seed: int) -> None:
    draw = random.Random(seed)
    known = texts()
    accepted = 0
    for _ in range(COUNT // 4):
        text = mutate(draw.choice(known), known, draw)
        try:
            query = parse(text)
        except HydrographError as refused:
            check(refused, text)
        else:
            accepted += 1
            assert parse(print_query(query)) == query
    assert 0 < accepted < COUNT // 4

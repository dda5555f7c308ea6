"""Broken texts are refused with a position, or read; nothing else ever comes out."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from hydrograph.errors import HydrographError, SyntaxQueryError
from hydrograph.language import DIALECTS, parse, print_query
from hydrograph.language.window_views import lift_filters

CASES = Path(__file__).parents[2] / "cases" / "language"
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


WORDS = [
    "STREAM",
    "WINDOW",
    "RANGE",
    "STEP",
    "SLIDE",
    "NOW",
    "TRIPLES",
    "FROM",
    "REGISTER",
    "AS",
    "10",
    "[",
    "]",
    "{",
    "-",
]


def texts() -> list[str]:
    """Return the queries of the case files that are right."""
    found: list[str] = []
    for file in sorted(CASES.glob("*.test")):
        queries = re.findall(r"^--- query.*\n((?:(?!--- ).*\n)*)", file.read_text(encoding="utf-8"), re.MULTILINE)
        found += [query if "PREFIX" in query else PREFIXES + query for query in queries]
    return [text for text in found if is_right(text)]


def is_right(text: str) -> bool:
    """Tell whether a text is read."""
    try:
        parse(text)
    except HydrographError:
        return False
    return True


def mutate(text: str, others: list[str], draw: random.Random) -> str:
    """Return `text` with one to four changes to its words, mostly one."""
    words = re.findall(r"\s+|\w+|.", text)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at, other = draw.randrange(len(words)), draw.randrange(len(words))
        match draw.randrange(10):
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
            case 7:
                letter = draw.randrange(len(words[at]))
                words[at] = words[at][:letter] + draw.choice(("", "x", "1", " ", "?")) + words[at][letter + 1 :]
            case 8:
                words[at] = draw.choice(WORDS)
            case _:
                del words[min(at, other) : max(at, other)]
                words = words or [" "]
    return "".join(words)


def check(error: HydrographError, text: str) -> None:
    """Every error has a position."""
    assert isinstance(error, SyntaxQueryError)
    assert 0 <= error.offset <= len(text)
    assert str(error).startswith(f"line {error.line}, column {error.column}: ")


def run(seeds: range) -> None:
    """Mutate one text for each seed; some must be read, some refused, none may crash or take a second."""
    known = texts()
    accepted = refused = 0
    for seed in seeds:
        draw = random.Random(seed)
        dialect = draw.choice(list(DIALECTS)) if draw.random() < 0.2 else None
        text = mutate(draw.choice(known), known, draw)
        start = time.process_time()
        try:
            query = parse(text, dialect)
        except HydrographError as error:
            refused += 1
            check(error, text)
        else:
            accepted += 1
            assert parse(print_query(query)) == query, f"seed {seed}"
            if dialect is not None:
                again = parse(print_query(query, dialect), dialect)
                # CQELS 1.x ignores a filter inside of STREAM, so it is printed behind it.
                assert again == (lift_filters(query) if dialect == "cqels" else query), f"seed {seed}"
        assert time.process_time() - start < 1, f"seed {seed}"
    assert accepted > len(seeds) // 10
    assert refused > len(seeds) // 2


@pytest.mark.parametrize("part", [0, 1, 7, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 4, 5, 6, 8, 9))])
def test_ten_thousand_mutations(part: int) -> None:
    run(range(part * 1000, part * 1000 + 1000))

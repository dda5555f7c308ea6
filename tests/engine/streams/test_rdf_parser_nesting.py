"""What is nested deeper than anybody writes is refused before a parser sees it, and nothing else is."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.errors import DataError
from hydrograph.streams.rdf_parsers import (
    DEEPEST,
    DEEPEST_TRIPLE_TERM,
    JSON_BRACKETS,
    JSON_LD,
    PIECE,
    TRIG,
    TURTLE_BRACKETS,
    Nesting,
    NestingGuard,
    check_nesting,
    quads,
)
from hydrograph.streams.rdf_parsers import TURTLE as TURTLE_SYNTAX
from hydrograph.streams.static_graphs import read_static

NO_BRACKETS = (
    '"[(("', "'{[<<'", '""', "''", r'"\"["', r'"\\"', r"'\\\'['", '"""[\n"[" ""( \\""""', "'''(\n'[' ''{ \\''''",
    '"""\\\\"""', "<urn:a>", "<>", "<urn:a#%28>", "# [[ \" ' \"\"\" <\n", "# (((\r", "#\n",
    r"ex:it\'s\#\(x", "ex:a", " ", "\n", "\r\n", ";", "^^<urn:d>", "@en", "12.5", "_:b", "'é漢'",
)  # fmt: skip
"""Tokens of Turtle in which brackets, quotes and signs of comments say nothing."""
BRACKETS = {"[": 1, "(": 1, "{": 1, "<<": 1, "]": -1, ")": -1, "}": -1, ">>": -1}


def added(nesting: Nesting, data: bytes, cuts: list[int]) -> Nesting:
    ends = sorted(cut % (len(data) + 1) for cut in cuts)
    for start, end in zip([0, *ends], [*ends, len(data)], strict=True):
        nesting.add(data[start:end])
    return nesting


@given(
    tokens=st.lists(st.one_of(st.sampled_from(NO_BRACKETS), st.sampled_from(sorted(BRACKETS))), max_size=40),
    cuts=st.lists(st.integers(0, 10**6), max_size=30),
)
def test_only_brackets_count_wherever_a_text_is_cut(tokens: list[str], cuts: list[int]) -> None:
    depth, terms, text = 0, 0, " "
    for token in tokens:
        step = BRACKETS.get(token, 0)
        if depth + step < 0 or (len(token) == 2 and step and not 0 <= terms + step <= DEEPEST_TRIPLE_TERM):
            continue
        depth += step
        terms += step if token in ("<<", ">>") else 0
        text += f"{token} "
    nesting = added(Nesting(TURTLE_BRACKETS), text.encode(), cuts)
    assert (nesting.depth, nesting.triple_terms) == (depth, terms)


@given(
    tokens=st.lists(
        st.sampled_from(['"["', r'"\"{"', r'"\\"', '""', "1", ",", ":", "\n", "{", "[", "]", "}"]), max_size=40
    ),
    cuts=st.lists(st.integers(0, 10**6), max_size=30),
)
def test_only_brackets_count_in_json_too(tokens: list[str], cuts: list[int]) -> None:
    depth, text = 0, ""
    for token in tokens:
        if depth + BRACKETS.get(token, 0) >= 0:
            depth += BRACKETS.get(token, 0)
            text += token
    assert added(Nesting(JSON_BRACKETS), text.encode(), cuts).depth == depth


def nested(start: str, inside: str, end: str, depth: int) -> bytes:
    return f"<urn:a> <urn:b> {start * depth}{inside}{end * depth} .".encode()


@pytest.mark.parametrize(
    ("start", "inside", "end"), [("[ <urn:p> ", "1", "]"), ("(", "1", ")"), ("[<urn:p>(", "1", ")]")]
)
def test_what_people_write_is_read_and_what_goes_deeper_is_not(start: str, inside: str, end: str) -> None:
    most = DEEPEST // (2 if "(" in start[1:] else 1)
    for syntax in (TURTLE_SYNTAX, TRIG):
        assert list(quads(nested(start, inside, end, most), syntax))
        for source in (nested(start, inside, end, most + 1), io.BytesIO(nested(start, inside, end, 100_000))):
            with pytest.raises(DataError, match="expected brackets at most 100 deep"):
                list(quads(source, syntax))


def test_documents_of_json_too() -> None:
    def document(depth: int) -> bytes:
        return b'{"@id":"urn:a","urn:b":' * depth + b"1" + b"}" * depth

    assert len(list(quads(document(DEEPEST), JSON_LD))) == DEEPEST
    for deep in (document(DEEPEST + 1), b"[" * 100_000, b'{"a":' * 12_000 + b"1" + b"}" * 12_000):
        with pytest.raises(DataError, match="expected brackets at most 100 deep"):
            list(quads(deep, JSON_LD))
        with pytest.raises(DataError, match="expected brackets at most 100 deep"):
            list(quads(io.BytesIO(deep), JSON_LD))


DEEP = "import sys; from hydrograph.streams.static_graphs import read_static; read_static(sys.argv[1])"


@pytest.mark.parametrize("name", ["g.ttl", "g.trig", "g.nt", "g.nq"])
@pytest.mark.parametrize("space", [" ", ""])
def test_deep_triple_terms_do_not_end_the_process(tmp_path: Path, name: str, space: str) -> None:
    start = f"<<({space}<urn:a>{space}<urn:b>{space}"
    (tmp_path / name).write_bytes(nested(start, "<urn:c>", f"{space})>>", 30_000))
    done = subprocess.run([sys.executable, "-c", DEEP, str(tmp_path / name)], capture_output=True, check=False)
    assert done.returncode == 1  # and no signal
    assert f"{name}: expected triple terms at most 8 deep" in done.stderr.decode()


def test_a_triple_term_that_is_not_deep_is_refused_for_what_it_is() -> None:
    with pytest.raises(DataError, match="got the triple term"):
        list(quads(nested("<<( <urn:a> <urn:b> ", "<urn:c>", ")>>", DEEPEST_TRIPLE_TERM), TURTLE_SYNTAX))


def test_brackets_in_strings_and_comments_of_a_whole_file_do_not_add_up(tmp_path: Path) -> None:
    text = "".join(f'<urn:s{n}> <urn:p> ":-(" , """({{\n[["""@en ; <urn:q> [ ] , ( ) . # :-( <<\n' for n in range(5000))
    (tmp_path / "g.ttl").write_text(text)
    assert len(text) > 4 * PIECE
    assert read_static(str(tmp_path / "g.ttl")).num_rows == 4 * 5000


def test_text_without_brackets_is_hardly_looked_at() -> None:
    """Only the line in which a piece ends is taken apart: the rest would cost a tenth of the parsing."""

    class Counting:
        """Counts what a pattern is given to look at."""

        looked = 0

        def findall(self, data: bytes, at: int) -> list[bytes]:
            self.looked += len(data) - at
            return TURTLE_BRACKETS.token.findall(data, at)

    counting = Counting()
    grammar = type(TURTLE_BRACKETS)(counting, TURTLE_BRACKETS.insides, TURTLE_BRACKETS.across_lines)  # type: ignore[arg-type]
    data = b'<urn:s> <urn:p> "a" , "b"@en , <urn:o> . # (no bracket)\n'.replace(b"(", b"").replace(b")", b"") * 20_000
    check_nesting(data, grammar)
    assert counting.looked < len(data) / 100


def test_a_guard_gives_what_it_is_given(tmp_path: Path) -> None:
    data = bytes(range(256)).replace(b"<", b"").replace(b"[", b"") * 1000
    guarded = NestingGuard(io.BytesIO(data), Nesting(TURTLE_BRACKETS))
    parts = [*iter(lambda: guarded.read(2040), b"")]
    assert b"".join(parts) == data
    assert max(map(len, parts)) <= 2040
    assert NestingGuard(io.BytesIO(b"abc"), Nesting(TURTLE_BRACKETS)).read() == b"abc"

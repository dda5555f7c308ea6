"""A line or an element that never ends is refused, costs no more than its limit, and does not hide what follows."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest

from hydrograph.errors import DataError
from hydrograph.streams import files as lines
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.elements import Broken, ElementPiece, File
from hydrograph.streams.event_time import GENERATED, EventTime
from hydrograph.streams.files import Overlong, number_lines
from hydrograph.streams.format_registry import format_named
from hydrograph.streams.formats import jelly, messages, tnt, turtle
from hydrograph.streams.sources import events_as_arrow, open_stream

LIMIT = 1000
LONG = "x" * (3 * LIMIT)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lines, messages, turtle, jelly):
        monkeypatch.setattr(module, "ELEMENT_LIMIT", LIMIT)


def test_of_a_line_that_is_too_long_the_beginning_is_left() -> None:
    whole = "y" * (LIMIT - 1) + "\n"
    text = io.StringIO(f"a\n{LONG}\n{whole}{whole[1:]}{LONG}{LONG}\nb")
    found = [*number_lines(text)]
    assert [number for number, _ in found] == [1, 2, 3, 4, 5, 6]
    assert [line for _, line in found if isinstance(line, str)] == ["a\n", whole, whole[1:], "b"]
    assert found[1][1] == found[4][1] == Overlong("x" * lines.SHOWN)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines_are_what_they_were(end: str) -> None:
    raw = io.BytesIO(f"a{end}{LONG}{end}{end}b{end}".encode("utf-8-sig"))
    file = File("x.nq", cast("IO[bytes]", raw), EventTime())
    assert [line if isinstance(line, str) else "..." for _, line in file.lines()] == ["a\n", "...", "\n", "b\n"]


def test_a_line_that_is_too_long_is_told_before_its_end_has_come() -> None:
    text = io.StringIO(f"{LONG}\nb")
    found = number_lines(text)
    assert next(found) == (1, Overlong("x" * lines.SHOWN))
    assert text.tell() < len(LONG)
    assert [*found] == [(2, "b")]


class Endless(io.RawIOBase):
    """The same for ever, or until it was given often enough."""

    def __init__(self, beginning: bytes, most: int) -> None:
        """Begin."""
        self.beginning, self.left = beginning, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = (self.beginning or b"x" * min(self.left, len(buffer)))[: len(buffer)]
        self.left -= 0 if self.beginning else len(data)
        self.beginning = self.beginning[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def test_memory_does_not_grow_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "ELEMENT_LIMIT", 1 << 20)
    text = io.TextIOWrapper(cast("IO[bytes]", Endless(b"", 16 << 20)), "utf-8")
    tracemalloc.start()
    try:
        assert [number for number, _ in number_lines(text)] == [1]
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def line_of(name: str, t: int, o: str) -> str:
    match name:
        case "tnt":
            return f"{t}\t<urn:s> <urn:p> {o} .\n"
        case "nquads":
            return f'<urn:g{t}> {GENERATED} "{t}" .\n<urn:s> <urn:p> {o} <urn:g{t}> .\n'
        case "ndjsonld":
            value = o.strip('"<>')
            return f'{{"@id":"urn:s","{GENERATED[1:-1]}":"{t}","urn:p":{{"@value":"{value}"}}}}\n'
        case "yabench":
            return f'<urn:s> <urn:p> {o} "{t}" .\n'
        case _:
            return f"urn:s\turn:p\t{o.strip('<>')}\t{t}\n"


NAMES = ["tnt", "nquads", "ndjsonld", "yabench", "watdiv"]


@pytest.mark.parametrize("name", NAMES)
def test_what_follows_a_line_that_is_too_long_is_read(tmp_path: Path, name: str) -> None:
    ending = "tnt" if name == "tnt" else format_named(name).endings[0].removeprefix(".")
    file = tmp_path / f"in.{ending}"
    file.write_text(line_of(name, 1, "<urn:o>") + line_of(name, 2, f'"{LONG}"') + line_of(name, 3, "<urn:o>"))
    kept, tally = tmp_path / "kept", ReadCounts()
    table = events_as_arrow(open_stream(str(file), bad_lines=BadLines("file", kept)), tally).read_all()
    assert {*table["t"].to_pylist()} >= {1, 3}
    assert 2 not in table["t"].to_pylist()
    assert tally.bad == 1
    assert kept.read_bytes() == b""  # it is too long to be kept
    with pytest.raises(DataError, match=r"in\.\w+, line \d: expected a line or an element of at most 1000 bytes"):
        events_as_arrow(open_stream(str(file))).read_all()


def test_times_are_not_taken_from_a_line_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "in.tnt").write_text(f'1\t<urn:s> <urn:p> "{LONG}" .\n')
    with pytest.raises(DataError, match="line 1: expected a line or an element of at most 1000 bytes"):
        [*tnt.TntReader((str(tmp_path / "in.tnt"),), "s").times(ReadCounts())]


def read_messages(text: str, name: str) -> list[ElementPiece | Broken]:
    raw = cast("IO[bytes]", io.BufferedReader(io.BytesIO(text.encode())))
    return [*messages.read(File(name, raw, EventTime()))]


def by_line(t: int, size: int = 1) -> str:
    return f'<urn:s> {GENERATED} "{t}" .\n' + "".join(f'<urn:s> <urn:p> "{n}" .\n' for n in range(size))


@pytest.mark.parametrize("name", ["log.nq", "log.trig"])
def test_a_message_that_is_too_long_is_broken_and_those_beside_it_are_not(name: str) -> None:
    text = "MESSAGE\n".join(['VERSION "1.2-messages"\n', by_line(1), by_line(2, 500), by_line(3)])
    found = read_messages(text, name)
    assert [each.t for each in found if isinstance(each, ElementPiece)] == [1, 3]
    (broken,) = (each for each in found if isinstance(each, Broken))
    assert broken.place.startswith("message 3 at line")
    assert "at most 1000 bytes" in broken.reason


def test_a_line_that_is_too_long_breaks_its_message_where_lines_are_statements() -> None:
    text = f'VERSION "1.2-messages"\n{by_line(1)}MESSAGE\n<urn:s> <urn:p> "{LONG}" .\nMESSAGE\n{by_line(3)}'
    found = read_messages(text, "log.nq")
    assert [each.t if isinstance(each, ElementPiece) else None for each in found] == [1, None, 3]
    with pytest.raises(DataError, match="at most 1000 bytes"):
        read_messages(text, "log.trig")


@pytest.mark.parametrize("name", ["turtle", "jelly"])
def test_what_can_not_be_taken_up_again_is_refused(name: str) -> None:
    given = "".join(f"<urn:s> <urn:p> <urn:o{n}> .\n" for n in range(LIMIT)).encode()
    if name == "jelly":
        given = b"\x0a" + b"\xff\x7f" + b"x" * 3 * LIMIT
    for endless in (True, False):
        raw = cast("IO[bytes]", io.BufferedReader(io.BytesIO(given)))
        found = format_named(name).read(File("1.ttl", raw, EventTime(), endless))
        outcome = said(found)
        assert ("at most 1000 bytes" in outcome) == endless


def said(found: Iterator[ElementPiece | Broken]) -> str:
    try:
        return "".join(each.reason for each in found if isinstance(each, Broken))
    except DataError as error:
        return str(error)


def test_frames_behind_their_lengths_too() -> None:
    length = bytes([0x80 | (5000 & 0x7F), 5000 >> 7])
    raw = cast("IO[bytes]", io.BufferedReader(io.BytesIO(length + b"\x0a" * 5000)))
    assert "at most 1000 bytes" in said(jelly.read(File("-", raw, EventTime(), endless=True)))

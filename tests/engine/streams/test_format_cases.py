"""The case files of `tests/cases/formats`: files of a format, and what they are as timed N-Triples, or why not.

A file dropped there is a test, and a format without one of its name is a failure. `HYDROGRAPH_GOLDEN=1` writes what
comes out into the files instead of comparing. Sections: `file NAME` (with `base64` behind it where it is binary),
`options` (words such as `time=sosa:resultTime`), and `expect`.
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from hydrograph.errors import DataError
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.format_registry import FORMATS
from hydrograph.streams.formats import parquet, tnt
from hydrograph.streams.sources import events_as_arrow, open_stream

CASES = Path(__file__).parents[2] / "cases" / "formats"
GOLDEN = os.environ.get("HYDROGRAPH_GOLDEN") == "1"
_SECTION = re.compile(r"^--- (file|options|expect)(?: (\S+))?( base64)?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FormatCase:
    """A title, and sections: kind, name, whether it is binary, text."""

    title: str
    sections: tuple[tuple[str, str, bool, str], ...]

    def options(self) -> dict[str, str]:
        text = " ".join(body for kind, _, _, body in self.sections if kind == "options")
        return dict(word.split("=", 1) for word in text.split())

    def outcome(self, directory: Path) -> str:
        """Return the stream as timed N-Triples, or the error; and how much was broken where it was left out."""
        given = directory / "given"
        given.mkdir()
        names = [name for kind, name, _, _ in self.sections if kind == "file"]
        for kind, name, binary, body in self.sections:
            if kind == "file":
                (given / name).write_bytes(base64.b64decode(body) if binary else body.encode())
        options = self.options()
        location = given if len(names) > 1 else given / names[0]
        tally = ReadCounts()
        try:
            stream = open_stream(
                str(location),
                bad_lines=BadLines.read(options.get("bad-lines", "fail")),
                format=options.get("format"),
                time=options.get("time"),
            )
            manifest = parquet.write_arrow(events_as_arrow(stream, tally), directory / "out", salt=stream.salt)
        except DataError as error:
            return f"error: {str(error).replace(f'{given}/', '').replace(str(directory), '')}"
        tnt.write_tnt(parquet.paths(directory / "out", manifest), stream.salt, str(directory / "out.tnt"))
        broken = [f"{tally.bad} broken"] if tally.bad else []
        return "\n".join([*(directory / "out.tnt").read_text().splitlines(), *broken])

    def expected(self) -> str:
        return next(body.rstrip("\n") for kind, _, _, body in self.sections if kind == "expect")

    def written(self, expected: str) -> str:
        parts = [f"# {self.title}\n"]
        for kind, name, binary, body in self.sections:
            heading = f"--- {kind} {name}".rstrip() + (" base64" if binary else "")
            text = expected if kind == "expect" else body.rstrip("\n")
            parts.append(f"{heading}\n{text}\n")
        return "".join(parts)


def cases_of(file: Path) -> list[FormatCase]:
    found = []
    for block in re.split(r"^(?=# (?:.*)\n--- )", file.read_text("utf-8"), flags=re.MULTILINE):
        if not block.strip():
            continue
        title, _, rest = block.partition("\n")
        parts = _SECTION.split(rest)[1:]
        sections = tuple(
            (kind, name or "", bool(binary), body)
            for kind, name, binary, body in zip(*(parts[n::4] for n in range(4)), strict=True)
        )
        found.append(FormatCase(title.removeprefix("# "), sections))
    return found


FILES = sorted(CASES.glob("*.test"))


@pytest.mark.parametrize(
    ("file", "number"),
    [pytest.param(file, n, id=f"{file.stem}-{n}") for file in FILES for n in range(len(cases_of(file)))],
)
@pytest.mark.skipif(GOLDEN, reason="the files are written, not compared")
def test_a_case(tmp_path: Path, file: Path, number: int) -> None:
    case = cases_of(file)[number]
    assert case.outcome(tmp_path) == case.expected(), case.title


@pytest.mark.skipif(not GOLDEN, reason="HYDROGRAPH_GOLDEN=1 writes the files")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_write_the_file(tmp_path: Path, file: Path) -> None:
    texts = []
    for number, case in enumerate(cases_of(file)):
        directory = tmp_path / str(number)
        directory.mkdir()
        texts.append(case.written(case.outcome(directory)))
    file.write_text("\n".join(texts), "utf-8")


def test_every_format_has_its_cases() -> None:
    assert {each.name for each in FORMATS} <= {file.stem for file in FILES}

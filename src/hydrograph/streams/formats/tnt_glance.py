"""A glance at timed N-Triples: what the ends of the files let expect, read without Spark and at no cost.

Nothing is certain from it. Whoever relies on a glance finds out while reading, and reads again where it was wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hydrograph.streams.formats.tnt import has_blank

_END = 65_536  # bytes at either end of a file
_FILES = 32
_LINE = 100  # bytes that a line is taken to have
_PACKED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Glance:
    """What the files seem to hold: times, number of rows, and neither blank nodes nor floats nor doubles."""

    first: int
    last: int
    rows: int


def glance(files: tuple[str, ...]) -> Glance | None:
    """Return what the ends of some of the files say; None if they hold what takes a closer look."""
    if any(file.endswith(_PACKED) for file in files):
        return None
    times: list[int] = []
    for file in files[:: max(1, len(files) // _FILES)]:
        for line in _ends(Path(file)):
            time, _, statement = line.partition("\t")
            if has_blank(statement) or "#double>" in statement or "#float>" in statement:
                return None
            try:
                times.append(int(time.partition(":")[0]))
            except ValueError:
                continue  # a comment, or a line cut off; a broken one is found by the reader
    if not times:
        return None
    return Glance(min(times), max(times), sum(Path(file).stat().st_size for file in files) // _LINE)


def _ends(path: Path) -> list[str]:
    """Return the whole lines at both ends of a file."""
    with path.open("rb") as opened:
        lines = opened.read(_END).decode(errors="replace").split("\n")
        left = path.stat().st_size - opened.tell()
        if left > 0:
            opened.seek(max(_END, left))
            lines = [*lines[:-1], *opened.read().decode(errors="replace").split("\n")[1:]]
    return [line for line in lines if line]

"""Tables of the paper on functional testing (Dell'Aglio, Balduini, Della Valle, BeRSys 2013), beside engine cells.

A cell is printed as in the paper: `r1@10` is the answer r1 reported at 10 s, `-@12` an empty answer that is reported,
and an empty cell is silence. The presets give each cell over the paper's streams. How far a table looks is part of the
table: table 1 shows two windows after t0, and an engine that reports empty windows reports an empty second one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydrograph import api
from hydrograph.temporal import SECOND
from hydrograph.windows.profile import preset
from hydrograph.windows.report import When

COLUMNS = {"C-SPARQL": "csparql", "CQELS": "cqels-published", "SPARQLstream": "sparqlstream"}
"""Engines, and the preset of each. CQELS is the version of March 2013, which does not evict."""

_BASE = "http://ex.org/"
_STREAM = f"{_BASE}streams/test"
_EMPTY = "-"
_DETECTED = f"<{_BASE}detectedAt> ?room"

Detection = tuple[int, str, str]
"""Second, mover and room."""

ROOM_CHANGES: tuple[Detection, ...] = ((1, "m1", "r1"), (3, "m2", "r1"), (12, "m1", "r2"), (15, "m2", "r2"))
FOUR_MOVERS: tuple[Detection, ...] = ((0, "m1", "r1"), (5, "m2", "r2"), (10, "m3", "r1"), (15, "m4", "r2"))


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table: what is asked over which stream, and its cells."""

    name: str
    select: str
    pattern: str
    stream: tuple[Detection, ...]
    width: int
    """Width and slide of its tumbling windows, in seconds."""
    windows: int
    """Windows after t0 that the table shows."""
    cells: Mapping[int, Mapping[str, tuple[str, ...]]]
    """By t0 and engine: a cell for each window, or one for all; answers in a cell are separated by blanks."""
    pairs_once: bool = False
    """Whether the table prints the pairs (a, b) and (b, a) once."""
    misprints: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """By engine and number of the window: why the printed cell cannot be what the engine gave."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """Cell as printed and as the engine gives it."""

    table: str
    t0: int
    engine: str
    window: int | None
    """Number of the window from 1; None: all of them."""
    printed: str
    given: str
    misprint: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return self.printed == self.given


def _row(csparql: Sequence[str], cqels: Sequence[str], sparqlstream: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return dict(zip(COLUMNS, map(tuple, (csparql, cqels, sparqlstream)), strict=True))


_EARLY = "printed one block early: 15 s lies in the block from 15 s to 18 s, where query B has it"

TABLES = (
    PublishedTable(
        name="table 1",
        select="?room",
        pattern=f"<{_BASE}m1> {_DETECTED} . <{_BASE}m2> {_DETECTED}",
        stream=ROOM_CHANGES,
        width=10,
        windows=2,
        cells={
            0: _row(["r1@10", "r2@20"], ["r1@3 r2@15"], ["r1@10", "r2@20"]),
            1: _row(["r1@11", "r2@21"], ["r1@3 r2@15"], ["r1@11", "r2@21"]),
            2: _row(["-@12", "r2@22"], ["r2@15"], ["-@12", "r2@22"]),
            3: _row(["-@13", "-@23"], ["r2@15"], ["-@13", "-@23"]),
            4: _row(["-@14", "-@24"], ["r2@15"], ["-@14", "-@24"]),
            5: _row(["-@15", "-@25"], ["r2@15"], ["-@15", "-@25"]),
            6: _row(["r2@16", ""], ["r2@15"], ["r2@16", "-@26"]),
        },
    ),
    PublishedTable(
        name="query A",
        select="?room",
        pattern=f"?p1 {_DETECTED} . ?p2 {_DETECTED} FILTER(?p1 != ?p2)",
        stream=FOUR_MOVERS,
        width=3,
        windows=6,
        cells={
            0: _row(
                ["-@3", "-@6", "", "-@12", "", "-@18"],
                ["", "", "", "r1@10", "r2@15", ""],
                ["-@3", "-@6", "-@9", "-@12", "-@15", "-@18"],
            )
        },
        misprints={("CQELS", 5): _EARLY, ("CQELS", 6): _EARLY},
    ),
    PublishedTable(
        name="query B",
        select="?p1 ?p2 ?room",
        pattern=f"?p1 {_DETECTED} . ?p2 {_DETECTED}",
        stream=FOUR_MOVERS,
        width=3,
        windows=6,
        cells={
            0: _row(
                ["m1,m1,r1@3", "m2,m2,r2@6", "", "m3,m3,r1@12", "", "m4,m4,r2@18"],
                ["m1,m1,r1@0", "m2,m2,r2@5", "", "m1,m3,r1@10 m3,m3,r1@10", "", "m2,m4,r2@15 m4,m4,r2@15"],
                ["m1,m1,r1@3", "m2,m2,r2@6", "-@9", "m3,m3,r1@12", "-@15", "m4,m4,r2@18"],
            )
        },
        pairs_once=True,
    ),
)


def print_query(table: PublishedTable, engine: str) -> str:
    """Return the query of a table in the language of an engine."""
    select, pattern, width = table.select, table.pattern, table.width
    match engine:
        case "C-SPARQL":
            window = f"FROM STREAM <{_STREAM}> [RANGE {width}s STEP {width}s]"
            return f"REGISTER QUERY Test AS SELECT {select} {window} WHERE {{ {pattern} }}"
        case "CQELS":
            window = f"STREAM <{_STREAM}> [RANGE {width}s SLIDE {width}s]"
            return f"SELECT {select} WHERE {{ {window} {{ {pattern} }} }}"
        case "SPARQLstream":
            window = f"FROM NAMED STREAM <{_STREAM}> [NOW - {width} S SLIDE {width} S]"
            return f"SELECT RSTREAM {select} {window} WHERE {{ {pattern} }}"
        case _:
            raise AssertionError(engine)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Answer as a cell prints it, with the number of its window."""

    window: int
    text: str


def list_answers(table: PublishedTable, engine: str, t0: int, preset_name: str | None = None) -> list[_Answer]:
    """Return what the engine answers in the windows that a table shows, by the preset of the column or another."""
    profile = preset(preset_name or COLUMNS[engine])
    found = []
    with tempfile.TemporaryDirectory(prefix="tables-") as folder:
        stream = Path(folder) / "stream.tnt"
        stream.write_text("".join(_line(each) for each in table.stream), "utf-8")
        query = api.query(print_query(table, engine), preset=profile.name)
        until = (t0 + table.windows * table.width) * SECOND
        with query.over(str(stream), t0=t0 * SECOND, until=until, placement="local") as run:
            for report in run.reports():
                t = report.t // SECOND
                # A report at a close is about the window that ends there, one on arrival about the window it lies in.
                on_arrival = profile.report.when is not When.WINDOW_CLOSE
                window = (t - t0) // table.width + on_arrival
                found += [_Answer(window, f"{row}@{t}") for row in _rows(table, report.rows) or [_EMPTY]]
    return found


def _line(detection: Detection) -> str:
    t, mover, room = detection
    return f"{t * SECOND}\t<{_BASE}{mover}> <{_BASE}detectedAt> <{_BASE}{room}> .\n"


def _rows(table: PublishedTable, rows: Sequence[Sequence[str | None]]) -> list[str]:
    """Return the rows as the table prints them, in order, each once: the tables list rooms and pairs as sets."""
    named = {tuple(term.removeprefix(f"<{_BASE}").rstrip(">") for term in row if term is not None) for row in rows}
    if table.pairs_once:
        named = {(*sorted(row[:2]), *row[2:]) for row in named}
    return sorted(",".join(row) for row in named)


def compare_table(table: PublishedTable) -> Iterator[TableCell]:
    """Yield each cell of a table as printed and as the presets give it."""
    for t0, row in table.cells.items():
        for engine, printed in row.items():
            found = list_answers(table, engine, t0)
            if len(printed) == 1:
                yield TableCell(table.name, t0, engine, None, printed[0], " ".join(each.text for each in found))
                continue
            for window, cell in enumerate(printed, start=1):
                given = " ".join(each.text for each in found if each.window == window)
                why = table.misprints.get((engine, window), "")
                yield TableCell(table.name, t0, engine, window, cell, given, why)


def format_tables(cells: Sequence[TableCell]) -> Iterator[str]:
    """Yield a line for each cell, and one that counts them."""
    lines = [("table", "t0", "engine", "window", "published", "given", "")]
    for each in cells:
        note = "agrees" if each.agrees else f"differs: {each.misprint or 'not explained'}"
        window = "all" if each.window is None else str(each.window)
        lines.append((each.table, str(each.t0), each.engine, window, each.printed or ".", each.given or ".", note))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip()
    misprints = sum(bool(each.misprint) and not each.agrees for each in cells)
    agreeing = sum(each.agrees for each in cells)
    rest = len(cells) - agreeing - misprints
    yield f"tables: {len(cells)} cells, {agreeing} agree, {misprints} misprinted, {rest} differ"

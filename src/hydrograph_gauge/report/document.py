"""Content of a page as records: text, tables and charts with their rows. The page alone decides how they look.

Figures and tables carry raw numbers and the name of a format, so that what is downloaded as CSV is not rounded for
the eye.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Format: TypeAlias = Literal["text", "code", "count", "number", "share", "percent", "ms", "seconds", "megabytes", "rate"]
Tone: TypeAlias = Literal[
    "right", "wrong", "unstable", "silent", "syntax", "unsupported", "error", "timeout", "memory", "crash", "off"
]
Point: TypeAlias = tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is more than its value: a letter with its meaning, coloured, leading to a place in the page."""

    text: str
    meaning: str = ""
    tone: Tone | None = None
    to: str | None = None


Value: TypeAlias = str | float | Cell | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `group` is a heading over several."""

    name: str
    format: Format = "text"
    unit: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Items:
    """Paragraphs of one list."""

    items: tuple[str, ...]
    kind: Literal["items"] = "items"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    title: str
    items: tuple[tuple[str, str], ...]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a caption. `headers` first columns name the row."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    headers: int = 1
    tiles: bool = False
    """Whether cells are letters on a colour, as in a matrix of verdicts."""
    legend: tuple[Cell, ...] = ()
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a chart."""

    label: str
    format: Format = "number"
    unit: str = ""
    log: bool = False
    top: float | None = None
    """End of the axis, where it does not follow from the data: shares end at 1."""


@dataclass(frozen=True, slots=True)
class Series:
    """Series of a chart; `colour` is the position of an engine among all engines, None is grey."""

    name: str
    colour: int | None
    points: tuple[Point, ...]
    names: tuple[str, ...] = ()
    """Names of the points, where each has one."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the plots of a chart that share the horizontal axis."""

    y: Axis
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines, or points alone, over a common horizontal axis."""

    caption: str
    x: Axis
    panels: tuple[Panel, ...]
    marks: Literal["line", "point", "both"] = "line"
    kind: Literal["lines"] = "lines"


@dataclass(frozen=True, slots=True)
class Strip:
    """One value of each row for one series; None where there is none."""

    name: str
    colour: int | None
    values: tuple[float | None, ...]
    counts: tuple[int, ...] = ()
    """How many a value is the mean of."""


@dataclass(frozen=True, slots=True)
class DotPanel:
    """One of the plots that share their rows."""

    label: str
    strips: tuple[Strip, ...]


@dataclass(frozen=True, slots=True)
class Dots:
    """A row for each thing, a dot for each series: values by name, in the order that is given."""

    caption: str
    x: Axis
    rows: tuple[str, ...]
    panels: tuple[DotPanel, ...]
    bars: bool = False
    kind: Literal["dots"] = "dots"


@dataclass(frozen=True, slots=True)
class Box:
    """Minimum, quartiles and maximum of repeated measurements."""

    low: float
    lower: float
    median: float
    upper: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class BoxSeries:
    """The boxes of one series, one for each group."""

    name: str
    colour: int | None
    boxes: tuple[Box | None, ...]


@dataclass(frozen=True, slots=True)
class BoxPanel:
    """A plot of boxes for one measure."""

    y: Axis
    series: tuple[BoxSeries, ...]


@dataclass(frozen=True, slots=True)
class BoxPlot:
    """Box plots of several measures over the same groups."""

    caption: str
    groups: tuple[str, ...]
    panels: tuple[BoxPanel, ...]
    kind: Literal["boxplot"] = "boxplot"


@dataclass(frozen=True, slots=True)
class BorderSpan:
    """A window as it was expected and as an engine used it."""

    label: str
    expected: tuple[float, float]
    used: tuple[float, float]
    name: str
    colour: int


@dataclass(frozen=True, slots=True)
class Spans:
    """Expected and actual borders of windows."""

    caption: str
    x: Axis
    spans: tuple[BorderSpan, ...]
    kind: Literal["spans"] = "spans"


@dataclass(frozen=True, slots=True)
class BlamedRow:
    """Missing or extra row, and the triples it is derived from."""

    row: tuple[str | None, ...]
    triples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrongWindow:
    """A window whose answer is wrong, in detail."""

    title: str
    facts: tuple[tuple[str, str], ...]
    missing: tuple[BlamedRow, ...]
    extra: tuple[BlamedRow, ...]
    missing_count: int
    extra_count: int


@dataclass(frozen=True, slots=True)
class WrongGroup:
    """The wrong windows of one query on one engine."""

    id: str
    title: str
    note: str
    text: str
    variables: tuple[str, ...]
    windows: tuple[WrongWindow, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """Wrong windows with their rows and triples."""

    groups: tuple[WrongGroup, ...]
    kind: Literal["wrong"] = "wrong"


@dataclass(frozen=True, slots=True)
class QueryText:
    """A query as it was asked, in each wording."""

    name: str
    note: str
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Queries:
    """The texts of all queries."""

    queries: tuple[QueryText, ...]
    kind: Literal["queries"] = "queries"


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a choice."""

    label: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Options that are shown one at a time."""

    label: str
    options: tuple[Option, ...]
    kind: Literal["choice"] = "choice"


Chart: TypeAlias = Lines | Dots | BoxPlot | Spans
Block: TypeAlias = Text | Items | Facts | Table | Chart | Wrong | Queries | Choice


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class RunPart:
    """Part of the page about one run."""

    title: str
    note: str
    engines: tuple[str, ...]
    """In the order of their colours."""
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A page: one part for each run."""

    title: str
    parts: tuple[RunPart, ...]


def drop_missing(blocks: Sequence[Block | None]) -> tuple[Block, ...]:
    """Return the blocks that are not None."""
    return tuple(block for block in blocks if block is not None)


def section(title: str, *blocks: Block | None) -> Section | None:
    """Return a section of the blocks that are not None; None if no block shows data."""
    found = drop_missing(blocks)
    return Section(title, found) if any(not isinstance(block, Text) for block in found) else None

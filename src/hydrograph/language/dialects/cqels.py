"""[CQELS-QL](https://github.com/KMax/cqels): each stream block defines its own window.

After Le-Phuoc, Dao-Tran, Parreira and Hauswirth, ISWC 2011.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, TimeWindow, WindowDefinition
from hydrograph.language.dialect import BlockDialect
from hydrograph.language.duration import print_short
from hydrograph.language.query_printer import BlockPrinter
from hydrograph.language.window_views import lift_filters, named, ordered
from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Duration

UNITS: Mapping[str, Duration | str] = {
    "S": SECOND,
    "MS": 1,
    "M": MINUTE,
    "H": HOUR,
    "D": DAY,
    "NS": "nothing shorter than a millisecond is kept",
}


class CqelsPrinter(BlockPrinter):
    """Printer of CQELS-QL with filters outside of stream blocks: CQELS 1.x ignores those inside."""

    title = "CQELS-QL"

    @classmethod
    def view(cls, query: ContinuousQuery) -> ContinuousQuery:
        """Return the query with stream blocks, windows in order, filters outside where they mean the same."""
        return ordered(lift_filters(named(query)))

    def window_lacks(self) -> Iterator[str]:
        """Yield windows that feed the default graph, and features that stream blocks cannot express."""
        if any(window.name is None for window in self.query.windows):
            yield f"{self.title} has no windows outside of blocks: no pattern sees several windows as one graph"
        yield from super().window_lacks()

    def bounds(self, definition: WindowDefinition) -> str | None:
        """Return RANGE with or without SLIDE, TRIPLES, NOW or ALL."""
        match definition:
            case TimeWindow(width, slide):
                return f"RANGE {print_short(width)}" + ("" if slide is None else f" SLIDE {print_short(slide)}")
            case CountWindow(size, 1, triples=True):
                return f"TRIPLES {size}"
            case NowWindow():
                return "NOW"
            case AllWindow():
                return "ALL"
            case _:
                return None


class Cqels(BlockDialect):
    """Parser of CQELS-QL as CQELS 1.x reads it."""

    name = "cqels"
    title = "CQELS-QL"
    reference = "https://github.com/KMax/cqels"
    preset = "cqels"
    printer = CqelsPrinter
    marks = ("STREAM * [", "{ STREAM", "} STREAM", ". STREAM")
    slide_words = ("SLIDE",)
    units = UNITS

    def window_definition(self) -> WindowDefinition:
        """Read `[RANGE … SLIDE …]`, `[RANGE … TUMBLING]`, `[TRIPLES n]`, `[NOW]` or `[ALL]`.

        Durations add up; without SLIDE a window slides continuously.
        """
        self.expect("[")
        kind = self.expect_one(("RANGE", "TRIPLES", "NOW", "ALL"))
        definition: WindowDefinition
        match kind.key:
            case "NOW":
                definition = NowWindow()
            case "ALL":
                definition = AllWindow()
            case "TRIPLES":
                definition = self.count(triples=True, slide=1)
            case _:
                width = self.positive_duration("a width")
                while self.token.key == "integer":
                    width += self.duration()
                tumbling = self.accept("TUMBLING")
                slide = width if tumbling else self.slide() if self.slide_follows() else None
                definition = self.sliding(width, slide, kind.offset)
        self.expect("]", "SLIDE, TUMBLING or ]" if kind.key == "RANGE" else "]")
        return definition

"""How recorded streams come to the database beside the driver: the counterpart of `intake`, which is for Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan
from hydrograph.streams import sources
from hydrograph.streams.sources import RecordedStream
from hydrograph.temporal import Instant
from hydrograph.windows.report import Held


@dataclass(frozen=True, slots=True)
class LocalIntake:
    """The streams of one run, each a table."""

    placed: Local
    tables: Mapping[Iri, str]
    bad_lines: int
    """Broken lines that were left out."""

    @classmethod
    def of(cls, placed: Local, streams: Mapping[Iri, RecordedStream]) -> LocalIntake:
        """Read texts; Parquet is only named."""
        tables, bad = {}, 0
        for number, (name, stream) in enumerate(streams.items()):
            tables[name] = f"stream{number}"
            if paths := sources.parquet_paths(stream):
                placed.add_files(tables[name], paths)
            else:
                tally = sources.tnt.Tally()
                placed.add_table(tables[name], sources.events_as_arrow(stream, tally))
                bad += tally.bad
        return cls(placed, tables, bad)

    def first(self) -> Instant | None:
        """Return the earliest event time."""
        found = [self.placed.first_time(table) for table in self.tables.values()]
        return min((t for t in found if t is not None), default=None)

    def rows(self) -> int:
        """Return how many rows there are."""
        return sum(self.placed.count(table) for table in self.tables.values())

    def held(self, plan: Plan) -> dict[Iri, Held]:
        """Return, for each window, the first and the last event time that lies in it."""
        found: dict[Iri, Held] = {}
        for window in plan.query.windows:
            assert window.name is not None
            found[window.name] = self._held(plan, self.tables[window.stream], window.name)
        return found

    def _held(self, plan: Plan, table: str, window: Iri) -> Held:
        given, inside = {"t0": plan.t0}, ""
        grid = plan.windows.get(window)
        if grid is not None and grid.width < grid.step:
            # The remainder in a slide tells whether an event lies in a window or in the gap behind it.
            inside = "AND ((t - $t0) % $step + $step) % $step < $width"
            given = {"t0": grid.open(0), "step": grid.step, "width": grid.width}
        row = self.placed.query(
            f'SELECT MIN(t) AS a, MAX(t) AS b FROM "{table}" WHERE t >= $t0 {inside}', given
        ).to_pylist()[0]
        return None if row["a"] is None else (row["a"], row["b"])

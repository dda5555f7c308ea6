"""Materialised results: each solution is converted to texts and JSON once, however many reports show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.compile.program import Program
from hydrograph.compile.relation import EncodedLayout, Part, column_name
from hydrograph.live.evaluate.report_numbering import DueReports
from hydrograph.live.step.evaluation import PreviousReport
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.report_ranks import bounds_of
from hydrograph.runtime.reports import Report, Row, member_names, row_text, rows_of

_Entry = tuple[Row, int, int, Row, str]
"""The sort key of a row, the reports `[lo, hi)` that show it, the row, and its JSON."""


@dataclass(slots=True)
class MaterializedResults:
    """Solutions of a program, each with the reports that show it, in the order of their texts (A11)."""

    materializes: ClassVar = True
    plan: Plan
    program: Program
    _entries: list[_Entry] = field(default_factory=list)
    _sorted: bool = True

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return len(self._entries)

    def add(self, table: pa.Table) -> None:
        """Add the solutions in a table."""
        if not table.num_rows:
            return
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        rows = list(rows_of(self.program, {**columns, "r": columns["lo"]}))
        texts = self._iri_texts(table)
        if texts is None:
            names = member_names(self.plan.variables)
            texts = [row_text(names, row) for row in rows]
        keys = [row if None not in row else tuple("" if text is None else text for text in row) for row in rows]
        self._entries += zip(keys, columns["lo"], columns["hi"], rows, texts, strict=True)
        self._sorted = False

    def _iri_texts(self, table: pa.Table) -> list[str] | None:
        """Return the JSON of rows that hold nothing but IRIs, vectorised; None for others."""
        parts: list[pa.ChunkedArray | str] = ["{"]
        for name, output in zip(member_names(self.plan.variables), self.program.outputs, strict=True):
            if not isinstance(output.layout, EncodedLayout) or Part.TEXT not in output.layout.parts:
                return None
            texts = table.column(column_name(output.stem, output.layout, Part.TEXT))
            plain = pc.all(pc.match_substring_regex(texts, r'^<[^"\\\x00-\x1f]*>$'), skip_nulls=False).as_py()
            if not plain:
                return None
            values = pc.utf8_slice_codeunits(texts, 1, -1)
            parts += [f'{name}{{"type":"uri","value":"', values, '"},']
        if len(parts) == 1:
            return None
        parts[-1] = '"}}'
        joined: list[str] = pc.binary_join_element_wise(*parts, "").to_pylist()
        return joined

    def forget(self, number: int) -> None:
        """Forget solutions that no report from a number on can show."""
        self._entries = [entry for entry in self._entries if entry[2] > number]

    def reports(self, due: DueReports, previous: PreviousReport) -> tuple[list[Report], PreviousReport]:
        """Return the reports with their solutions."""
        reports = []
        timings = due.timings()
        for (rank, t, seq), number in zip(timings, due.numbers(), strict=True):
            rows, texts = self._rows_at(number)
            if rows or self.plan.profile.emit_empty:
                bounds = bounds_of(self.plan, rank, t)
                reports.append(Report(t, *bounds, self.plan.variables, rows, seq, texts=texts))
        return reports, replace(previous, last=timings[-1][1])

    def _rows_at(self, number: int) -> tuple[tuple[Row, ...], Sequence[str]]:
        """Return the rows of one report in order, and the JSON of each."""
        if not self._sorted:
            self._entries.sort()  # no more than a merge: earlier entries are in order already
            self._sorted = True
        shown = [entry for entry in self._entries if entry[1] <= number < entry[2]]
        return tuple([entry[3] for entry in shown]), [entry[4] for entry in shown]

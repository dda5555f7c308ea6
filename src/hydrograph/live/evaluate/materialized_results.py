"""Kept answers: each is made a row of texts and JSON once, however many reports show it, and they stand in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.compile.program import Program
from hydrograph.compile.relation import Encoded, Part, column_name
from hydrograph.runtime.reports import Row, member_names, row_text, rows_of

_Entry = tuple[Row, int, int, Row, str]
"""What sorts a row, the ranks `[lo, hi)` at which it is valid, the row, and its JSON."""


@dataclass(slots=True)
class MaterializedResults:
    """The answers of a program whose rows are valid at ranks, in the order of their texts (A11)."""

    program: Program
    variables: tuple[str, ...]
    _entries: list[_Entry] = field(default_factory=list)
    _sorted: bool = True

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return len(self._entries)

    def add(self, table: pa.Table) -> None:
        """Add the rows of a table of answers."""
        if not table.num_rows:
            return
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        rows = list(rows_of(self.program, {**columns, "r": columns["lo"]}))
        texts = self._iris(table)
        if texts is None:
            names = member_names(self.variables)
            texts = [row_text(names, row) for row in rows]
        keys = [row if None not in row else tuple("" if text is None else text for text in row) for row in rows]
        self._entries += zip(keys, columns["lo"], columns["hi"], rows, texts, strict=True)
        self._sorted = False

    def _iris(self, table: pa.Table) -> list[str] | None:
        """Return the JSON of rows that hold IRIs and nothing else, all at once; None for others."""
        parts: list[pa.ChunkedArray | str] = ["{"]
        for name, output in zip(member_names(self.variables), self.program.outputs, strict=True):
            if not isinstance(output.form, Encoded) or Part.TEXT not in output.form.parts:
                return None
            texts = table.column(column_name(output.stem, output.form, Part.TEXT))
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

    def forget(self, frontier: int) -> None:
        """Forget rows that no report from `frontier` on can show."""
        self._entries = [entry for entry in self._entries if entry[2] > frontier]

    def at(self, rank: int) -> tuple[tuple[Row, ...], Sequence[str]]:
        """Return the rows of one report in order, and the JSON of each."""
        if not self._sorted:
            self._entries.sort()  # no more than a merge: what was there is in order already
            self._sorted = True
        shown = [entry for entry in self._entries if entry[1] <= rank < entry[2]]
        return tuple([entry[3] for entry in shown]), [entry[4] for entry in shown]

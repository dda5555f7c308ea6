r"""Tables of a run for a paper: every record as CSV, and summaries in LaTeX.

The LaTeX tables need no package. Text is escaped so that any engine name, query name or message compiles: letters with
accents become accents of LaTeX, other characters outside of ASCII their code point, as U+2603.
"""

from __future__ import annotations

import csv
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydrograph_gauge.experiments.run_folder import TABLES, flatten_record
from hydrograph_gauge.experiments.summary import tally_windows
from hydrograph_gauge.run_records import (
    FunctionalRecord,
    FunctionalVerdict,
    MaxRateRecord,
    OutcomeRecord,
    Provenance,
    Record,
    read_provenance,
    read_records,
)

DOCUMENT = "tables.tex"

_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "`": r"\textasciigrave{}", "-": "{-}",
    "\u2013": "--", "\u2014": "---", "\u2026": r"\ldots{}", "\u00d7": r"$\times$", "\u00b5": r"$\mu$",
    "\u2019": "'", "\u2018": "`", "\u00df": r"\ss{}", "\u00f8": r"\o{}", "\u00d8": r"\O{}", "\u00e6": r"\ae{}",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u0304": "=", "\u0307": ".",
    "\u030c": "v", "\u0306": "u", "\u030b": "H", "\u0327": "c", "\u030a": "r",
}  # fmt: skip


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX prints as it is, in ASCII.

    >>> escape_latex("100% of q_1 & {x}, Köln \\ 5 < 6")
    '100\\% of q\\_1 \\& \\{x\\}, K\\"{o}ln \\textbackslash{} 5 \\textless{} 6'
    """
    found: list[str] = []
    for letter in " ".join(text.split()):
        if letter in _ESCAPED:
            found.append(_ESCAPED[letter])
        elif " " <= letter <= "~":
            found.append(letter)
        else:
            found.append(_accented(letter))
    return "".join(found)


def _accented(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        base = {"i": r"\i", "j": r"\j"}.get(parts[0], parts[0])
        return f"\\{_ACCENTS[parts[1]]}{{{base}}}"
    return f"U+{ord(letter):04X}"


def latex_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int]) -> str:
    """Return a table; columns whose place is in `numbers` are aligned to the right."""
    right = set(numbers)
    columns = "".join("r" if place in right else "l" for place in range(len(header)))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\hline",
        " & ".join(map(escape_latex, header)) + r" \\",
        r"\hline",
        *(" & ".join(escape_latex(_cell(value)) for value in row) + r" \\" for row in rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return "--"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write_csv_and_latex(folder: Path) -> list[Path]:
    """Write the tables of the results in a folder, and a document that prints all of them; return the files."""
    target = folder / TABLES
    target.mkdir(exist_ok=True)
    records = list(read_records(folder))
    written = [*_write_csv(records, target)]
    texts = {
        "verdicts": _verdicts(records),
        "windows": _windows(folder),
        "rates": _rates(records),
        "functional": _functional(records),
        "setting": _setting(read_provenance(folder)),
    }
    parts = [name for name, text in texts.items() if text]
    for name in parts:
        written.append(target / f"{name}.tex")
        written[-1].write_text(texts[name], "utf-8")
    written.append(target / DOCUMENT)
    inputs = "\n".join(rf"\input{{{name}}}" "\n" r"\clearpage" for name in parts)
    written[-1].write_text(
        "\\documentclass{article}\n% Prints every table of this folder; each can also be put into a paper alone.\n"
        f"\\begin{{document}}\n{inputs}\n\\end{{document}}\n",
        "utf-8",
    )
    return written


def _write_csv(records: Iterable[Record], target: Path) -> Iterable[Path]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        line = record.model_dump(mode="json")
        rows.setdefault(line.pop("record"), []).append(flatten_record(line))
    for kind, lines in rows.items():
        file = target / f"{kind}.csv"
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: _csv_cell(value) for name, value in line.items()} for line in lines)
        yield file


def _csv_cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | Mapping) else value


def _key_cells(record: OutcomeRecord | MaxRateRecord) -> tuple[str, str]:
    settings = "".join(f", {name} {value}" for name, value in record.key.settings.items())
    return f"{record.key.test}{settings}", record.key.query


def _verdicts(records: Sequence[Record]) -> str:
    """Return the verdict of every query on every engine; of repetitions how often each."""
    found: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    engines: dict[str, None] = {}
    for record in records:
        if isinstance(record, OutcomeRecord):
            engines[record.key.engine] = None
            cell = found.setdefault(_key_cells(record), {}).setdefault(record.key.engine, Counter())
            cell[record.verdict] += 1
    rows = [
        [test, query, *(_counts(cells.get(engine, Counter())) for engine in engines)]
        for (test, query), cells in found.items()
    ]
    return latex_table("Verdicts", ["test", "query", *engines], rows, ()) if rows else ""


def _counts(counts: Counter[str]) -> str:
    if len(counts) == 1 and counts.total() == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "--"


def _windows(folder: Path) -> str:
    rows = []
    for (test, engine), tally in tally_windows([folder]).items():
        precision, recall = tally.means
        rows.append([test, engine, tally.queries, tally.windows, tally.non_empty, precision, recall])
    header = ["test", "engine", "queries", "windows", "non-empty", "precision", "recall"]
    return latex_table("Windows, precision and recall", header, rows, range(2, 7)) if rows else ""


def _rates(records: Sequence[Record]) -> str:
    rows = [
        [*_key_cells(record), record.key.engine, record.rate, record.unit, record.why or "--"]
        for record in records
        if isinstance(record, MaxRateRecord)
    ]
    header = ["test", "query", "engine", "rate", "unit", "next rate"]
    return latex_table("Highest rates that are held", header, rows, [3]) if rows else ""


def _functional(records: Sequence[Record]) -> str:
    found: dict[tuple[str, str], Counter[FunctionalVerdict]] = {}
    for record in records:
        if isinstance(record, FunctionalRecord):
            found.setdefault((record.engine, record.group), Counter())[record.verdict] += 1
    rows = [[engine, group, *(n[verdict] for verdict in FunctionalVerdict)] for (engine, group), n in found.items()]
    header = ["engine", "group", *(verdict.value for verdict in FunctionalVerdict)]
    return latex_table("Functional suite", header, rows, range(2, len(header))) if rows else ""


def _setting(origin: Provenance) -> str:
    rows: list[list[object]] = [["experiment", origin.experiment], ["started", origin.started]]
    rows += [["commit", origin.commit]] if origin.commit else []
    rows += [["seeds", ", ".join(map(str, origin.all_seeds))]]
    rows += [[f"machine: {name}", value] for name, value in origin.machine.items()]
    rows += [[f"version: {name}", value] for name, value in origin.versions.items()]
    return latex_table("Machine and versions", ["what", "value"], rows, ())

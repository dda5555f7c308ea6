"""From a wrong window to the guilty rows and triples."""

from __future__ import annotations

from collections.abc import Sequence

from hydrograph_gauge.report.document import Guilty, Section, Text, Wrong, WrongGroup, WrongWindow, section
from hydrograph_gauge.report.gather import KEPT_BY_GROUP, Asked, Run
from hydrograph_gauge.report.sections.measures import counted, cut
from hydrograph_gauge.report.sections.times import DAY, instant, span
from hydrograph_gauge.results import Blame, Window

BLAMED = 20
"""Rows of one window, of the missing and of the extra ones each."""
TRIPLES = 30
"""Triples of one row."""
LETTERS = 1_000
"""Characters of one term or triple."""
BUDGET = 4_000_000
"""Characters of all rows and triples together."""


def places(run: Run, part: int) -> dict[Asked, str]:
    """Return where in the page the wrong windows of a query on an engine stand; `part` is the run's number."""
    return {asked: f"wrong-{part}-{number}" for number, asked in enumerate(run.wrong)}


def wrong(run: Run, found: dict[Asked, str]) -> Section | None:
    """Return the wrong windows in detail, as many as there is room for: the first of each query before the second."""
    if not run.wrong:
        return None
    left = BUDGET
    shown: dict[Asked, list[WrongWindow]] = {asked: [] for asked in run.wrong}
    for number in range(KEPT_BY_GROUP):
        for asked, windows in run.wrong.items():
            if number < len(windows) and left > 0:
                window = _window(windows[number])
                left -= _size(window)
                shown[asked].append(window)
    groups = tuple(_group(run, asked, found[asked], shown[asked]) for asked in run.wrong)
    total, detailed = sum(run.wrong_count.values()), sum(map(len, shown.values()))
    note = (
        f"{counted(total, 'window')} with a wrong answer. {_shown(detailed, total)} shown with rows: the first "
        f"{KEPT_BY_GROUP} of each query on each engine, of each window the first {BLAMED} missing and {BLAMED} extra "
        f"rows with at most {TRIPLES} triples. What was written down of the rest is in results.jsonl."
    )
    return section("Wrong windows", Text(note), Wrong(groups))


def _shown(detailed: int, total: int) -> str:
    return "All are" if detailed == total else f"{detailed:,} of them are"


def _group(run: Run, asked: Asked, place: str, windows: Sequence[WrongWindow]) -> WrongGroup:
    facts = run.facts.get((asked.condition.test, asked.query))
    count = run.wrong_count[asked]
    note = f"{count:,} wrong of {counted(len(run.windows[asked]), 'window')}"
    if count > len(windows):
        note += f"; {len(windows):,} shown"
    return WrongGroup(
        place,
        f"{asked.query} on {asked.engine}, {asked.condition.label}",
        note,
        facts.texts.get(asked.engine, facts.text) if facts is not None else "",
        facts.variables if facts is not None else (),
        tuple(windows),
    )


def _window(record: Window) -> WrongWindow:
    facts = [("expected rows", f"{record.expected:,}"), ("rows that came", f"{record.actual:,}")]
    facts += [("precision", f"{record.precision:.4g}"), ("recall", f"{record.recall:.4g}")]
    if record.used_open is not None and record.used_close is not None:
        facts.append(("borders used", span(record.used_open, record.used_close)))
    if record.content is not None:
        facts.append(("triples in the window", f"{record.content:,}"))
    if record.delay is not None:
        facts.append(("delay", f"{record.delay:,.0f} ms"))
    elif record.t is not None:
        facts.append(("delay", "no answer came"))
    if record.opinion:
        facts.append(("second opinion", record.opinion))
    # Rows that came and were expected; what is left of either side is missing or too much.
    hits = round(record.recall * record.expected)
    return WrongWindow(
        title_of(record),
        tuple(facts),
        tuple(map(_guilty, record.missing[:BLAMED])),
        tuple(map(_guilty, record.extra[:BLAMED])),
        max(record.expected - hits, len(record.missing)),
        max(record.actual - hits, len(record.extra)),
    )


def title_of(record: Window) -> str:
    """Return a window by its borders, or by its time."""
    if record.t is None:
        title = "an answer that nothing expected"
    elif record.open is not None and record.close is not None:
        title = f"window {span(record.open, record.close)}"
    else:
        title = f"report at {record.t:,} ms" if abs(record.t) < DAY else f"report at {instant(record.t)} UTC"
    return title if record.key.repetition == 0 else f"{title}, repetition {record.key.repetition + 1}"


def _guilty(blame: Blame) -> Guilty:
    row = tuple(None if term is None else cut(term, LETTERS) for term in blame.row)
    triples = tuple(cut(triple, LETTERS) for triple in blame.triples[:TRIPLES])
    if len(blame.triples) > TRIPLES:
        triples += (f"\N{HORIZONTAL ELLIPSIS} and {len(blame.triples) - TRIPLES:,} more triples",)
    return Guilty(row, triples)


def _size(window: WrongWindow) -> int:
    guilty = window.missing + window.extra
    return 200 + sum(len(text or "") + 8 for each in guilty for text in (*each.row, *each.triples))

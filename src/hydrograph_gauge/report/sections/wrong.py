"""Sections on wrong windows, with their rows and triples, and on windows where rdflib disputes the oracle."""

from __future__ import annotations

from collections.abc import Sequence

from hydrograph_gauge.report.document import (
    BlamedRow,
    Column,
    Section,
    Table,
    Text,
    Value,
    Wrong,
    WrongGroup,
    WrongWindow,
    section,
)
from hydrograph_gauge.report.run_data import KEPT_BY_GROUP, QueryRun, RunData, find_query_run
from hydrograph_gauge.report.sections.measures import DAY, counted, cut, instant, span
from hydrograph_gauge.run_records import RowExplanation, RowText, WindowRecord

BLAMED = 20
"""Rows of one window, of the missing and of the extra ones each."""
TRIPLES = 30
"""Triples of one row."""
LETTERS = 1_000
"""Characters of one term or triple."""
BUDGET = 4_000_000
"""Characters of all rows and triples together."""
DISPUTED = 200
"""Disputed windows that are listed."""
DISPUTED_ROWS = 3
"""Rows of a disputed window, missing and extra ones each."""
DISPUTED_LETTERS = 300


def show_wrong(run: RunData) -> Section | None:
    """Return the wrong windows in detail, within the budget: the first of each query before the second."""
    if not run.wrong:
        return None
    left, anchors = BUDGET, run.anchors
    shown: dict[QueryRun, list[WrongWindow]] = {asked: [] for asked in run.wrong}
    for number in range(KEPT_BY_GROUP):
        for asked, windows in run.wrong.items():
            if number < len(windows) and left > 0:
                window = _window(windows[number])
                left -= _size(window)
                shown[asked].append(window)
    groups = tuple(_group(run, asked, anchors[asked], shown[asked]) for asked in run.wrong)
    total, detailed = sum(run.wrong_count.values()), sum(map(len, shown.values()))
    note = (
        f"{counted(total, 'window')} with a wrong answer. {_shown(detailed, total)} shown with rows: the first "
        f"{KEPT_BY_GROUP} of each query on each engine, of each window the first {BLAMED} missing and {BLAMED} extra "
        f"rows with at most {TRIPLES} triples. The rest is in results.jsonl."
    )
    return section("Wrong windows", Text(note), _unexplained(run), Wrong(groups))


def _unexplained(run: RunData) -> Table | None:
    """Return the smallest window that differs of each query whose fault has no known cause, with its triples."""
    rows: list[tuple[Value, ...]] = []
    for asked, found in run.outcomes.items():
        for outcome in found:
            if (smallest := outcome.smallest) is None:
                continue
            triples = "\n".join(cut(triple, LETTERS) for triple in smallest.triples)
            if smallest.content > len(smallest.triples):
                triples += f"\n\N{HORIZONTAL ELLIPSIS} and {smallest.content - len(smallest.triples):,} more triples"
            where = f"report at {smallest.t:,} ms" if smallest.t is not None else ""
            if smallest.open is not None and smallest.close is not None:
                where = span(smallest.open, smallest.close)
            differs = [f"missing {_join_terms(row)}" for row in smallest.missing[:DISPUTED_ROWS]]
            differs += [f"extra {_join_terms(row)}" for row in smallest.extra[:DISPUTED_ROWS]]
            at = asked.condition.label, asked.engine, outcome.key.query
            rows.append((*at, "; ".join(outcome.faults), where, smallest.content, "\n".join(differs), triples))
    if not rows:
        return None
    return Table(
        "Wrong answers without a recognised cause: of each query the wrong window with the fewest triples. At most "
        f"{DISPUTED_ROWS} missing and {DISPUTED_ROWS} extra rows are shown.",
        (
            Column("test"),
            Column("engine"),
            Column("query"),
            Column("fault"),
            Column("window"),
            Column("triples in it", "count"),
            Column("rows that differ", "code"),
            Column("triples", "code"),
        ),
        tuple(rows[:DISPUTED]),
        headers=3,
    )


def _join_terms(row: RowText) -> str:
    return cut(" ".join("-" if text is None else text for text in row), DISPUTED_LETTERS)


def _shown(detailed: int, total: int) -> str:
    return "All are" if detailed == total else f"{detailed:,} of them are"


def _group(run: RunData, asked: QueryRun, place: str, windows: Sequence[WrongWindow]) -> WrongGroup:
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


def _window(record: WindowRecord) -> WrongWindow:
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


def title_of(record: WindowRecord) -> str:
    """Return a window by its borders, or by its time."""
    if record.t is None:
        title = "an answer that nothing expected"
    elif record.open is not None and record.close is not None:
        title = f"window {span(record.open, record.close)}"
    else:
        title = f"report at {record.t:,} ms" if abs(record.t) < DAY else f"report at {instant(record.t)} UTC"
    return title if record.key.repetition == 0 else f"{title}, repetition {record.key.repetition + 1}"


def _guilty(blame: RowExplanation) -> BlamedRow:
    row = tuple(None if term is None else cut(term, LETTERS) for term in blame.row)
    triples = tuple(cut(triple, LETTERS) for triple in blame.triples[:TRIPLES])
    if len(blame.triples) > TRIPLES:
        triples += (f"\N{HORIZONTAL ELLIPSIS} and {len(blame.triples) - TRIPLES:,} more triples",)
    return BlamedRow(row, triples)


def _size(window: WrongWindow) -> int:
    guilty = window.missing + window.extra
    return 200 + sum(len(text or "") + 8 for each in guilty for text in (*each.row, *each.triples))


def show_disputed(run: RunData) -> Section | None:
    """Return the windows in which rdflib does not confirm the oracle; None if there are none."""
    if not run.disputed:
        return None
    rows: list[tuple[Value, ...]] = []
    for each in run.disputed[:DISPUTED]:
        asked = find_query_run(each.key)
        where = asked.condition.label, asked.engine, asked.query, title_of(each)
        rows.append((*where, each.opinion, _join_rows(each.missing), _join_rows(each.extra)))
    table = Table(
        "Windows in which pyoxigraph, the oracle's evaluator, and the engine differ and rdflib does not side with "
        "pyoxigraph. Where engine and rdflib agree, the answer counts as right, and the query as an oracle error. "
        "Missing and extra are rows as the oracle sees it.",
        (
            Column("test"),
            Column("engine"),
            Column("query"),
            Column("window"),
            Column("who is right"),
            Column("missing", "code"),
            Column("extra", "code"),
        ),
        tuple(rows),
        headers=4,
    )
    left = len(run.disputed) - DISPUTED
    more = Text(f"{left:,} more are left out here; results.jsonl has them.") if left > 0 else None
    return section("Settled differences", table, more)


def _join_rows(found: Sequence[RowExplanation]) -> str:
    lines = [_join_terms(each.row) for each in found[:DISPUTED_ROWS]]
    more = f" and {len(found) - DISPUTED_ROWS} more" if len(found) > DISPUTED_ROWS else ""
    return cut("; ".join(lines), DISPUTED_LETTERS) + more

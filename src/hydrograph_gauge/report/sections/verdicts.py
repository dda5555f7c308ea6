"""Sections on verdicts: the matrix of queries and engines, totals, and failures with their messages."""

from __future__ import annotations

from collections.abc import Iterator

from hydrograph_gauge.engines.outcome import Phase, Verdict
from hydrograph_gauge.report.document import Block, Cell, Column, Section, Table, Text, Value, section
from hydrograph_gauge.report.run_data import Condition, QueryRun, RunData, natural_key
from hydrograph_gauge.report.sections.measures import (
    LETTERS,
    cut,
    has_failed,
    legend,
    listed,
    verdict_cell,
    verdict_of,
    worst,
)
from hydrograph_gauge.run_records import OutcomeRecord

ACROSS = 20
"""Queries in one table; a larger workload is split into several."""
SAID = 400
"""Messages of engines that are shown."""


def show_verdicts(run: RunData) -> Section | None:
    """Return a matrix of engines by queries; a wrong cell links to its windows."""
    anchors = run.anchors
    tables = [table for test in run.tests for table in _matrix(run, test, anchors)]
    return section("Verdicts", *tables, _comparisons(run))


def _comparisons(run: RunData) -> Table | None:
    """Return the verdicts of the exact comparison beside those of the declared one, where that is another."""
    rows: list[tuple[Value, ...]] = []
    for asked, found in run.outcomes.items():
        for outcome in found:
            if outcome.strict_verdict:
                at = asked.condition.label, asked.engine, outcome.key.query, outcome.comparison, outcome.verdict
                rows.append((*at, outcome.strict_verdict, outcome.strict_missing, outcome.strict_extra))
    if not rows:
        return None
    return Table(
        "Verdicts of the comparison that the experiment declares, and of the exact one. exact: numbers are equal "
        "within one datatype. value: by numeric value, whatever the datatypes. double: as doubles.",
        (
            Column("test"),
            Column("engine"),
            Column("query"),
            Column("comparison"),
            Column("verdict"),
            Column("exact verdict"),
            Column("rows missing exactly", "count"),
            Column("rows too many exactly", "count"),
        ),
        tuple(rows[:SAID]),
        headers=3,
    )


def show_totals(run: RunData) -> Section | None:
    """Return total, valid and successful queries, those not asked or excluded, and missing engines."""
    return section("Queries answered", _totals(run), _not_asked(run), _excluded(run), _absent(run))


def show_failures(run: RunData) -> Section | None:
    """Return the failed queries by engine and cause, and the messages of the engines."""
    failed = [outcome for found in run.outcomes.values() for outcome in found if has_failed(outcome)]
    if not failed:
        return None
    return section("Failed queries", _causes(run, failed), *_words(failed))


def _matrix(run: RunData, test: str, anchors: dict[QueryRun, str]) -> Iterator[Table]:
    conditions = [condition for condition in run.conditions if condition.test == test]
    queries = sorted({asked.query for asked in run.outcomes if asked.condition.test == test}, key=natural_key)
    shown = [outcome for asked, found in run.outcomes.items() if asked.condition.test == test for outcome in found]
    swept = any(condition.settings for condition in conditions)
    for start in range(0, len(queries), ACROSS):
        part = queries[start : start + ACROSS]
        rows: list[tuple[Value, ...]] = []
        for condition in conditions:
            for engine in run.engines:
                cells = [_cell(run, QueryRun(condition, query, engine), anchors) for query in part]
                if any(cell.text for cell in cells):
                    where = (settings_of(condition),) if swept else ()
                    rows.append((engine, *where, *cells))
        more = f", queries {part[0]} to {part[-1]}" if len(queries) > ACROSS else ""
        columns = [Column("engine"), *([Column("settings")] if swept else []), *(Column(query) for query in part)]
        yield Table(
            f"Verdicts in test {test}{more}. Of several repetitions the worst counts; a letter with wrong windows "
            f"leads to them. {_compared(shown)}",
            tuple(columns),
            tuple(rows),
            headers=2 if swept else 1,
            tiles=True,
            legend=legend(shown),
        )


def _compared(shown: list[OutcomeRecord]) -> str:
    policies = dict.fromkeys(outcome.comparison for outcome in shown)
    return f"Comparison of rows: {', '.join(policies)}."


def _cell(run: RunData, asked: QueryRun, anchors: dict[QueryRun, str]) -> Cell:
    outcome = worst(run.outcomes.get(asked, []))
    return verdict_cell(outcome, to=anchors.get(asked)) if outcome is not None else Cell("", "not asked", "off")


def settings_of(condition: Condition) -> str:
    """Return the values of what a test sweeps, in words."""
    return Condition("", condition.settings).label.removeprefix(", ")


def _totals(run: RunData) -> Table | None:
    rows: list[tuple[Value, ...]] = []
    for condition in run.conditions:
        asked = sorted({each.query for each in run.outcomes if each.condition == condition}, key=natural_key)
        engines = [e for e in run.engines if any(run.outcome(condition, query, e) for query in asked)]
        for engine in engines:
            found = [outcome for query in asked if (outcome := worst(run.outcome(condition, query, engine)))]
            put = [outcome for outcome in found if verdict_of(outcome) is not Verdict.NOT_ASKED]
            rows.append((condition.label, engine, *_counts(put)))
        if len(engines) > 1:
            each = [[worst(run.outcome(condition, query, engine)) for engine in engines] for query in asked]
            known = [[outcome for outcome in some if outcome] for some in each if None not in some]
            complete = [some for some in known if all(verdict_of(one) is not Verdict.NOT_ASKED for one in some)]
            rows.append((condition.label, "all engines", *_all_counts(complete)))
    columns = ("total", "valid", "with results", "successful")
    if not rows:
        return None
    return Table(
        "Queries by engine. Total: those that it was asked. Valid: the engine registered the query. With results: some "
        "window's expected answer is not empty. Successful: right in every window of every repetition.",
        (Column("test"), Column("engine"), *(Column(name, "count") for name in columns)),
        tuple(rows),
        headers=2,
    )


def _is_valid(outcome: OutcomeRecord) -> bool:
    refused = verdict_of(outcome) in (Verdict.SYNTAX_ERROR, Verdict.NOT_SUPPORTED)
    return not refused and (verdict_of(outcome) is Verdict.OK or outcome.phase != Phase.REGISTRATION)


def _counts(found: list[OutcomeRecord]) -> tuple[int, int, int, int]:
    return _all_counts([[outcome] for outcome in found])


def _all_counts(found: list[list[OutcomeRecord]]) -> tuple[int, int, int, int]:
    return (
        len(found),
        sum(all(_is_valid(outcome) for outcome in some) for some in found),
        sum(any(outcome.non_empty for outcome in some) for some in found),
        sum(all(verdict_of(outcome) is Verdict.OK for outcome in some) for some in found),
    )


def _not_asked(run: RunData) -> Table | None:
    """Return the queries that the language or version of an engine cannot express, with the reason."""
    why: dict[tuple[str, str], list[str]] = {}
    for found in run.outcomes.values():
        for outcome in found:
            if verdict_of(outcome) is Verdict.NOT_ASKED:
                names = why.setdefault((outcome.key.engine, outcome.words), [])
                names += [outcome.key.query] if outcome.key.query not in names else []
    if not why:
        return None
    return Table(
        "Queries that an engine was not asked, because its language or version cannot express them. They do not count.",
        (Column("engine"), Column("queries"), Column("not asked")),
        tuple((engine, listed(sorted(names, key=natural_key)), words) for (engine, words), names in why.items()),
    )


def _excluded(run: RunData) -> Table | None:
    if not run.excluded:
        return None
    ordered = sorted(run.excluded.items(), key=lambda each: (each[0][0], natural_key(each[0][1])))
    rows = tuple((test, query, "; ".join(dict.fromkeys(why))) for (test, query), why in ordered)
    return Table(
        "Queries that performance is not compared on, and why.",
        (Column("test"), Column("query"), Column("why")),
        rows,
        headers=2,
    )


def _absent(run: RunData) -> Table | None:
    if not run.absent:
        return None
    return Table(
        "Engines that could not be run here, and why. They have no influence on the results of the others.",
        (Column("test"), Column("engine"), Column("why", "code")),
        tuple((test, engine, cut(why, 600)) for (test, engine), why in run.absent.items()),
        headers=2,
    )


def _causes(run: RunData, failed: list[OutcomeRecord]) -> Table:
    known = [verdict.value for verdict in LETTERS if verdict not in (Verdict.OK, Verdict.NOT_ASKED)]
    others = [word for word in dict.fromkeys(outcome.verdict for outcome in failed) if word not in known]
    causes = [cause for cause in known + others if any(outcome.verdict == cause for outcome in failed)]
    counts: dict[int, dict[str | None, int]] = {}
    for engine, verdict, count in run.sql(
        "SELECT engine, verdict, count(DISTINCT copy) FROM outcomes WHERE verdict NOT IN ('ok', 'not asked') "
        "GROUP BY GROUPING SETS ((engine, verdict), (engine))"
    ):
        counts.setdefault(engine, {})[verdict] = count
    rows = [
        (name, *(counts.get(place, {}).get(cause) for cause in causes), counts.get(place, {}).get(None, 0))
        for place, name in enumerate(run.engines)
    ]
    return Table(
        "Failed queries by engine and cause. A query that failed under several conditions counts once for each cause.",
        (Column("engine"), *(Column(cause, "count") for cause in causes), Column("any cause", "count")),
        tuple(rows),
    )


def _words(failed: list[OutcomeRecord]) -> Iterator[Block]:
    groups: dict[tuple[str, str, str, str, str], list[str]] = {}
    for outcome in failed:
        printed = f"standard error: {' | '.join(outcome.errors)}" if outcome.errors else ""
        said = "; ".join(filter(None, [outcome.words, *outcome.faults, *outcome.notes, printed]))
        names = groups.setdefault((outcome.key.engine, outcome.verdict, outcome.phase, outcome.origin or "", said), [])
        if outcome.key.query not in names:
            names.append(outcome.key.query)
    rows = [
        (engine, verdict, phase, origin, listed(sorted(names, key=natural_key)), cut(said, 600))
        for (engine, verdict, phase, origin, said), names in groups.items()
    ]
    yield Table(
        "Messages of the engines, word for word; for wrong answers, the diagnosis of the judge. Each failure is "
        "attributed to the engine, its adapter, or the text that it was asked.",
        (
            Column("engine"),
            Column("cause"),
            Column("phase"),
            Column("attributed to"),
            Column("queries"),
            Column("words", "code"),
        ),
        tuple(rows[:SAID]),
    )
    if len(rows) > SAID:
        yield Text(f"{len(rows) - SAID:,} more lines are left out here; results.jsonl has them.")

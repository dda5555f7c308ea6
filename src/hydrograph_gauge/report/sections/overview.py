"""Sections with the summary, and with the provenance of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.report.document import Facts, Items, Section, section
from hydrograph_gauge.report.run_data import RunData
from hydrograph_gauge.report.sections.measures import counted, has_failed, listed, verdict_of
from hydrograph_gauge.run_records import FunctionalVerdict, OutcomeRecord, Setting


def show_provenance(run: RunData) -> Section | None:
    """Return machine, versions, seeds, commit and settings."""
    found = run.origin
    run_facts = [("experiment", found.experiment), ("started", found.started)]
    if len(found.all_seeds) == 1:
        run_facts.append(("seed", str(found.all_seeds[0])))
    run_facts.append(("commit", found.commit or "not known"))
    groups = [
        Facts("Run", tuple(run_facts)),
        _facts("Seeds", {test: str(seed) for test, seed in found.seeds.items()} if len(found.all_seeds) > 1 else {}),
        _facts("Settings", found.settings),
        _facts("Machine", found.machine),
        _facts("Versions", found.versions),
    ]
    return section("Origin", *groups)


def show_summary(run: RunData) -> Section | None:
    """Return the findings, a sentence for each engine."""
    sentences = [*_overall(run), *(_engine(run, engine) for engine in run.engines)]
    return section("Summary", Items(tuple(sentences))) if sentences else None


def _facts(title: str, values: Mapping[str, Setting]) -> Facts | None:
    if not values:
        return None
    return Facts(title, tuple((name, _shown(value)) for name, value in values.items()))


def _shown(value: Setting) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def _overall(run: RunData) -> Iterator[str]:
    if not run.outcomes:
        return
    ((windows, non_empty, repetitions),) = run.sql(
        "SELECT sum(windows)::BIGINT, sum(non_empty)::BIGINT, 1 + max(repetition) FROM outcomes"
    )
    asked = f"{counted(len(run.queries), 'query', 'queries')} on {counted(len(run.engines), 'engine')}"
    under = counted(len(run.conditions), "condition") if len(run.conditions) > 1 else ""
    again = f"up to {repetitions:,} times each" if repetitions > 1 else ""
    circumstances = ", ".join(filter(None, [f"under {under}" if under else "", again]))
    yield (
        f"{asked}{' ' + circumstances if circumstances else ''}: {counted(windows, 'window')} judged, "
        f"{non_empty:,} of them with a non-empty expected answer."
    )
    if windows and not non_empty:
        yield "No window has a non-empty expected answer: right answers prove nothing here."


def _engine(run: RunData, engine: str) -> str:
    sentences = []
    found = [outcome for asked, each in run.outcomes.items() if asked.engine == engine for outcome in each]
    if found:
        sentences.append(_judgement(found))
    tests = [each for each in run.functional if each.engine == engine and each.passed is not None]
    if tests:
        passed = sum(bool(each.passed) for each in tests)
        unstable = sum(each.verdict is FunctionalVerdict.UNSTABLE for each in tests)
        unsure = f", {unstable:,} unstable" if unstable else ""
        sentences.append(f"{passed:,} of {counted(len(tests), 'functional test')} passed{unsure}.")
    return f"{engine}: {' '.join(sentences)}"


def _judgement(found: list[OutcomeRecord]) -> str:
    right = sum(verdict_of(outcome) is Verdict.OK for outcome in found)
    asked = [outcome for outcome in found if verdict_of(outcome) is not Verdict.NOT_ASKED]
    said = f"{right:,} of {counted(len(asked), 'run')} right"
    windows = sum(outcome.windows for outcome in found)
    if windows:
        share = sum(outcome.right for outcome in found)
        precision = _weighted([(outcome.precision, outcome.windows) for outcome in found])
        recall = _weighted([(outcome.recall, outcome.windows) for outcome in found])
        said += f", {share:,} of {counted(windows, 'window')}"
        said += f"; precision {precision}, recall {recall}" if precision is not None else ""
    failed: dict[str, list[str]] = {}
    for outcome in found:
        if has_failed(outcome) and outcome.key.query not in failed.setdefault(outcome.verdict, []):
            failed[outcome.verdict].append(outcome.key.query)
    causes = [f"{cause}: {listed(queries)}" for cause, queries in failed.items()]
    if causes:
        said += f". Not right: {'; '.join(causes)}"
    if unasked := list(dict.fromkeys(each.key.query for each in found if verdict_of(each) is Verdict.NOT_ASKED)):
        said += f". Not asked: {listed(unasked)}"
    if faults := _faults(found):
        said += f". Diagnosis: {'; '.join(faults)}"
    return said + "."


def _faults(found: list[OutcomeRecord]) -> list[str]:
    """Return each kind of fault with its queries; numbers and places, after the colon, are with the failed queries."""
    queries: dict[str, list[str]] = {}
    for outcome in found:
        for fault in outcome.faults:
            names = queries.setdefault(fault.partition(":")[0], [])
            if outcome.key.query not in names:
                names.append(outcome.key.query)
    return [f"{listed(names)}: {fault}" for fault, names in queries.items()]


def _weighted(values: list[tuple[float | None, int]]) -> str | None:
    """Return the mean over windows; a mean below 1 is never shown as 1."""
    known = [(value, weight) for value, weight in values if value is not None and weight]
    if not known:
        return None
    value = sum(value * weight for value, weight in known) / sum(weight for _, weight in known)
    return "1" if value == 1 else f"{min(value, 0.9999):.4f}"

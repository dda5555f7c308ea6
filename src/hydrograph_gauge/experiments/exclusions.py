"""Which queries are not compared by speed: those that some engine answered wrong, or nobody answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hydrograph_gauge.engines.verdict import Verdict
from hydrograph_gauge.experiments.model import Test
from hydrograph_gauge.experiments.queries import Posed
from hydrograph_gauge.experiments.results_file import Results
from hydrograph_gauge.results import Excluded, Outcome


def excluded(test: Test, queries: Sequence[Posed], written: Results) -> Iterator[Excluded]:
    """Yield the queries that were not right, or said nothing, on some engine of the test that decides."""
    if test.only_right is None:
        return
    for query in queries:
        name = query.name.partition("/")[0]
        found = [o for o in written.outcomes.values() if o.key.test == test.only_right and o.key.query == name]
        if why := _why_not(found, test.engines):
            yield Excluded(test=test.name, query=query.name, why=why)


def _why_not(outcomes: Sequence[Outcome], engines: Sequence[str]) -> str:
    """Return why a query is not compared by speed; nothing if it is."""
    if silent := [engine for engine in engines if not any(each.key.engine == engine for each in outcomes)]:
        return f"not asked of {silent[0]}"
    for outcome in outcomes:
        if outcome.key.engine in engines and outcome.verdict != Verdict.OK:
            return f"{outcome.verdict} on {outcome.key.engine}"
    return "" if any(outcome.non_empty for outcome in outcomes) else "no results"

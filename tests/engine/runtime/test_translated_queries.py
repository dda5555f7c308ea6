"""A query that is said to keep its meaning in another dialect gives the same answers there, from the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hydrograph.errors import UnsupportedError
from hydrograph.language import DIALECTS, parse
from hydrograph.language.translate_dialect import Rewording, reword
from hydrograph.runtime.placement.local import Local
from hydrograph.windows.profile import PRESETS, preset
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.evaluate import Report
from tests.support.random_cases import Case
from tests.support.random_reports import random_report_case
from tests.support.reported import answer_any

FIRST_SEED = 70_000
SEEDS = 160


def reworded(case: Case, to: str) -> Rewording | None:
    """Return the query in another dialect, None where that has no words for it."""
    try:
        return reword(case.query, to, case.profile)
    except UnsupportedError:
        return None


def fresh(case: Case, placed: Local) -> list[Report]:
    placed.forget()
    return answer_any(case, placed)


@pytest.mark.parametrize("to", ["rspql", "csparql", "cqels", "sparqlstream"])
def test_what_is_kept_is_kept_by_the_engine(to: str) -> None:
    """Under the other dialect's own profile if nothing is lost, under those that are advised if some are."""
    kept, advised = 0, 0
    with Local(threads=1, small=True) as placed:
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
            drawn = random_report_case(seed)
            for source in (drawn.profile.name, DIALECTS[to].preset):
                if source not in PRESETS:
                    continue
                case = replace(drawn, profile=preset(source), static=StaticData())
                found = reworded(case, to)
                if found is None or (found.lost and found.preset is None):
                    continue
                profile = preset(DIALECTS[to].preset) if not found.lost else preset(found.preset or "")
                back = replace(case, query=parse(found.text, to), profile=profile)
                try:
                    answers = [fresh(each, placed) for each in (case, back)]
                except UnsupportedError:  # a window that never closes, under a profile that waits for it
                    continue
                assert not compare_reports(*answers), f"seed {seed}, {source}\n{case}\n{found.text}"
                said = any(report.rows for report in answers[0])
                kept, advised = kept + (said and not found.lost), advised + (said and bool(found.lost))
    # C-SPARQL has words for the fewest windows, and no profile but its own is ever advised to it.
    assert kept >= 4, (kept, advised)

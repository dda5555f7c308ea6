"""The case files of `tests/cases/optimizer`, one for each rule: a query, its algebra before the rule and after it.

`HYDROGRAPH_GOLDEN=1 pytest tests/engine/optimizer` writes the results into the files; review the difference.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from hydrograph.algebra import sse
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language import parse
from hydrograph.optimizer import RULES, Rule, optimize
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import StaticData
from tests.support import replay_adapter as replay
from tests.support.random_cases import Case
from tests.support.random_data import NAMESPACE, Shape, random_graph, random_stream

CASES = Path(__file__).parents[2] / "cases" / "optimizer"
GOLDEN = os.environ.get("HYDROGRAPH_GOLDEN") == "1"
_CASE = re.compile(r"# ([^\n]*)\n--- query\n(.*?)--- before\n(.*?)--- after\n(.*?)(?:\n(?=# )|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileCase:
    """One case of a file."""

    title: str
    text: str
    before: str
    after: str

    @property
    def query(self) -> ContinuousQuery:
        return parse(f"PREFIX : <{NAMESPACE}>\n{self.text}")

    def written(self) -> str:
        return f"# {self.title}\n--- query\n{self.text}--- before\n{self.before}--- after\n{self.after}"


def cases_of(rule: Rule) -> list[FileCase]:
    text = (CASES / f"{rule.__name__}.test").read_text("utf-8")
    found = [FileCase(*groups) for groups in _CASE.findall(text)]
    assert "\n".join(case.written() for case in found) == text, f"{rule.__name__}.test: expected cases and nothing else"
    return found


def applied(rule: Rule, case: FileCase) -> FileCase:
    """Return the case as it comes out: before the rule come the rules that stand before it."""
    before = optimize(case.query.pattern, RULES[: RULES.index(rule)])
    return FileCase(case.title, case.text, sse.print_pattern(before) + "\n", sse.print_pattern(rule(before)) + "\n")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_makes_of_its_cases_what_the_file_says(rule: Rule) -> None:
    found = [applied(rule, case) for case in cases_of(rule)]
    if GOLDEN:
        (CASES / f"{rule.__name__}.test").write_text("\n".join(case.written() for case in found), "utf-8")
    assert found == cases_of(rule)
    assert any(case.before != case.after for case in found)
    assert any(case.before == case.after for case in found), "a rule has a case that it leaves alone"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_keeps_the_answers_of_its_cases(rule: Rule, monkeypatch: pytest.MonkeyPatch, local: Local) -> None:
    rules = RULES[: RULES.index(rule) + 1]
    monkeypatch.setattr(replay, "case_plan", lambda case: plan(case.query, case.profile, case.t0, rules))
    for file_case in cases_of(rule):
        case = with_answers(file_case.query)
        found = compare_reports(case.expected(), replay.answer(case, placed=local))
        assert not found, f"{file_case.title}, seed {case.seed}"


def with_answers(query: ContinuousQuery) -> Case:
    """Return the first random data over which a query has answers."""
    for seed in range(50):
        rng = Random(seed)
        elements = {window.stream: random_stream(rng, Shape(30)) for window in query.windows}
        case = Case(seed, query, elements, StaticData(random_graph(rng, 12)))
        if any(report.rows for report in case.expected()):
            return case
    pytest.fail("expected data with answers among 50 seeds")


def test_every_case_file_has_its_rule() -> None:
    assert {path.stem for path in CASES.glob("*.test")} == {rule.__name__ for rule in RULES}

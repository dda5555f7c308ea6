"""BNODE with a label: one blank node for a label in one solution, another in every other solution."""

from __future__ import annotations

from pathlib import Path

import pytest

import hydrograph

FROM = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 10 STEP 10]"
WHERE = "WHERE { WINDOW <urn:w> { ?s <urn:p> ?o } }"


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    file = tmp_path / "stream.tnt"
    file.write_text("".join(f'1\t<urn:{s}> <urn:p> "{o}" .\n' for s, o in (("a", "x"), ("b", "x"), ("c", "y"))))
    return file


def rows(stream: Path, text: str) -> tuple[tuple[str | None, ...], ...]:
    with hydrograph.query(text).over(stream, placement="local") as run:
        (report,) = run.reports()
    return report.rows


@pytest.mark.parametrize(
    "columns",
    [
        '(BNODE(?o) AS ?x) (BNODE(?o) AS ?y) (BNODE("z") AS ?z)',
        '(BNODE(?o) AS ?x) (STR(?s) AS ?t) (BNODE(?o) AS ?y) (BNODE("z") AS ?z)',
        '(BNODE(?o) AS ?x) (COALESCE(?none, BNODE(?o)) AS ?y) (BNODE(CONCAT("z", "")) AS ?z)',
    ],
)
def test_the_label_counts_within_a_solution(stream: Path, columns: str) -> None:
    found = rows(stream, f"SELECT ?x ?y ?z {FROM} {{ {{ SELECT {columns} {WHERE} }} }}")
    assert len(found) == 3
    assert all(x == y != z for x, y, z in found)
    assert len({term for row in found for term in row}) == 6


def test_equal_solutions_have_blank_nodes_of_their_own(stream: Path) -> None:
    bound = "BIND(BNODE(?o) AS ?x) BIND(BNODE(?o) AS ?y)"
    found = rows(stream, f"SELECT ?x ?y {FROM} {{ {{ SELECT ?o {WHERE} }} {bound} }}")
    assert all(x == y for x, y in found)
    assert len({x for x, _ in found}) == 3


def test_a_second_run_gives_the_same(stream: Path) -> None:
    text = f"SELECT (BNODE(?o) AS ?x) (BNODE(?o) AS ?y) {FROM} {WHERE}"
    assert rows(stream, text) == rows(stream, text)

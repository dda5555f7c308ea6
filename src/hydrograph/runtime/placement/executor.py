"""The steps of a program that are more than a part of one query, driven the same way in both placements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from hydrograph.compile.program import MAX_ROUNDS, Fixpoint, Keep, Let, Program, read, with_steps
from hydrograph.errors import RunError

Rows = TypeVar("Rows")
Run = Callable[[exp.Query], Rows]
Store = Callable[[str, Rows, Rows | None], tuple[str, Rows, bool]]
"""Stores rows under a name, behind earlier rows of that name: their table, all its rows, whether there are new ones."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The tables of the steps of one program that have been computed for all its runs."""

    program: Program | None = None
    tables: Mapping[str, str] = field(default_factory=dict)

    def of(self, program: Program) -> Mapping[str, str]:
        """Return the tables for a program: none for another one, whose steps may have the same names."""
        return self.tables if program is self.program else {}


def drive(
    program: Program, run: Run[Rows], store: Store[Rows], standing: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Compute what a program keeps; return the table of each kept step.

    `standing` are the tables of steps that have been computed before.
    """
    kept = dict(standing or {})
    for step in program.steps:
        if step.name in kept:
            continue
        match step:
            case Let():
                pass
            case Keep(name, query):
                kept[name], _, _ = store(name, run(program.query(query, kept)), None)
            case Fixpoint():
                _repeat(program, step, kept, run, store)
    return kept


def _repeat(program: Program, step: Fixpoint, kept: dict[str, str], run: Run[Rows], store: Store[Rows]) -> None:
    """Add what follows from the rows of the last round until there is nothing new."""
    kept[step.delta], found, is_new = store(step.delta, run(program.query(step.query, kept)), None)
    kept[step.name], rows, _ = store(step.name, found, None)
    steps = {inner.name: inner for inner in (*program.steps, *step.steps)}
    rounds = 0
    while is_new:
        rounds += 1
        if rounds > MAX_ROUNDS:
            raise RunError(f"a property path is longer than {MAX_ROUNDS:,} steps; give it a shorter window or a bound")
        found = run(with_steps(read(step.steps[-1].name), steps, kept))
        kept[step.delta], found, is_new = store(step.delta, found, None)
        kept[step.name], rows, _ = store(step.name, found, rows)

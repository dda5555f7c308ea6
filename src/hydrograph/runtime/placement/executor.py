"""Executor of compiled programs: prints the steps of a program as SQL once and runs them in any placement."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sqlglot import exp

from hydrograph.compile.program import (
    MAX_ROUNDS,
    Fixpoint,
    Let,
    Materialize,
    Program,
    select_all,
    static_steps,
    with_steps,
)
from hydrograph.errors import RunError

Rows = TypeVar("Rows")


class Backend(Protocol[Rows]):
    """A SQL engine, as the executor sees it; `Rows` are its tables or lazy frames."""

    def query(self, text: str, parameters: Mapping[str, int | str]) -> Rows:
        """Return the rows of a SQL text."""
        ...

    def store(self, table: str, rows: Rows, earlier: Rows | None = None) -> tuple[Rows, bool]:
        """Materialise rows as a table, appended to the earlier rows; return all its rows and whether some are new."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedStep:
    """A step whose rows are materialised, as SQL."""

    table: str
    first: str
    """The rows of the step; of a fixpoint, those of its first round."""
    delta: str = ""
    """The table with the rows of the last round, of a fixpoint."""
    again: str = ""
    """The rows that follow from those of the last round, of a fixpoint."""


@dataclass(frozen=True, slots=True)
class PreparedProgram:
    """A program printed as SQL: plain data, without a connection, run any number of times."""

    static: tuple[tuple[str, str], ...]
    """Tables of the steps that read static data alone, each with its SQL."""
    steps: tuple[PreparedStep, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, str]

    @classmethod
    def of(
        cls,
        program: Program,
        outputs: Sequence[exp.Select],
        print_query: Callable[[exp.Query], str],
        *,
        prefix: str = "",
        static_prefix: str | None = None,
        whole: Program | None = None,
    ) -> PreparedProgram:
        """Print the steps of a program and its output queries.

        Tables of steps are named with `prefix`. With a `static_prefix`, the steps that read static data alone are
        computed once by `load_static`, into tables named with it; else each run computes them. `whole` is the program
        that this one is a part of, if there is one: its static steps are computed, not only those of the part.
        """
        tables: dict[str, str] = {}
        static: list[tuple[str, str]] = []
        if static_prefix is not None:
            for fixed in static_steps(whole or program):
                text = print_query((whole or program).query(fixed.query, tables))
                tables[fixed.name] = static_table(fixed.name, static_prefix)
                static.append((tables[fixed.name], text))
        steps: list[PreparedStep] = []
        for step in program.steps:
            if step.name in tables:
                continue
            match step:
                case Let():
                    pass
                case Materialize(name, query):
                    text = print_query(program.query(query, tables))
                    tables[name] = f"{prefix}{name}"
                    steps.append(PreparedStep(tables[name], text))
                case Fixpoint(name, query, delta, inner):
                    first = print_query(program.query(query, tables))
                    tables |= {name: f"{prefix}{name}", delta: f"{prefix}{delta}"}
                    by_name = {each.name: each for each in (*program.steps, *inner)}
                    again = print_query(with_steps(select_all(inner[-1].name), by_name, tables))
                    steps.append(PreparedStep(tables[name], first, tables[delta], again))
        texts = tuple(print_query(program.query(output, tables)) for output in outputs)
        return cls(tuple(static), tuple(steps), texts, program.constants)

    def reads(self, table: str) -> bool:
        """Tell whether a step or an output query, apart from the static steps, reads a table."""
        texts = (*(text for step in self.steps for text in (step.first, step.again)), *self.outputs)
        return any(re.search(rf"\b{re.escape(table)}\b", text) for text in texts)


def static_table(step: str, static_prefix: str) -> str:
    """Return the table that holds the rows of a static step."""
    return f"{static_prefix}{step}"


def load_static(prepared: PreparedProgram, backend: Backend[Rows]) -> None:
    """Compute the steps that depend on static data alone, for all runs until static data is replaced."""
    for table, text in prepared.static:
        backend.store(table, backend.query(text, prepared.constants))


def execute(prepared: PreparedProgram, backend: Backend[Rows], parameters: Mapping[str, int]) -> list[Rows]:
    """Run the steps of a program in order; return the rows of each output query."""
    values: dict[str, int | str] = {**parameters, **prepared.constants}
    for step in prepared.steps:
        rows = backend.query(step.first, values)
        if step.delta:
            run_fixpoint(step, rows, backend, values)
        else:
            backend.store(step.table, rows)
    return [backend.query(text, values) for text in prepared.outputs]


def run_fixpoint(step: PreparedStep, found: Rows, backend: Backend[Rows], values: Mapping[str, int | str]) -> None:
    """Add the rows that follow from those of the last round until there are no new ones (semi-naive evaluation)."""
    found, is_new = backend.store(step.delta, found)
    rows, _ = backend.store(step.table, found)
    rounds = 0
    while is_new:
        rounds += 1
        if rounds > MAX_ROUNDS:
            raise RunError(f"a property path is longer than {MAX_ROUNDS:,} steps; give it a shorter window or a bound")
        found, is_new = backend.store(step.delta, backend.query(step.again, values))
        rows, _ = backend.store(step.table, found, rows)

"""A program as SQL texts for the database beside the driver, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile.print import Target, print_sql
from hydrograph.compile.program import MAX_ROUNDS, Fixpoint, Keep, Let, Program, read, with_steps
from hydrograph.compile.static_steps import standing
from hydrograph.errors import RunError
from hydrograph.runtime.placement.local import Local


def standing_table(step: str, prefix: str) -> str:
    """Return the table in which a static step of a program stands."""
    return f"{prefix}{step}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program as texts for the database beside the driver: nothing is planned twice."""

    standing: tuple[tuple[str, str], ...]
    """The tables of steps that read static data alone, and their texts."""
    steps: tuple[tuple[Keep | Fixpoint, str, str], ...]
    finals: tuple[str, ...]
    constants: Mapping[str, str]

    @classmethod
    def of(cls, program: Program, asked: Sequence[exp.Select], prefix: str, whole: Program | None = None) -> Prepared:
        """Print the steps and the final queries; `prefix` tells the static tables of one program from another's.

        `whole` is the program that this one is a part of, if it is: static data is made ready for all of it.
        """
        kept: dict[str, str] = {}
        ready: list[tuple[str, str]] = []
        for each in standing(whole or program):
            text = print_sql((whole or program).query(each.query, kept), Target.DUCKDB)
            kept[each.name] = standing_table(each.name, prefix)
            ready.append((kept[each.name], text))
        steps: list[tuple[Keep | Fixpoint, str, str]] = []
        for step in program.steps:
            if step.name in kept:
                continue
            match step:
                case Let():
                    pass
                case Keep(name, query):
                    steps.append((step, print_sql(program.query(query, kept), Target.DUCKDB), ""))
                    kept[name] = name
                case Fixpoint(name, query, delta, inner):
                    first = print_sql(program.query(query, kept), Target.DUCKDB)
                    kept |= {name: name, delta: delta}
                    named = {each.name: each for each in (*program.steps, *inner)}
                    again = print_sql(with_steps(read(inner[-1].name), named, kept), Target.DUCKDB)
                    steps.append((step, first, again))
        texts = tuple(print_sql(program.query(final, kept), Target.DUCKDB) for final in asked)
        return cls(tuple(ready), tuple(steps), texts, program.constants)

    def stand(self, placed: Local) -> None:
        """Compute what depends on static data alone, which is not touched again until other data takes its place."""
        for table, text in self.standing:
            placed.add_table(table, placed.query(text, self.constants))

    def run(self, placed: Local, parameters: Mapping[str, int]) -> list[pa.Table]:
        """Return the rows of each final query."""
        given: dict[str, int | str] = {**parameters, **self.constants}
        for step, first, again in self.steps:
            found = placed.query(first, given)
            placed.add_table(step.name, found)
            if isinstance(step, Fixpoint):
                self._repeat(placed, step, found, again, given)
        return [placed.query(text, given) for text in self.finals]

    @staticmethod
    def _repeat(placed: Local, step: Fixpoint, found: pa.Table, again: str, given: Mapping[str, int | str]) -> None:
        rows = found
        for _ in range(MAX_ROUNDS):
            placed.add_table(step.delta, found)
            if not found.num_rows:
                return
            found = placed.query(again, given)
            rows = pa.concat_tables([rows, found])
            placed.add_table(step.name, rows)
        raise RunError(f"a property path is longer than {MAX_ROUNDS:,} steps; give it a shorter window or a bound")

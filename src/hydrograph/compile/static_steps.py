"""The steps of a program that read nothing but static data: their rows are the same whatever arrives (S27)."""

from __future__ import annotations

from sqlglot import exp

from hydrograph.compile.program import Keep, Let, Program, tables_of


def standing(program: Program) -> tuple[Let | Keep, ...]:
    """Return the static steps that other steps read, in order; a `Let` that only static steps read stands inside them.

    A program that is run again and again needs their rows computed once.
    """
    static = {source.name for source in program.statics}
    given = set(program.constants)
    found: dict[str, Let | Keep] = {}
    reads: dict[str, set[str]] = {}
    for step in program.steps:
        reads[step.name] = {table.name for table in tables_of(step.query)}
        fixed = reads[step.name] <= static | found.keys() and _parameters(step.query) <= given
        if isinstance(step, Let | Keep) and reads[step.name] and fixed:
            found[step.name] = step
    used = {name for step, names in reads.items() if step not in found for name in names}
    used.add(program.answer)
    # What is kept is read as a table, by static steps too: no query has it inside.
    return tuple(step for name, step in found.items() if name in used or isinstance(step, Keep))


def _parameters(query: exp.Query) -> set[str]:
    return {str(found.this) for found in query.find_all(exp.Placeholder)}

"""Lint: notes on valid but probably unintended parts of a query, with their position in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hydrograph.algebra.nodes import Project
from hydrograph.algebra.queries import Construct, ContinuousQuery, Describe, Select
from hydrograph.algebra.walk import expressions, is_visible, mentioned, subpatterns, variables
from hydrograph.language.lexer import did_you_mean, tokenize
from hydrograph.rdf.terms import Variable


class Note(NamedTuple):
    """Note about a position in the text, counted from 1; `hint` suggests what may have been meant."""

    line: int
    column: int
    message: str
    hint: str | None


def notes(text: str, query: ContinuousQuery) -> list[Note]:
    """Return the notes about a text and its algebra, in the order of the text."""
    return sorted(_unbound(text, query))


def _unbound(text: str, query: ContinuousQuery) -> Iterator[Note]:
    """Yield the variables that are read but never bound."""
    patterns = list(subpatterns(query.pattern))
    bound = {variable for one in patterns if not isinstance(one, Project) for variable in variables(one)}
    read = {variable for one in patterns for expression in expressions(one) for variable in mentioned(expression)}
    missing = (read | _projected(query)) - bound
    known = sorted(f"?{variable.name}" for variable in bound if is_visible(variable))
    for variable in missing:
        if is_visible(variable):
            line, column = _place(text, variable)
            hint = did_you_mean(f"?{variable.name}", known).removeprefix("; ") or None
            yield Note(line, column, f"?{variable.name} is read, but nothing binds it", hint)


def _projected(query: ContinuousQuery) -> set[Variable]:
    """Return the variables that the form of a query reads."""
    match query.form:
        case Select(selected):
            return set(selected)
        case Construct(template):
            terms = [term for one in template for term in (one.subject, one.predicate, one.object, one.graph)]
            return {term for term in terms if isinstance(term, Variable)}
        case Describe(resources):
            return {resource for resource in resources if isinstance(resource, Variable)}
        case _:
            return set()


def _place(text: str, variable: Variable) -> tuple[int, int]:
    """Return line and column of the first occurrence of a variable."""
    names = (f"?{variable.name}", f"${variable.name}")
    offset = next((token.offset for token in tokenize(text) if token.text in names), 0)
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

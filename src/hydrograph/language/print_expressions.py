"""Expressions and variables as query text, with no more brackets than needed."""

from __future__ import annotations

from typing import assert_never

from hydrograph.algebra.expressions import (
    Aggregate,
    And,
    Calculate,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Negate,
    Not,
    Or,
    Reference,
)
from hydrograph.algebra.nodes import Pattern
from hydrograph.algebra.walk import is_visible
from hydrograph.language.print_terms import TermPrinter, quote
from hydrograph.rdf.terms import Iri, Literal, Variable

_ANY, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(8)


class ExpressionPrinter:
    """Prints expressions.

    Generated variables (with a leading dot) are printed as the blank node or the aggregate they stand for. Those that
    stand where neither is allowed are collected in `exposed`; a second run gives them the names in `names`.
    """

    def __init__(self, terms: TermPrinter, names: dict[Variable, str]) -> None:
        """Print with the prefixes of `terms`."""
        self.terms = terms
        self.names = names
        self.exposed: dict[Variable, None] = {}
        self.visible: set[str] = set()
        self.base: Iri | None = None
        """The base that a call of IRI needs, if there is one."""
        self.aggregates: dict[Variable, Aggregate] = {}

    def exists(self, pattern: Pattern) -> str:
        """Return the group of EXISTS."""
        raise NotImplementedError

    def variable(self, variable: Variable) -> str:
        """Return a variable where the grammar wants one."""
        if is_visible(variable):
            self.visible.add(variable.name)
            return f"?{variable.name}"
        self.exposed[variable] = None
        return self.names.get(variable, f"?{variable.name[1:]}")

    def constraint(self, expression: Expression) -> str:
        """Return a condition as FILTER and HAVING want it: a call, or brackets."""
        text = self.expression(expression)
        return text if isinstance(expression, Call | Exists) else f"({text})"

    def expression(self, expression: Expression, least: int = _ANY) -> str:
        """Return an expression, in brackets where it binds weaker than `least`."""
        text, rank = self._expression(expression)
        return text if rank >= least else f"({text})"

    def _expression(self, expression: Expression) -> tuple[str, int]:
        """Return an expression and how strongly it binds."""
        match expression:
            case Constant(term):
                return self.terms.term(term), _PRIMARY
            case Reference(variable):
                aggregate = self.aggregates.get(variable)
                return self.variable(variable) if aggregate is None else self.aggregate(aggregate), _PRIMARY
            case Compare(operator, left, right):
                return f"{self.expression(left, _SUM)} {operator} {self.expression(right, _SUM)}", _RELATION
            case Calculate(operator, left, right):
                rank = _SUM if operator in "+-" else _PRODUCT
                return f"{self.expression(left, rank)} {operator} {self.expression(right, rank + 1)}", rank
            case Negate(operand):
                # A number right behind the sign would become negative itself.
                bare = isinstance(operand, Constant) and isinstance(operand.term, Literal)
                text = f"({self.expression(operand)})" if bare else self.expression(operand, _PRIMARY)
                return f"-{text}", _UNARY
            case Not(operand):
                return f"!{self.expression(operand, _PRIMARY)}", _UNARY
            case And(operands):
                return " && ".join(self.expression(one, _RELATION) for one in operands), _AND
            case Or(operands):
                return " || ".join(self.expression(one, _AND) for one in operands), _OR
            case In(operand, choices, negated):
                word = "NOT IN" if negated else "IN"
                return f"{self.expression(operand, _SUM)} {word} {self._list(choices)}", _RELATION
            case Call(function, arguments):
                return self._call(function, arguments), _PRIMARY
            case Exists(pattern, negated):
                return f"{'NOT ' if negated else ''}EXISTS {self.exists(pattern)}", _PRIMARY
            case _:
                assert_never(expression)

    def _list(self, arguments: tuple[Expression, ...]) -> str:
        """Return arguments in brackets."""
        return f"({', '.join(self.expression(one) for one in arguments)})"

    def _call(self, function: str | Iri, arguments: tuple[Expression, ...]) -> str:
        """Return a call; the base of IRI stands in the prologue instead."""
        if isinstance(function, Iri):
            return self.terms.iri(function) + self._list(arguments)
        if function == "IRI" and len(arguments) > 1:
            match arguments[1]:
                case Constant(Iri() as base):
                    self.base = base
            arguments = arguments[:1]
        return function + self._list(arguments)

    def aggregate(self, aggregate: Aggregate) -> str:
        """Return an aggregate."""
        distinct = "DISTINCT " if aggregate.distinct else ""
        argument = "*" if aggregate.argument is None else self.expression(aggregate.argument)
        separator = "" if aggregate.separator is None else f"; SEPARATOR={quote(aggregate.separator)}"
        return f"{aggregate.name}({distinct}{argument}{separator})"

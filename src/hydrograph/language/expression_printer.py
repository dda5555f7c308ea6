"""Printer of terms, property paths and expressions, with no more brackets than needed."""

from __future__ import annotations

import re
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
from hydrograph.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    Path,
    Pattern,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.algebra.walk import is_visible
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

_BARE = {
    XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
    XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD_DOUBLE: re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+"),
    XSD_BOOLEAN: re.compile(r"true|false"),
}
_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"},
)
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_ALTERNATIVE, _SEQUENCE, _STEP, _ELEMENT, _PRIMARY_PATH = range(5)


class TermPrinter:
    """Printer of terms with the prefixes of one query."""

    def __init__(self, prefixes: tuple[tuple[str, str], ...] = ()) -> None:
        """Prefer the prefix with the longest namespace."""
        # The last declaration of a prefix wins.
        self._namespaces = sorted(((iri, name) for name, iri in dict(prefixes).items()), key=lambda one: -len(one[0]))

    def iri(self, iri: Iri) -> str:
        """Return a prefixed name where the rest is simple, else the whole IRI."""
        for namespace, prefix in self._namespaces:
            if iri.value.startswith(namespace) and _LOCAL.fullmatch(iri.value, len(namespace)):
                return f"{prefix}:{iri.value[len(namespace) :]}"
        return f"<{iri.value}>"

    def literal(self, literal: Literal) -> str:
        """Return numbers and booleans bare, all others in quotes."""
        bare = _BARE.get(literal.datatype)
        if bare is not None and bare.fullmatch(literal.lexical):
            return literal.lexical
        return self.quoted(literal)

    def quoted(self, literal: Literal) -> str:
        """Return a literal in quotes, with its language or datatype."""
        text = quote(literal.lexical)
        if literal.language is not None:
            return f"{text}@{literal.language}"
        return text if literal.datatype == XSD_STRING else f"{text}^^{self.iri(Iri(literal.datatype))}"

    def term(self, term: Iri | Literal | BlankNode | None) -> str:
        """Return a term of inline data or of a template; None is UNDEF."""
        match term:
            case None:
                return "UNDEF"
            case Iri():
                return self.iri(term)
            case Literal():
                return self.literal(term)
            case BlankNode(label):
                return f"_:{label}"
            case _:
                assert_never(term)

    def path(self, path: Path, least: int = _ALTERNATIVE) -> str:
        """Return a path, in brackets if it binds weaker than `least`."""
        text, rank = self._path(path)
        return text if rank >= least else f"({text})"

    def _path(self, path: Path) -> tuple[str, int]:
        """Return a path and how strongly it binds."""
        match path:
            case Link(predicate):
                return self.iri(predicate), _PRIMARY_PATH
            case Alternative(left, right):
                return f"{self.path(left)}|{self.path(right, _SEQUENCE)}", _ALTERNATIVE
            case Sequence(left, right):
                return f"{self.path(left, _SEQUENCE)}/{self.path(right, _STEP)}", _SEQUENCE
            case Inverse(inner):
                return f"^{self.path(inner, _ELEMENT)}", _STEP
            case ZeroOrMore(inner):
                return f"{self.path(inner, _PRIMARY_PATH)}*", _ELEMENT
            case OneOrMore(inner):
                return f"{self.path(inner, _PRIMARY_PATH)}+", _ELEMENT
            case ZeroOrOne(inner):
                return f"{self.path(inner, _PRIMARY_PATH)}?", _ELEMENT
            case NegatedSet(forward, backward):
                members = [self.iri(one) for one in forward] + [f"^{self.iri(one)}" for one in backward]
                return f"!({'|'.join(members)})", _PRIMARY_PATH
            case _:
                assert_never(path)


def quote(text: str) -> str:
    r"""Return a string in quotes.

    >>> print(quote('say "hi"'))
    "say \"hi\""
    """
    return f'"{text.translate(_ESCAPES)}"'


_ANY, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(8)


class ExpressionPrinter:
    """Printer of expressions.

    Generated variables (with a leading dot) are printed as the blank node or the aggregate they represent. Those in a
    position where neither is allowed are collected in `exposed`; a second run gives them the names in `names`.
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
        """Return a variable where the grammar requires one."""
        if is_visible(variable):
            self.visible.add(variable.name)
            return f"?{variable.name}"
        self.exposed[variable] = None
        return self.names.get(variable, f"?{variable.name[1:]}")

    def constraint(self, expression: Expression) -> str:
        """Return a condition in the form of FILTER and HAVING: a call, or brackets."""
        text = self.expression(expression)
        return text if isinstance(expression, Call | Exists) else f"({text})"

    def expression(self, expression: Expression, least: int = _ANY) -> str:
        """Return an expression, in brackets if it binds weaker than `least`."""
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
                # A number directly after the sign would become negative itself.
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
        """Return a call; the base of IRI is in the prologue instead."""
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

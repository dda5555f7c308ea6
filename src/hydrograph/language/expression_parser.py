"""Parser of [expressions](https://www.w3.org/TR/sparql11-query/#expressions): operators, calls, aggregates, EXISTS.

Operators are read with a stack of their own instead of one function per precedence, so that brackets alone deepen
Python's stack.
"""

from __future__ import annotations

from typing import cast

from hydrograph.algebra.expressions import (
    Aggregate,
    AggregateName,
    And,
    Arithmetic,
    Calculate,
    Call,
    Compare,
    Comparison,
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
from hydrograph.algebra.walk import depth, is_volatile
from hydrograph.language.lexer import Token, shown
from hydrograph.language.syntax import Level
from hydrograph.language.term_parser import LITERAL_STARTS
from hydrograph.language.triple_parser import TriplesParser
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_INTEGER

MAX_DEPTH = 200

_RANKS = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("=", "!=", "<", ">", "<=", ">="), 3),
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
}
_RELATION = 3

_MANY = 1_000_000
BUILT_INS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("RAND", "NOW", "UUID", "STRUUID"), (0, 0)),
    **dict.fromkeys(("STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND"), (1, 1)),
    **dict.fromkeys(("STRLEN", "UCASE", "LCASE", "ENCODE_FOR_URI"), (1, 1)),
    **dict.fromkeys(("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"), (1, 1)),
    **dict.fromkeys(("MD5", "SHA1", "SHA256", "SHA384", "SHA512"), (1, 1)),
    **dict.fromkeys(("ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "BOUND"), (1, 1)),
    **dict.fromkeys(("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"), (2, 2)),
    **dict.fromkeys(("STRLANG", "STRDT", "SAMETERM"), (2, 2)),
    **dict.fromkeys(("CONCAT", "COALESCE"), (0, _MANY)),
    "BNODE": (0, 1),
    "IF": (3, 3),
    "REGEX": (2, 3),
    "SUBSTR": (2, 3),
    "REPLACE": (3, 4),
}
"""The least and the most arguments of each built-in function."""

_SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}
AGGREGATES = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"})
CALL_STARTS = frozenset({*BUILT_INS, *AGGREGATES, "EXISTS", "NOT", "iri", "name"})
"""Tokens that may begin a constraint without brackets."""


class ExpressionParser(TriplesParser):
    """Parser layer of expressions, above triples."""

    level: Level | None = None
    """The query level whose SELECT, HAVING or ORDER BY is being read; aggregates are allowed only there."""

    def exists_group(self) -> Pattern:
        """Read the group of EXISTS as algebra."""
        raise NotImplementedError

    def bounded(self, expression: Expression, offset: int) -> Expression:
        """Return `expression`, refuse one that is nested too deeply."""
        if (found := depth(expression)) > MAX_DEPTH:
            raise self.fail(f"expressions may be {MAX_DEPTH} operators deep, got {found}; split them with BIND", offset)
        return expression

    def whole_expression(self) -> Expression:
        """Read a top-level expression."""
        offset = self.token.offset
        return self.bounded(self.expression(), offset)

    def constraint(self, what: str) -> Expression:
        """Read an expression in brackets or a call."""
        start = self.token
        if start.key == "(":
            expression = self._bracketed()
        elif start.key in CALL_STARTS:
            expression = self._call_of(start)
        else:
            raise self.unexpected(what, (*BUILT_INS, *AGGREGATES))
        return self.bounded(expression, start.offset)

    def _call_of(self, start: Token) -> Expression:
        """Read a call; an IRI without arguments is not one."""
        expression = self._primary()
        if isinstance(expression, Constant):
            raise self.fail(f"expected a condition in brackets or a call, got {shown(start)}", start.offset)
        return expression

    # Operators

    def expression(self) -> Expression:
        """Read an expression, by precedence."""
        operands = [self._operand()]
        operators: list[str] = []
        compared = False
        while True:
            key = self.token.key
            rank = _RELATION if key in ("IN", "NOT") else _RANKS.get(key)
            if rank is None:
                break
            if rank < _RELATION:
                compared = False
            elif rank == _RELATION:
                if compared:
                    raise self.fail(f"expected && or || or a bracket, got {key}; comparisons do not chain")
                compared = True
            # && and || wait for all their operands; the others are grouped from the left.
            while operators and _RANKS[operators[-1]] >= rank + (rank < _RELATION):
                _reduce(operands, operators)
            if key in ("IN", "NOT"):
                operands.append(self._in(operands.pop()))
            else:
                operators.append(self.take().key)
                operands.append(self._operand())
                continue
        while operators:
            _reduce(operands, operators)
        return operands[0]

    def _in(self, operand: Expression) -> Expression:
        """Read `IN (…)` or `NOT IN (…)`."""
        negated = self.accept("NOT")
        self.expect("IN")
        return In(operand, self._arguments(), negated)

    def _operand(self) -> Expression:
        """Read an operand, with an optional sign or `!` before it."""
        key = self.token.key
        if key != "!" and (key not in ("-", "+") or self.sign_of_number()):
            return self._primary()
        self.take()
        operand = self._primary()
        if key == "!":
            return Not(operand)
        if key == "-":
            return Negate(operand)
        # A plus keeps numbers and refuses the rest, as adding nothing does.
        return Calculate("+", Constant(Literal("0", XSD_INTEGER)), operand)

    # Operands

    def _primary(self) -> Expression:
        """Read a bracket, a variable, a constant or a call."""
        key = self.token.key
        if key == "(":
            return self._bracketed()
        if key == "var":
            return Reference(self.variable())
        if key in LITERAL_STARTS and (key not in ("-", "+") or self.sign_of_number()):
            return Constant(self.literal())
        if key in ("iri", "name"):
            name = self.iri()
            return self.function(name) if self.token.key == "(" else Constant(name)
        if key in BUILT_INS:
            return self._built_in()
        if key in AGGREGATES:
            return Reference(self._aggregate())
        if key in ("EXISTS", "NOT"):
            negated = self.accept("NOT")
            self.expect("EXISTS")
            return Exists(self.exists_group(), negated)
        raise self.unexpected("a variable, a constant, a call or a bracket", (*BUILT_INS, *AGGREGATES))

    def _bracketed(self) -> Expression:
        """Read `( expression )`."""
        self.expect("(")
        expression = self.expression()
        self.expect(")", "an operator or )")
        return expression

    def _arguments(self) -> tuple[Expression, ...]:
        """Read expressions with `,` between them, in brackets."""
        self.expect("(")
        if self.accept(")"):
            return ()
        arguments = [self.expression()]
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")", "an operator, a comma or )")
        return tuple(arguments)

    def function(self, name: Iri) -> Expression:
        """Read the arguments of a cast or of an extension function."""
        if self.ahead() == "DISTINCT":
            raise self.unsupported(f"custom aggregates are not supported, got <{name.value}>(DISTINCT …)")
        return Call(name, self._arguments())

    def _built_in(self) -> Expression:
        """Read a call of a built-in function."""
        token = self.take()
        name = _SYNONYMS.get(token.key, token.key)
        opening = self.token
        arguments = self._arguments()
        least, most = BUILT_INS[token.key]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.fail(f"expected {wanted} arguments of {token.key}, got {len(arguments)}", token.offset)
        if name == "BOUND" and (not isinstance(arguments[0], Reference) or self.tokens[self.at - 2].key != "var"):
            raise self.fail("expected a variable in BOUND, got an expression", opening.end)
        if name == "IRI" and self.base is not None:
            arguments = (*arguments, Constant(Iri(self.base)))
        return Call(name, arguments)

    def _aggregate(self) -> Variable:
        """Read an aggregate and return the variable that represents it."""
        token = self.take()
        level = self.level
        if level is None:
            raise self.fail(
                f"expected no aggregate here, got {token.key}; aggregates are allowed in SELECT, HAVING and ORDER BY, "
                "not inside one another",
                token.offset,
            )
        self.level = None
        name = cast(AggregateName, token.key)
        self.expect("(")
        distinct = self.accept("DISTINCT")
        argument: Expression | None = None
        separator: str | None = None
        if name != "COUNT" or not self.accept("*"):
            argument = self.whole_expression()
        if name == "GROUP_CONCAT" and self.accept(";"):
            self.expect("SEPARATOR")
            self.expect("=")
            separator = self.string()
        self.expect(")", "; or )" if name == "GROUP_CONCAT" else ")")
        self.level = level
        aggregate = Aggregate(name, argument, distinct, separator)
        return _named(aggregate, level) or self._name(aggregate, level)

    def _name(self, aggregate: Aggregate, level: Level) -> Variable:
        """Assign a variable to an aggregate."""
        variable = self.fresh("a")
        level.aggregates.append((variable, aggregate))
        return variable


def _named(aggregate: Aggregate, level: Level) -> Variable | None:
    """Return the variable of an equal aggregate; random values are never equal."""
    if aggregate.argument is not None and is_volatile(aggregate.argument):
        return None
    return next((variable for variable, known in level.aggregates if known == aggregate), None)


def _reduce(operands: list[Expression], operators: list[str]) -> None:
    """Apply the last operator; `&&` and `||` take all operands of their chain."""
    operator = operators.pop()
    if operator in ("&&", "||"):
        count = 2
        while operators and operators[-1] == operator:
            operators.pop()
            count += 1
        chain = tuple(operands[-count:])
        operands[-count:] = [And(chain) if operator == "&&" else Or(chain)]
        return
    right = operands.pop()
    left = operands.pop()
    if _RANKS[operator] == _RELATION:
        operands.append(Compare(cast(Comparison, operator), left, right))
    else:
        operands.append(Calculate(cast(Arithmetic, operator), left, right))

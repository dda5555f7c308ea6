"""The algebra as S-expressions: the golden form of tests, and what `explain` shows.

>>> print_pattern(Bgp((TriplePattern(Variable("s"), Iri("urn:p"), Variable("o")),)))
'(bgp (triple ?s <urn:p> ?o))'
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

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
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    OneOrMore,
    OrderBy,
    Path,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Sequence,
    Slice,
    TriplePattern,
    Union,
    Values,
    Window,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.algebra.queries import Ask, Construct, ContinuousQuery, Describe, Form, NamedWindow, Select
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD, XSD_STRING

_WIDTH = 100

Sse: TypeAlias = "str | list[Sse]"


def print_query(query: ContinuousQuery) -> str:
    """Return a query with its windows and its output form."""
    parts: list[Sse] = ["query"]
    if query.name is not None:
        parts.append(["name", f"<{query.name}>"])
    if query.operator is not None:
        parts.append(["stream", query.operator.value])
    if query.every is not None:
        parts.append(["every", str(query.every)])
    parts += [["from", _term(graph)] for graph in query.dataset.default]
    parts += [["from-named", _term(graph)] for graph in query.dataset.named]
    parts += [_named_window(window) for window in query.windows]
    parts += [_form(query.form), _pattern(query.pattern)]
    return _layout(parts, 0)


def print_pattern(pattern: Pattern) -> str:
    """Return a pattern, each operator on its own line unless all fits one."""
    return _layout(_pattern(pattern), 0)


def print_expression(expression: Expression) -> str:
    """Return an expression."""
    return _layout(_expression(expression), 0)


def _layout(form: Sse, indent: int) -> str:
    """Return a form on one line if it fits, else with its lists below one another."""
    flat = _flat(form)
    if isinstance(form, str) or indent + len(flat) <= _WIDTH:
        return flat
    # Words stay on the first line as long as no list has broken it.
    first = [form[0]]
    rest = form[1:]
    while rest and (isinstance(rest[0], str) or len(_flat(rest[0])) + sum(map(len, map(_flat, first))) < _WIDTH // 2):
        first.append(rest[0])
        rest = rest[1:]
    lines = ["(" + " ".join(_flat(one) for one in first)]
    lines += [" " * (indent + 2) + _layout(one, indent + 2) for one in rest]
    return "\n".join(lines) + ")"


def _flat(form: Sse) -> str:
    """Return a form on one line."""
    return form if isinstance(form, str) else f"({' '.join(map(_flat, form))})"


def _term(term: Iri | Literal | BlankNode | Variable | None) -> str:
    """Return a term as in query text; None is UNDEF."""
    match term:
        case None:
            return "undef"
        case Iri(value):
            return f"<{value}>"
        case BlankNode(label):
            return f"_:{label}"
        case Variable(name):
            return f"?{name}"
        case Literal(lexical, datatype, language):
            quoted = (
                '"' + lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
            )
            if language is not None:
                return f"{quoted}@{language}"
            if datatype == XSD_STRING:
                return quoted
            return f"{quoted}^^" + (f"xsd:{datatype[len(XSD) :]}" if datatype.startswith(XSD) else f"<{datatype}>")
        case _:
            assert_never(term)


def _variables(variables: tuple[Variable, ...]) -> list[Sse]:
    """Return a list of variables."""
    return [_term(variable) for variable in variables]


def _form(form: Form) -> Sse:
    """Return the output form."""
    match form:
        case Select(variables):
            return ["select", *_variables(variables)]
        case Ask():
            return ["ask"]
        case Describe(resources):
            return ["describe", *(_term(resource) for resource in resources)]
        case Construct(template):
            triples: list[Sse] = []
            for triple in template:
                terms = [_term(triple.subject), _term(triple.predicate), _term(triple.object)]
                if triple.graph is None:
                    triples.append(["triple", *terms])
                else:
                    triples.append(["quad", _term(triple.graph), *terms])
            return ["construct", *triples]
        case _:
            assert_never(form)


def _named_window(window: NamedWindow) -> Sse:
    """Return the declaration of a window."""
    name = [] if window.name is None else [_term(window.name)]
    return ["from-window", *name, _term(window.stream), _definition(window.definition)]


def _definition(definition: WindowDefinition) -> Sse:
    """Return the bounds of a window; durations are milliseconds."""
    match definition:
        case TimeWindow(width, slide):
            return ["range", str(width), "continuous" if slide is None else str(slide)]
        case CountWindow(size, slide, triples):
            return ["triples" if triples else "elements", str(size), str(slide)]
        case PastWindow(start, end, slide):
            return ["past", str(start), str(end), str(slide)]
        case NowWindow():
            return ["now"]
        case AllWindow():
            return ["all"]
        case _:
            assert_never(definition)


def _triple(triple: TriplePattern) -> Sse:
    """Return a triple pattern."""
    return ["triple", _term(triple.subject), _term(triple.predicate), _term(triple.object)]


def _pattern(pattern: Pattern) -> Sse:
    """Return a pattern."""
    match pattern:
        case Bgp(patterns):
            return ["bgp", *map(_triple, patterns)]
        case PathPattern(subject, path, target):
            return ["path", _term(subject), _path(path), _term(target)]
        case Join(left, right) | Union(left, right) | Minus(left, right):
            return [type(pattern).__name__.lower(), _pattern(left), _pattern(right)]
        case LeftJoin(left, right, condition):
            return [
                "leftjoin",
                _pattern(left),
                _pattern(right),
                *([] if condition is None else [_expression(condition)]),
            ]
        case Filter(condition, inner):
            return ["filter", _expression(condition), _pattern(inner)]
        case Extend(inner, variable, expression):
            return ["extend", _term(variable), _expression(expression), _pattern(inner)]
        case Graph(name, inner) | Window(name, inner):
            return [type(pattern).__name__.lower(), _term(name), _pattern(inner)]
        case Values(columns, rows):
            table: list[Sse] = [[_term(term) for term in row] for row in rows]
            return ["table", _variables(columns), *table]
        case Group(inner, keys, aggregates, implicit):
            named: list[Sse] = [[_term(variable), _aggregate(aggregate)] for variable, aggregate in aggregates]
            return ["group", "implicit" if implicit else _variables(keys), named, _pattern(inner)]
        case Project(inner, columns):
            return ["project", _variables(columns), _pattern(inner)]
        case Distinct(inner) | Reduced(inner):
            return [type(pattern).__name__.lower(), _pattern(inner)]
        case OrderBy(inner, conditions):
            orders: list[Sse] = [
                ["desc" if order.descending else "asc", _expression(order.expression)] for order in conditions
            ]
            return ["order", orders, _pattern(inner)]
        case Slice(inner, offset, limit):
            return ["slice", str(offset), "_" if limit is None else str(limit), _pattern(inner)]
        case _:
            assert_never(pattern)


def _path(path: Path) -> Sse:
    """Return a property path."""
    match path:
        case Link(predicate):
            return _term(predicate)
        case Inverse(inner):
            return ["reverse", _path(inner)]
        case Sequence(left, right):
            return ["seq", _path(left), _path(right)]
        case Alternative(left, right):
            return ["alt", _path(left), _path(right)]
        case ZeroOrMore(inner):
            return ["path*", _path(inner)]
        case OneOrMore(inner):
            return ["path+", _path(inner)]
        case ZeroOrOne(inner):
            return ["path?", _path(inner)]
        case NegatedSet(forward, backward):
            backwards: list[Sse] = [["reverse", _term(one)] for one in backward]
            return ["notoneof", *map(_term, forward), *backwards]
        case _:
            assert_never(path)


def _aggregate(aggregate: Aggregate) -> Sse:
    """Return an aggregate."""
    parts: list[Sse] = [aggregate.name.lower()]
    if aggregate.distinct:
        parts.append("distinct")
    parts.append("*" if aggregate.argument is None else _expression(aggregate.argument))
    if aggregate.separator is not None:
        parts.append(["separator", _term(Literal(aggregate.separator))])
    return parts


def _expression(expression: Expression) -> Sse:
    """Return an expression."""
    match expression:
        case Constant(term):
            return _term(term)
        case Reference(variable):
            return _term(variable)
        case Compare(operator, left, right) | Calculate(operator, left, right):
            return [operator, _expression(left), _expression(right)]
        case Negate(operand):
            return ["-", _expression(operand)]
        case Not(operand):
            return ["!", _expression(operand)]
        case And(operands):
            return ["&&", *map(_expression, operands)]
        case Or(operands):
            return ["||", *map(_expression, operands)]
        case In(operand, choices, negated):
            return ["notin" if negated else "in", _expression(operand), *map(_expression, choices)]
        case Call(function, arguments):
            name = _term(function) if isinstance(function, Iri) else function.lower()
            return [name, *map(_expression, arguments)]
        case Exists(pattern, negated):
            return ["notexists" if negated else "exists", _pattern(pattern)]
        case _:
            assert_never(expression)

"""Algebra to program: one match over the patterns, each operator in a module that cites its rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from hydrograph.algebra.expressions import Expression, Reference
from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Slice,
    TriplePattern,
    Union,
    Values,
    Window,
)
from hydrograph.algebra.queries import ContinuousQuery, Select, StreamOperator
from hydrograph.algebra.walk import variables
from hydrograph.compile import sql
from hydrograph.compile.aggregates import Grouping, group, group_demand
from hydrograph.compile.context import Compilation, Inputs
from hydrograph.compile.distinct import distinct
from hydrograph.compile.expressions.conditions import condition, merge_demands, needs
from hydrograph.compile.joins import join
from hydrograph.compile.leaves import static_leaf, stream_leaf
from hydrograph.compile.program import Output, Program, StaticInput, StreamInput
from hydrograph.compile.r2s import differences, reported
from hydrograph.compile.relation import Always, Demand, Encoded, Form, Part, Parts, Relation
from hydrograph.errors import QueryError, UnsupportedError
from hydrograph.rdf.terms import Iri, Variable

_ID: Parts = frozenset({Part.ID})
_TEXT: Parts = frozenset({Part.TEXT})


def compile_query(
    query: ContinuousQuery, inputs: Inputs, operator: StreamOperator, *, set_differences: bool = False
) -> Program:
    """Return the program whose last step holds the answers of every report."""
    if not isinstance(query.form, Select):
        raise UnsupportedError(f"{type(query.form).__name__.upper()} is not supported yet; use SELECT")
    compilation = Compilation(inputs)
    changes = operator is not StreamOperator.RSTREAM
    wanted = _TEXT | _ID if changes else _TEXT
    demand = dict.fromkeys(query.form.variables, wanted)
    relation = _compile(compilation, query.pattern, inputs.statics.get(None), demand)
    relation = reported(compilation, _only(relation, query.form.variables))
    if changes:
        relation = differences(compilation, relation, operator, as_set=set_differences)
    outputs = tuple(
        Output(variable, compilation.stem(variable), relation.forms.get(variable, Encoded(frozenset())))
        for variable in query.form.variables
    )
    return Program(
        steps=tuple(compilation.steps),
        streams=tuple(compilation.streams),
        statics=tuple(compilation.statics),
        outputs=outputs,
        operator=operator,
        keys=relation.keys,
        reads_domain=compilation.reads_domain,
        constants=dict(compilation.constants),
    )


_Source = StreamInput | StaticInput | None


def _compile(compilation: Compilation, pattern: Pattern, source: _Source, demand: Demand) -> Relation:
    """Return the rows of a pattern; `source` is what its triple patterns read (A9)."""
    match pattern:
        case Bgp(patterns):
            return _basic(compilation, patterns, source, demand)
        case Join(left, right):
            return _joined(compilation, left, right, source, demand)
        case Filter(test, inner):
            return _filtered(compilation, test, inner, source, demand)
        case Window(name, inner):
            return _compile(compilation, inner, _window(compilation.inputs, name), demand)
        case Extend(inner, variable, expression):
            return _extended(
                compilation, _compile_alias(compilation, inner, variable, expression, source, demand), pattern
            )
        case Project(inner, kept):
            narrowed = {variable: parts for variable, parts in demand.items() if variable in kept}
            return _only(_compile(compilation, inner, source, narrowed), kept)
        case Distinct(inner) | Reduced(inner):
            # REDUCED permits what DISTINCT does, and only that is the same in every plan.
            visible = merge_demands(demand, dict.fromkeys(variables(inner), _ID))
            return distinct(compilation, _compile(compilation, inner, source, visible))
        case Group(inner, keys, aggregates, implicit):
            grouping = Grouping(keys, aggregates, implicit)
            rows = _compile(compilation, inner, source, group_demand(grouping, demand))
            return group(compilation, rows, grouping)
        case LeftJoin() | Union() | Minus() | Graph() | Values() | PathPattern() | OrderBy() | Slice():
            raise UnsupportedError(f"{_SPOKEN[type(pattern)]} is not supported yet")
        case _:
            assert_never(pattern)


_SPOKEN: dict[type, str] = {
    LeftJoin: "OPTIONAL",
    Union: "UNION",
    Minus: "MINUS",
    Graph: "GRAPH",
    Values: "VALUES",
    PathPattern: "a property path",
    OrderBy: "ORDER BY",
    Slice: "LIMIT and OFFSET",
}


def _window(inputs: Inputs, name: Iri | Variable) -> StreamInput:
    if isinstance(name, Variable):
        raise UnsupportedError("WINDOW with a variable is not supported yet; name the window")
    try:
        return inputs.windows[name]
    except KeyError:
        known = ", ".join(f"<{known.value}>" for known in inputs.windows if known is not None) or "none"
        raise QueryError(f"no window named <{name.value}>; declared windows: {known}") from None


def _basic(compilation: Compilation, patterns: tuple[TriplePattern, ...], source: _Source, demand: Demand) -> Relation:
    """Return a basic graph pattern: its triple patterns joined from left to right."""
    if not patterns:
        name = compilation.let(sql.select(sql.alias(sql.num(1), "one")), "unit")
        return Relation(name, {}, frozenset(), (), Always(), {})
    *rest, last = patterns
    if not rest:
        return _leaf(compilation, last, source, demand)
    return _joined(compilation, Bgp(tuple(rest)), Bgp((last,)), source, demand)


def _leaf(compilation: Compilation, pattern: TriplePattern, source: _Source, demand: Demand) -> Relation:
    match source:
        case StreamInput():
            return stream_leaf(compilation, pattern, source, demand)
        case StaticInput():
            return static_leaf(compilation, pattern, source, demand)
        case None:
            raise QueryError(
                "a triple pattern outside WINDOW reads the static default graph, and none is given; "
                "put it into a WINDOW block or give static data"
            )


def _joined(compilation: Compilation, left: Pattern, right: Pattern, source: _Source, demand: Demand) -> Relation:
    """Return a join; a shared variable's text is carried by one side only."""
    ours, theirs = variables(left), variables(right)
    shared = dict.fromkeys(ours & theirs, _ID)
    # What only static rows carry is never moved between tasks, so they give the parts of shared variables.
    from_right = _is_static(right) and not _is_static(left)
    left_demand = {v: parts for v, parts in demand.items() if v in ours and not (from_right and v in theirs)}
    right_demand = {v: parts for v, parts in demand.items() if v in theirs and (from_right or v not in ours)}
    first = _compile(compilation, left, source, merge_demands(left_demand, shared))
    second = _compile(compilation, right, source, merge_demands(right_demand, shared))
    return join(compilation, first, second, demand)


def _is_static(pattern: Pattern) -> bool:
    """Tell whether a pattern reads no window."""
    match pattern:
        case Window():
            return False
        case Join(left, right) | LeftJoin(left, right) | Union(left, right) | Minus(left, right):
            return _is_static(left) and _is_static(right)
        case Filter(_, inner) | Extend(inner) | Graph(_, inner) | Group(inner) | Project(inner):
            return _is_static(inner)
        case Distinct(inner) | Reduced(inner) | OrderBy(inner) | Slice(inner):
            return _is_static(inner)
        case Bgp() | PathPattern() | Values():
            return True
        case _:
            assert_never(pattern)


def _filtered(compilation: Compilation, test: Expression, inner: Pattern, source: _Source, demand: Demand) -> Relation:
    rows = _compile(compilation, inner, source, merge_demands(demand, needs(test)))
    kept = _narrowed(rows, demand)
    query = sql.from_(sql.select(*_columns(kept)), rows.name)
    query = query.where(condition(test, rows, compilation.constant), copy=False)
    return compilation.step(kept, query, "filter")


def _columns(relation: Relation) -> list[sql.Sql]:
    return [sql.col(name) for name in relation.all_columns()] or [sql.alias(sql.num(1), "one")]


def _narrowed(relation: Relation, demand: Demand) -> Relation:
    """Return the relation without the columns nobody reads any more."""
    forms: dict[Variable, Form] = {}
    for variable, form in relation.forms.items():
        parts = demand.get(variable, frozenset())
        if isinstance(form, Encoded):
            forms[variable] = Encoded(form.parts & parts)
        else:
            forms[variable] = form if parts else Encoded(parts)
    return replace(relation, forms=forms)


def _only(relation: Relation, kept: tuple[Variable, ...]) -> Relation:
    """Return the relation with these variables in scope and no others."""
    forms = {variable: relation.forms[variable] for variable in kept if variable in relation.forms}
    return replace(relation, forms=forms, certain=relation.certain & frozenset(kept))


@dataclass(frozen=True, slots=True)
class _Alias:
    rows: Relation
    source: Variable
    demand: Demand


def _compile_alias(
    compilation: Compilation,
    inner: Pattern,
    variable: Variable,
    expression: Expression,
    source: _Source,
    demand: Demand,
) -> _Alias:
    if not isinstance(expression, Reference):
        raise UnsupportedError("BIND and SELECT expressions are not supported yet, except aggregates")
    wanted = {v: parts for v, parts in demand.items() if v != variable}
    copied = {expression.variable: demand.get(variable, frozenset())}
    rows = _compile(compilation, inner, source, merge_demands(wanted, copied))
    return _Alias(rows, expression.variable, demand)


def _extended(compilation: Compilation, alias: _Alias, pattern: Extend) -> Relation:
    """Return the rows with one more variable that holds the same term as another."""
    rows, variable = alias.rows, pattern.variable
    if alias.source not in rows.forms:
        return rows
    stem = compilation.stem(variable)
    form = rows.forms[alias.source]
    copies = [
        sql.alias(sql.col(name), stem + name.removeprefix(rows.names[alias.source]))
        for name in rows.columns(alias.source)
    ]
    kept = _narrowed(rows, alias.demand)
    query = sql.from_(sql.select(*_columns(kept), *copies), rows.name)
    certain = rows.certain | ({variable} if alias.source in rows.certain else frozenset())
    extended = replace(
        kept, forms={**kept.forms, variable: form}, certain=certain, names={**rows.names, variable: stem}
    )
    return compilation.step(extended, query, "extend")

"""Compiler: a continuous query to a program of SQL steps.

`compile_query` compiles the pattern (`patterns`), applies the stream operator (`r2s`) and builds the answers of the
query form (`query_forms`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from hydrograph.algebra.nodes import (
    Pattern,
    Values,
)
from hydrograph.algebra.queries import Ask, Construct, ContinuousQuery, Describe, Select, StreamOperator
from hydrograph.algebra.walk import visible_variables
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.expressions.demand import merge_demands
from hydrograph.compile.inputs import Inputs
from hydrograph.compile.ordering import solution_modifiers
from hydrograph.compile.patterns import compile_ordered, compile_pattern
from hydrograph.compile.program import Output, Program, SortKey
from hydrograph.compile.query_forms import (
    BOOLEAN,
    OBJECT,
    PREDICATE,
    SUBJECT,
    ask_pattern,
    at_reports,
    describe_resources,
    fill_template,
    prune_answer,
    rename_variable,
    template_columns,
    template_demand,
)
from hydrograph.compile.r2s import stamp_answer, stream_differences
from hydrograph.compile.relation import Demand, EncodedLayout, Part, Parts, Relation, project
from hydrograph.compile.report_instants import find_instants
from hydrograph.compile.scope import Scope, default_source
from hydrograph.compile.set_operators import union
from hydrograph.rdf.terms import Iri, Variable

_ID: Parts = frozenset({Part.ID})
_TEXT: Parts = frozenset({Part.TEXT})
_ALL: Parts = frozenset(Part)


def compile_query(
    query: ContinuousQuery, inputs: Inputs, operator: StreamOperator, *, set_differences: bool = False
) -> Program:
    """Return the program whose last step holds the answers of every report.

    The answers of CONSTRUCT and DESCRIBE are triples, that of ASK one boolean; the stream operator has then acted on
    solutions already, and the program's own operator is Rstream.
    """
    compilation = Compilation(inputs)
    if inputs.timeline is not None:
        assert not inputs.keys, "streams of one plan share their reports"
        compilation.ranked = find_instants(compilation, inputs.timeline, list(inputs.windows.values()))
    stream = _Stream(compilation, operator, set_differences)
    match query.form:
        case Select(columns):
            relation, order = stream.solutions(query.pattern, dict.fromkeys(columns, _TEXT), columns)
        case Ask():
            relation, order = stream.solutions(ask_pattern(compilation, query.pattern), {BOOLEAN: _TEXT}, (BOOLEAN,))
        case Construct():
            relation, order = stream.constructed(query), ()
            operator = StreamOperator.RSTREAM
        case Describe(resources):
            order = ()
            relation = stream.described(query.pattern, resources)
            operator = StreamOperator.RSTREAM
        case _:
            assert_never(query.form)
    outputs = tuple(
        Output(
            variable,
            relation.names.get(variable, compilation.stem(variable)),
            relation.layouts.get(variable, EncodedLayout(frozenset())),
        )
        for variable in answer_columns(query)
    )
    return Program(
        steps=tuple(compilation.steps),
        streams=tuple(compilation.streams),
        statics=tuple(compilation.statics),
        outputs=outputs,
        operator=operator,
        keys=relation.keys,
        domain=inputs.domain if compilation.reads_domain else None,
        constants=dict(compilation.constants),
        predicates=dict(compilation.predicates),
        order=order,
        instants=None if compilation.ranked is None else compilation.ranked.instants,
    )


@dataclass(frozen=True, slots=True)
class _Stream:
    """Solutions and what the stream operator makes of them."""

    compilation: Compilation
    operator: StreamOperator
    as_set: bool

    @property
    def changes(self) -> bool:
        return self.operator is not StreamOperator.RSTREAM

    def solutions(
        self, pattern: Pattern, demand: Demand, columns: tuple[Variable, ...]
    ) -> tuple[Relation, tuple[SortKey, ...]]:
        """Return the solutions with these columns at every report, or their changes, and what orders them."""
        scope = Scope(default_source(self.compilation.inputs))
        order: tuple[SortKey, ...] = ()
        shape = solution_modifiers(pattern)
        if self.changes:
            demand = merge_demands(demand, dict.fromkeys(columns, _ID))
        if shape.order and not self.changes:
            relation, order = compile_ordered(self.compilation, shape, scope, demand)
        else:
            relation = compile_pattern(self.compilation, pattern, scope, demand)
        relation = stamp_answer(self.compilation, project(relation, columns), order)
        if self.changes:
            relation = stream_differences(self.compilation, relation, self.operator, as_set=self.as_set)
        return relation, order

    def constructed(self, query: ContinuousQuery) -> Relation:
        """Return the triples of a CONSTRUCT: the stream operator first, on all named variables, then the template."""
        assert isinstance(query.form, Construct)
        columns = visible_variables(query.pattern)
        demand = template_demand(query.form, columns)
        relation, _ = self.solutions(query.pattern, demand, columns)
        if self.changes:
            relation = at_reports(self.compilation, relation)
        return prune_answer(fill_template(self.compilation, relation, query.form, query.name or ""))

    def described(self, pattern: Pattern, resources: tuple[Iri | Variable, ...]) -> Relation:
        """Return the descriptions of resources: constants at every report, variables of the solutions."""
        compilation, resource = self.compilation, self.compilation.fresh()
        constants = Values((resource,), tuple((term,) for term in resources if not isinstance(term, Variable)))
        scope = Scope(default_source(compilation.inputs))
        demand = {resource: _ALL}
        relation = compile_pattern(compilation, constants, scope, demand)
        if wanted := [term for term in resources if isinstance(term, Variable)]:
            found, _ = self.solutions(pattern, dict.fromkeys(wanted, _ALL), visible_variables(pattern))
            found = at_reports(compilation, found) if self.changes else found
            for term in wanted:
                if term in found.layouts:
                    relation = union(compilation, relation, rename_variable(compilation, found, term, resource), demand)
        return prune_answer(describe_resources(self.compilation, compile_pattern, relation, resource))


def has_order(query: ContinuousQuery) -> bool:
    """Tell whether ORDER BY orders the answers of a query."""
    return isinstance(query.form, Select) and bool(solution_modifiers(query.pattern).order)


def answer_columns(query: ContinuousQuery) -> tuple[Variable, ...]:
    """Return the columns of the answers: the variables of SELECT, the terms of triples, or the boolean of ASK."""
    match query.form:
        case Select(columns):
            return columns
        case Ask():
            return (BOOLEAN,)
        case Construct():
            return template_columns(query.form)
        case Describe():
            return (SUBJECT, PREDICATE, OBJECT)
        case _:
            assert_never(query.form)

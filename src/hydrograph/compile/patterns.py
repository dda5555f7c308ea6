"""Compilation of patterns: one match over the algebra.

A node `X` is compiled by `compile_x` below, which compiles its operands and calls the operator on their rows. The
operators are in modules of their own, each with the rule that it implements: `scan` (S18, S19), `joins` (S20),
`set_operators` (S21), `outer_joins` (S22-S24), `group` and `aggregates` (S25), `ordering` (S26) and `property_paths`
(S26b).
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from hydrograph.algebra.expressions import Aggregate, Call, Exists, Expression, Reference
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
from hydrograph.algebra.walk import (
    certain,
    has_exists,
    is_volatile,
    needs_a_triple,
    never_fails,
    variables,
    visible_variables,
)
from hydrograph.compile import sql
from hydrograph.compile.assignment import extend, extract_quotients, inline_values, share_blank_node_labels
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.exists import ExistsCompiler, expression_reads, join_outer_values, pair_relation
from hydrograph.compile.expressions.demand import merge_demands, reads_clock
from hydrograph.compile.expressions.evaluate import condition
from hydrograph.compile.graphs import NamedGraph, NamedGraphs, graph_names
from hydrograph.compile.group import Grouping, aggregate_groups, group_demand
from hydrograph.compile.inputs import Inputs, StreamInput
from hydrograph.compile.joins import join, join_demand
from hydrograph.compile.ordering import SolutionModifiers, add_sort_columns, slice_solutions, solution_modifiers
from hydrograph.compile.outer_joins import JoinKind, compatibility_conditions, outer_join, shared_binding_condition
from hydrograph.compile.program import SortKey
from hydrograph.compile.property_paths import PathCompiler, expand_path
from hydrograph.compile.rank_expansion import match_validity, with_report_columns, without_report_columns
from hydrograph.compile.relation import Demand, Part, Parts, Relation, project, prune_parts, select_columns
from hydrograph.compile.scan import scan_pattern, scan_stream
from hydrograph.compile.scope import Scope, add_scope_keys, substitute_outer, unit_relation
from hydrograph.compile.set_operators import distinct, union
from hydrograph.errors import QueryError
from hydrograph.rdf.terms import Iri, Variable

_ID: Parts = frozenset({Part.ID})
_TEXT: Parts = frozenset({Part.TEXT})
_ALL: Parts = frozenset(Part)


def compile_pattern(compilation: Compilation, pattern: Pattern, scope: Scope, demand: Demand) -> Relation:
    """Return the rows of a pattern; `scope` names the graph that its triple patterns read (A9)."""
    match pattern:
        case Bgp(patterns):
            return compile_bgp(compilation, patterns, scope, demand)
        case PathPattern():
            shorter = expand_path(compilation, pattern)
            if shorter is not None:
                return compile_pattern(compilation, shorter, scope, demand)
            return PathCompiler(compilation, compile_pattern, scope).repeated(pattern, demand)
        case Join(left, right):
            return compile_join(compilation, left, right, scope, demand)
        case LeftJoin():
            return compile_left_join(compilation, pattern, scope, demand)
        case Minus(left, right):
            return compile_minus(compilation, left, right, scope, demand)
        case Union(left, right):
            first = compile_pattern(compilation, left, scope, demand)
            return union(compilation, first, compile_pattern(compilation, right, scope, demand), demand)
        case Filter(test, inner):
            return compile_filter(compilation, test, inner, scope, demand)
        case Window(name, inner):
            return compile_window(compilation, name, inner, scope, demand)
        case Graph(name, inner):
            return compile_graph(compilation, name, inner, scope, demand)
        case Values():
            given = merge_demands(demand, dict.fromkeys(pattern.variables, _ID))
            rows = add_scope_keys(compilation, Scope(scope.source), inline_values(compilation, pattern, given), given)
            return substitute_outer(compilation, scope, rows, demand)
        case Extend(inner, variable, expression):
            if (shared := share_blank_node_labels(compilation, pattern)) is not None:
                rows, known = compile_pattern(compilation, shared, scope, demand), variables(pattern)
                return project(rows, tuple(v for v in rows.layouts if v in known))
            return compile_extend(compilation, inner, variable, expression, scope, demand)
        case Project(inner, kept):
            narrowed = {variable: parts for variable, parts in demand.items() if variable in kept}
            return project(compile_pattern(compilation, inner, scope.showing(kept), narrowed), kept)
        case Distinct(inner) | Reduced(inner):
            # REDUCED permits what DISTINCT does, and only that is the same in every plan.
            visible = merge_demands(demand, dict.fromkeys(variables(inner), _ID))
            return distinct(compilation, compile_pattern(compilation, inner, scope, visible))
        case Group():
            return compile_group(compilation, pattern, scope, demand)
        case OrderBy(inner):
            return compile_pattern(compilation, inner, scope, demand)  # inside a pattern solutions have no order
        case Slice():
            return compile_ordered(compilation, solution_modifiers(pattern), scope, demand)[0]
        case _:
            assert_never(pattern)


def compile_bgp(
    compilation: Compilation, patterns: tuple[TriplePattern, ...], scope: Scope, demand: Demand
) -> Relation:
    """Return a basic graph pattern: its triple patterns joined from left to right."""
    if not patterns:
        return add_scope_keys(compilation, scope, unit_relation(compilation), {})
    *rest, last = patterns
    if rest:
        return compile_join(compilation, Bgp(tuple(rest)), Bgp((last,)), scope, demand)
    shared = dict.fromkeys(variables(Bgp(patterns)) & scope.seen, _ID)
    rows = scan_pattern(compilation, last, scope.source, merge_demands(demand, shared))
    return substitute_outer(compilation, scope, rows, demand)


def compile_window(
    compilation: Compilation, name: Iri | Variable, inner: Pattern, scope: Scope, demand: Demand
) -> Relation:
    """Return a pattern over a window; a variable ranges over the named windows, empty ones included (A9)."""
    if not isinstance(name, Variable):
        rows = compile_pattern(compilation, inner, scope.reading(_window(compilation.inputs, name)), demand)
        return add_scope_keys(compilation, Scope(scope.source), rows, demand)
    feeding = compilation.inputs.feeding
    named = [window for window in compilation.inputs.windows if window is not None and window not in feeding]
    choices: list[Pattern] = [Join(Window(window, inner), Values((name,), ((window,),))) for window in named]
    if not choices:
        raise QueryError("WINDOW with a variable needs a named window; the query declares none")
    pattern = choices[0]
    for choice in choices[1:]:
        pattern = Union(pattern, choice)
    return compile_pattern(compilation, pattern, scope, demand)


def _window(inputs: Inputs, name: Iri) -> StreamInput:
    try:
        return inputs.windows[name]
    except KeyError:
        known = ", ".join(f"<{known.value}>" for known in inputs.windows if known is not None) or "none"
        raise QueryError(f"no window named <{name.value}>; declared windows: {known}") from None


def compile_graph(
    compilation: Compilation, name: Iri | Variable, inner: Pattern, scope: Scope, demand: Demand
) -> Relation:
    """Return a pattern over a static named graph; a variable ranges over all of them.

    An IRI that names no graph of the data set gives no solution, whatever the pattern
    ([18.6](https://www.w3.org/TR/sparql11-query/#sparqlAlgebraEval)). A variable is bound after the pattern, so that
    inside the pattern a MINUS does not share it.
    """
    inputs = compilation.inputs
    if inputs.quads is None or inputs.graphs is None:
        raise QueryError("GRAPH reads static named graphs, and none is given; give static data with a graph name")
    if not isinstance(name, Variable):
        seen = inputs.only is None or name in inputs.only
        source = NamedGraph(inputs.quads, name if seen else None)
        rows = compile_pattern(compilation, inner, scope.reading(source), demand)
        if not needs_a_triple(inner):
            one = NamedGraphs(inputs.quads, inputs.graphs, compilation.name("graph"), (name,) if seen else ())
            rows = join(compilation, rows, graph_names(compilation, one, None, {}), demand)
            rows = replace(rows, keys=tuple(key for key in rows.keys if key != one.key))
        return add_scope_keys(compilation, Scope(scope.source), rows, demand)
    graphs = NamedGraphs(inputs.quads, inputs.graphs, compilation.name("graph"), inputs.only)
    wanted = merge_demands(demand, {name: _ID} if name in variables(inner) else {})
    inside = compile_pattern(compilation, inner, scope.reading(graphs), wanted)
    named = graph_names(compilation, graphs, name, demand)
    joined = join(compilation, inside, named, demand)
    found = replace(joined, keys=tuple(key for key in joined.keys if key != graphs.key))
    found = add_scope_keys(compilation, Scope(scope.source), found, demand)
    if scope.seed is not None and name in scope.seen and name not in inside.layouts:
        found = substitute_outer(compilation, scope, found, demand)
    return found


def compile_join(compilation: Compilation, left: Pattern, right: Pattern, scope: Scope, demand: Demand) -> Relation:
    """Return a join; a shared variable's text is carried by one side only, if that surely binds it."""
    ours, theirs = join_demand(left, right, demand)
    first = compile_pattern(compilation, left, scope, ours)
    second = compile_pattern(compilation, right, scope, theirs)
    return join(compilation, first, second, demand)


def compile_left_join(compilation: Compilation, pattern: LeftJoin, scope: Scope, demand: Demand) -> Relation:
    """Return an OPTIONAL (S22): pairs that satisfy the condition, and left rows where they have none."""
    test = pattern.condition
    left, right = pattern.left, pattern.right
    if test is not None and (has_exists(test) or reads_clock(test)):
        return _left_join_with_exists(compilation, pattern, scope, demand)
    read = expression_reads(test) if test is not None else {}
    ours, theirs = variables(left), variables(right)
    wanted = merge_demands(demand, read, dict.fromkeys(ours & theirs, _ID))
    sure = certain(left)
    first = compile_pattern(compilation, left, scope, {v: parts for v, parts in wanted.items() if v in ours})
    asked = {v: _ID if v in sure else parts for v, parts in wanted.items() if v in theirs}
    second = compile_pattern(compilation, right, scope, asked)
    first = match_validity(compilation, first, second)
    on = compatibility_conditions(first, second)
    if test is not None:
        first = join_outer_values(compilation, scope, first, test)
        on = compatibility_conditions(first, second)
        on.append(condition(test, pair_relation(first, second), compilation.constant))
    rows = outer_join(compilation, first, second, on, JoinKind.LEFT, demand)
    return prune_parts(project(rows, tuple(v for v in rows.layouts if v in ours | theirs)), demand)


def _left_join_with_exists(compilation: Compilation, pattern: LeftJoin, scope: Scope, demand: Demand) -> Relation:
    """Return an OPTIONAL whose condition asks for a pattern: the pairs first, then what of the left rows has none."""
    assert pattern.condition is not None
    ours, theirs = variables(pattern.left), variables(pattern.right)
    outer: Pattern = pattern.left
    copies: dict[Variable, Variable] = {}
    for variable in (ours & theirs) - certain(pattern.left):
        # A pair may bind what its left row does not; a copy tells what that row had.
        copies[variable] = compilation.fresh()
        outer = Extend(outer, copies[variable], Reference(variable))
    own = [copies.get(variable, variable) for variable in ours]
    drawn = _volatile_demand(pattern.condition, ours | theirs)
    both = merge_demands(demand, expression_reads(pattern.condition), drawn, dict.fromkeys((*ours, *own), _ID))
    left = compile_pattern(compilation, outer, scope, {v: parts for v, parts in both.items() if v in ours or v in own})
    left = compilation.keep(left)
    right = compile_pattern(compilation, pattern.right, scope, {v: parts for v, parts in both.items() if v in theirs})
    pairs = join(compilation, left, right, both)
    pairs = compilation.keep(_filter_rows(compilation, pattern.condition, pairs, scope, both))
    left = match_validity(compilation, left, pairs)
    same = compatibility_conditions(replace(left, layouts={}), replace(pairs, layouts={}))
    same += [
        exp.NullSafeEQ(this=left.part(v, Part.ID, "l"), expression=pairs.part(v, Part.ID, "r"))
        for v in own
        if v in left.layouts
    ]
    alone = outer_join(compilation, left, pairs, same, JoinKind.ANTI)
    kept = tuple(ours | theirs)
    return union(compilation, project(pairs, kept), project(alone, kept), demand)


def compile_minus(compilation: Compilation, left: Pattern, right: Pattern, scope: Scope, demand: Demand) -> Relation:
    """Return a MINUS (S23): left rows where no compatible right row shares a bound variable with them."""
    shared = dict.fromkeys(variables(left) & variables(right), _ID)
    first = compile_pattern(compilation, left, scope, merge_demands(demand, shared))
    if not shared and not scope.bound and not scope.loose:
        return first
    second = compile_pattern(compilation, right, scope, shared)
    first = match_validity(compilation, first, second)
    on = compatibility_conditions(first, second)
    if not scope.bound:
        given: list[sql.Sql] = [exp.NEQ(this=sql.col(key, "l"), expression=sql.num(0)) for key in scope.loose.values()]
        on += shared_binding_condition(first, second, frozenset(shared), given)
    return prune_parts(outer_join(compilation, first, second, on, JoinKind.ANTI), demand)


def compile_filter(
    compilation: Compilation, test: Expression, inner: Pattern, scope: Scope, demand: Demand
) -> Relation:
    """Return a FILTER; a test that reads only the terms of one triple pattern is pushed into its scan."""
    asked = merge_demands(demand, expression_reads(test), _volatile_demand(test, variables(inner)))
    if _reads_only_terms(test, inner, scope):
        assert isinstance(inner, Bgp) and isinstance(scope.source, StreamInput)  # noqa: PT018
        rows = scan_stream(
            compilation,
            inner.patterns[0],
            scope.source,
            asked,
            lambda rows: condition(test, rows, compilation.constant),
        )
        return prune_parts(rows, demand)
    return _filter_rows(compilation, test, compile_pattern(compilation, inner, scope, asked), scope, demand)


def _volatile_demand(expression: Expression, inner: frozenset[Variable]) -> Demand:
    """Return what the seed of a random value reads: every term of the solution, whatever else is asked of it (A6)."""
    return dict.fromkeys(inner, _ID) if is_volatile(expression) else {}


def _reads_only_terms(test: Expression, inner: Pattern, scope: Scope) -> bool:
    """Tell whether a condition looks at the terms of one pattern in a window and at nothing else."""
    if not isinstance(inner, Bgp) or len(inner.patterns) != 1 or not isinstance(scope.source, StreamInput):
        return False
    return scope.seed is None and not has_exists(test) and not reads_clock(test)


def _filter_rows(compilation: Compilation, test: Expression, rows: Relation, scope: Scope, demand: Demand) -> Relation:
    """Return the rows for which the condition holds."""
    known = tuple(rows.layouts)
    rows = join_outer_values(compilation, scope, rows, test)
    asking = ExistsCompiler(compilation, compile_pattern, scope)
    if isinstance(test, Exists):
        rows = asking.filtered(rows, test)
        return prune_parts(project(rows, known), demand)
    rows, plain = asking.marked(rows, test)
    if reads_clock(plain):
        rows = with_report_columns(compilation, rows)
    rows, plain = extract_quotients(compilation, rows, plain)
    if is_volatile(plain):  # equal rows are tested one by one (A6)
        drawn = compilation.fresh()
        rows, plain = extend(compilation, rows, drawn, plain), Reference(drawn)
    kept = without_report_columns(prune_parts(project(rows, known), demand))
    query = sql.from_(sql.select(*select_columns(kept)), rows.name)
    query = query.where(condition(plain, rows, compilation.constant), copy=False)
    return compilation.step(kept, query, "filter")


def compile_extend(
    compilation: Compilation, inner: Pattern, variable: Variable, expression: Expression, scope: Scope, demand: Demand
) -> Relation:
    """Return the rows with one more variable (BIND, SELECT and GROUP BY expressions)."""
    below = {v: parts for v, parts in demand.items() if v != variable}
    if isinstance(expression, Reference):
        read: Demand = {expression.variable: demand.get(variable, frozenset())}
    else:
        read = merge_demands(expression_reads(expression), _volatile_demand(expression, variables(inner)))
    rows = compile_pattern(compilation, inner, scope, merge_demands(below, read))
    known = tuple(rows.layouts)
    rows = join_outer_values(compilation, scope, rows, expression)
    rows, plain = ExistsCompiler(compilation, compile_pattern, scope).marked(rows, expression)
    if reads_clock(plain):
        rows = with_report_columns(compilation, rows)
    rows, plain = extract_quotients(compilation, rows, plain)
    # The algebra decides which variables are certain, because operators above have relied on it.
    sure = never_fails(expression, rows.certain)
    rows = without_report_columns(extend(compilation, rows, variable, plain, certain=sure))
    return project(rows, (*known, variable))


def compile_group(compilation: Compilation, pattern: Group, scope: Scope, demand: Demand) -> Relation:
    """Return groups; what aggregates read is bound to variables first."""
    inner = pattern.inner
    aggregates: list[tuple[Variable, Aggregate]] = []
    lexical: dict[Variable, Variable] = {}
    for output, aggregate in pattern.aggregates:
        argument = aggregate.argument
        if argument is not None and not isinstance(argument, Reference):
            bound = compilation.fresh()
            inner = Extend(inner, bound, argument)
            argument = Reference(bound)
        if aggregate.name == "GROUP_CONCAT" and argument is not None:
            lexical[output] = compilation.fresh()
            inner = Extend(inner, lexical[output], Call("STR", (argument,)))
        # The least of distinct terms is the least of all.
        distinct_terms = aggregate.distinct and aggregate.name not in ("MIN", "MAX", "SAMPLE")
        aggregates.append((output, replace(aggregate, argument=argument, distinct=distinct_terms)))
    everything = visible_variables(pattern.inner)
    grouping = Grouping(pattern.keys, tuple(aggregates), everything, lexical, implicit=pattern.implicit)
    rows = compile_pattern(
        compilation, inner, scope, group_demand(grouping, demand, exact=compilation.inputs.exact_numbers)
    )
    return aggregate_groups(compilation, rows, grouping, scope)


def compile_ordered(
    compilation: Compilation, shape: SolutionModifiers, scope: Scope, demand: Demand
) -> tuple[Relation, tuple[SortKey, ...]]:
    """Return ordered solutions and what orders them: the sort keys, or a number where they are cut as well (S26)."""
    inner = shape.inner
    order: list[tuple[Variable, bool]] = []
    for condition_ in shape.order:
        expression = condition_.expression
        if isinstance(expression, Reference):
            order.append((expression.variable, condition_.descending))
        else:
            bound = compilation.fresh()
            inner = Extend(inner, bound, expression)
            order.append((bound, condition_.descending))
    kept = visible_variables(shape.inner) if shape.kept is None else shape.kept
    cut = shape.sliced or shape.distinct
    wanted = merge_demands(demand, dict.fromkeys([variable for variable, _ in order], _ALL))
    if cut:
        wanted = merge_demands(wanted, dict.fromkeys(kept, _ALL))
    rows = compile_pattern(compilation, inner, scope.showing(kept), wanted)
    if cut:
        rows, sorting = slice_solutions(compilation, rows, order, replace(shape, kept=kept))
    else:
        rows, sorting = add_sort_columns(compilation, rows, order)
    return prune_parts(project(rows, kept), demand), sorting

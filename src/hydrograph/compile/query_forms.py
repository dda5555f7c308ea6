"""Query forms: CONSTRUCT and DESCRIBE give triples, ASK one boolean; the stream operator acts on solutions first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.algebra.expressions import Aggregate, Call, Compare, Constant, Reference
from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Pattern,
    Project,
    TriplePattern,
    Union,
    Window,
)
from hydrograph.algebra.queries import Construct, TemplateTriple
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.expressions.values import constant_value
from hydrograph.compile.joins import join
from hydrograph.compile.outer_joins import row_identity
from hydrograph.compile.property_paths import PathCompiler
from hydrograph.compile.rank_expansion import one_row_per_rank
from hydrograph.compile.relation import (
    Demand,
    EncodedLayout,
    Part,
    Parts,
    RankInterval,
    Relation,
    TermLayout,
    layout_columns,
    report_name,
)
from hydrograph.compile.scope import PatternCompiler, Scope, default_source
from hydrograph.compile.set_operators import distinct, union
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_INTEGER

SUBJECT, PREDICATE, OBJECT, GRAPH = (Variable(name) for name in ("subject", "predicate", "object", "graph"))
BOOLEAN = Variable("boolean")
_ID: Parts = frozenset({Part.ID})
_TERM: Parts = frozenset({Part.ID, Part.TEXT, Part.KIND})


def ask_pattern(compilation: Compilation, pattern: Pattern) -> Pattern:
    """Return ASK as one solution at every report: whether the pattern has any."""
    number = compilation.fresh()
    counted = Group(pattern, (), ((number, Aggregate("COUNT", None)),), implicit=True)
    some = Compare(">", Reference(number), Constant(Literal("0", XSD_INTEGER)))
    return Project(Extend(counted, BOOLEAN, some), (BOOLEAN,))


def has_blanks(form: Construct) -> bool:
    """Tell whether a template makes blank nodes: then every solution counts, equal ones too."""
    return any(isinstance(term, BlankNode) for triple in form.template for term in (triple.subject, triple.object))


def template_columns(form: Construct) -> tuple[Variable, ...]:
    """Return the columns of a template's triples: with the graph where one is given."""
    has_graph = any(triple.graph is not None for triple in form.template)
    return (SUBJECT, PREDICATE, OBJECT, GRAPH) if has_graph else (SUBJECT, PREDICATE, OBJECT)


def prune_answer(triples: Relation) -> Relation:
    """Return triples with nothing but their texts."""
    return replace(triples, layouts=dict.fromkeys(triples.layouts, EncodedLayout(frozenset({Part.TEXT}))))


def template_demand(form: Construct, visible: tuple[Variable, ...]) -> dict[Variable, Parts]:
    """Return what a template reads of the solutions."""
    demand: dict[Variable, Parts] = dict.fromkeys(visible, _ID) if has_blanks(form) else {}
    for triple in form.template:
        for term in (triple.subject, triple.predicate, triple.object, triple.graph):
            if isinstance(term, Variable):
                demand[term] = _TERM
    return demand


def at_reports(compilation: Compilation, changes: Relation) -> Relation:
    """Return what entered or left at each report as rows valid at that report alone, each as often as it counts."""
    names = changes.all_columns()
    copies = nodes.RankRange(this=sql.cast(sql.num(0), "BIGINT"), expression=sql.col("m"))
    spread = sql.from_(sql.select(*map(sql.col, names), sql.col("r"), sql.alias(copies, "copy")), changes.name)
    chunking = compilation.inputs.chunking
    keys = changes.keys
    stamps = [sql.alias(sql.col("r"), "lo"), sql.alias(sql.add(sql.col("r"), sql.num(1)), "hi")]
    if chunking is not None:
        stamps.append(sql.alias(sql.floor_divide(sql.col("r"), chunking.ranks), "chunk"))
        keys = (*keys, "chunk")
    query = sql.select(*map(sql.col, names), *stamps).from_(spread.subquery("c", copy=False), copy=False)
    return compilation.step(replace(changes, keys=keys, validity=compilation.ranks()), query, "changes")


@dataclass(frozen=True, slots=True)
class _Cell:
    """A term of the template in a solution: its id, text and kind."""

    id: Sql
    text: Sql
    kind: Sql


def fill_template(compilation: Compilation, solutions: Relation, form: Construct, salt: str) -> Relation:
    """Return the triples of a template, each once at every instant; fresh blank nodes for every solution (S4)."""
    label = None
    if has_blanks(form):
        solutions = one_row_per_rank(compilation, solutions)
        solutions, label = _labelled(compilation, solutions, salt)
    positions = template_columns(form)
    numbers = [sql.num(number) for number in range(len(form.template))]
    columns = [sql.col(name) for name in solutions.all_columns()]
    carried = [*columns, *([sql.col(label)] if label is not None else [])]
    spread = sql.select(*carried, sql.alias(exp.Explode(this=exp.Array(expressions=numbers)), "part"))
    spread = sql.from_(spread, solutions.name)
    layouts: dict[Variable, TermLayout] = dict.fromkeys(positions, EncodedLayout(_ID | {Part.TEXT}))
    chosen: list[Sql] = [sql.col(key) for key in solutions.keys]
    tests: list[Sql] = []
    for position in positions:
        cells = [_cell(compilation, solutions, _term(triple, position), label) for triple in form.template]
        stem = compilation.stem(position)
        chosen += [
            sql.alias(_by_part([cell.id for cell in cells]), stem),
            sql.alias(_by_part([cell.text for cell in cells]), f"{stem}_text"),
            sql.alias(_by_part([cell.kind for cell in cells]), f"{stem}_kind"),
        ]
        tests.append(_allowed(position, stem))
    chosen += [sql.col(name) for name in solutions.validity.columns]
    filled = sql.select(*chosen).from_(spread.subquery("t", copy=False), copy=False)
    names = {position: compilation.stem(position) for position in positions}
    certain = frozenset(positions) - {GRAPH}
    result = Relation(solutions.name, layouts, certain, solutions.keys, solutions.validity, names)
    query = sql.select(*[sql.col(name) for name in result.all_columns()])
    query = query.from_(filled.subquery("f", copy=False), copy=False).where(*tests, copy=False)
    return distinct(compilation, compilation.step(result, query, "template"))


def _term(triple: TemplateTriple, position: Variable) -> Iri | Literal | BlankNode | Variable | None:
    if position is GRAPH:
        return triple.graph
    return {SUBJECT: triple.subject, PREDICATE: triple.predicate, OBJECT: triple.object}[position]


def _allowed(position: Variable, stem: str) -> Sql:
    """Return the test that a term may stand in a position; triples that are none are left out."""
    kind = sql.col(f"{stem}_kind")
    if position is SUBJECT:
        return sql.one_of(kind, (Kind.IRI, Kind.BLANK))
    if position is PREDICATE:
        return sql.one_of(kind, (Kind.IRI,))
    if position is OBJECT:
        return sql.not_null(kind)
    return sql.any_of([sql.is_null(kind), sql.equal(kind.copy(), sql.num(Kind.IRI))])


def _by_part(values: list[Sql]) -> Sql:
    cases = [(sql.equal(sql.col("part"), sql.num(number)), value) for number, value in enumerate(values)]
    return sql.when(*cases)


def _cell(
    compilation: Compilation,
    solutions: Relation,
    term: Iri | Literal | BlankNode | Variable | None,
    label: str | None,
) -> _Cell:
    match term:
        case Variable() if term in solutions.layouts:
            return _Cell(*(solutions.part(term, part) for part in (Part.ID, Part.TEXT, Part.KIND)))
        case Iri() | Literal():
            value = constant_value(Constant(term), compilation.constant)
            return _Cell(*(value.part(part) for part in (Part.ID, Part.TEXT, Part.KIND)))
        case BlankNode():
            assert label is not None
            # The label of the query text is told apart by a number, so that no text of a user gets into the SQL.
            seed = sql.concat(sql.col(label), sql.text("|"), compilation.constant(term.label))
            digits = sql.call("replace", sql.cast(nodes.TermId(this=seed), "TEXT"), sql.text("-"), sql.text("n"))
            text = sql.concat(sql.text("_:c"), digits)
            return _Cell(nodes.TermId(this=text), text.copy(), sql.cast(sql.num(Kind.BLANK), "TINYINT"))
        case _:
            return _Cell(
                sql.cast(sql.NULL.copy(), "BIGINT"),
                sql.cast(sql.NULL.copy(), "TEXT"),
                sql.cast(sql.NULL.copy(), "TINYINT"),
            )


def _labelled(compilation: Compilation, solutions: Relation, salt: str) -> tuple[Relation, str]:
    """Return the solutions with a text that tells each from all others, the same in every replay (S4)."""
    identity = row_identity(solutions)
    ordinal = sql.window(exp.RowNumber(), [sql.col(name) for name in identity] or [sql.num(0)], [sql.num(0)])
    parts: list[Sql] = [compilation.constant(salt)]
    if isinstance(solutions.validity, RankInterval):
        parts.append(report_name(solutions.validity))
    for variable in sorted(solutions.layouts):
        written = sql.cast(solutions.part(variable, Part.ID), "TEXT")
        parts.append(sql.coalesce(written, sql.text("-")))
    parts.append(sql.cast(sql.col("n"), "TEXT"))
    joined = parts[0]
    for part in parts[1:]:
        joined = sql.concat(joined, sql.text("|"), part)
    columns = [sql.col(name) for name in solutions.all_columns()]
    numbered = sql.from_(sql.select(*columns, sql.alias(ordinal, "n")), solutions.name)
    query = sql.select(*[column.copy() for column in columns], sql.alias(joined, "solution"))
    query = query.from_(numbered.subquery("n", copy=False), copy=False)
    return compilation.step(solutions, query, "solutions"), "solution"


def describe_resources(
    compilation: Compilation, compile_: PatternCompiler, resources: Relation, resource: Variable
) -> Relation:
    """Return the concise bounded description of each resource (A13): its triples, and those of blank nodes in them.

    What is described is what the query can see: the static default graph and all its windows.
    """
    near, far, link = (compilation.fresh() for _ in range(3))
    wanted: Demand = {near: _TERM, far: _TERM}
    scope = Scope(default_source(compilation.inputs))
    blank = Filter(Call("ISBLANK", (Reference(far),)), _everything(compilation, near, link, far))
    edges = compile_(compilation, Distinct(Project(blank, (near, far))), scope, wanted)
    edges = compilation.keep(edges)
    resources = compilation.keep(resources)
    start = _view(resources, resource, near)
    first = distinct(compilation, join(compilation, start, edges, wanted))
    reached = PathCompiler(compilation, compile_, scope).closure(first, edges, near, far)
    given = rename_variable(compilation, resources, resource, SUBJECT)
    nodes = union(compilation, given, rename_variable(compilation, reached, far, SUBJECT), {SUBJECT: _TERM})
    nodes = distinct(compilation, nodes)
    terms: Demand = {SUBJECT: _TERM, PREDICATE: _TERM, OBJECT: _TERM}
    triples = compile_(compilation, _everything(compilation, SUBJECT, PREDICATE, OBJECT), scope, terms)
    return distinct(compilation, join(compilation, nodes, triples, terms))


def _everything(compilation: Compilation, subject: Variable, predicate: Variable, target: Variable) -> Pattern:
    """Return the triples of the default graph and of all windows."""
    graph = Bgp((TriplePattern(subject, predicate, target),))
    inputs = compilation.inputs
    sides: list[Pattern] = [Window(name, graph) for name in inputs.windows if name is not None]
    if inputs.statics.get(None) is not None or inputs.merged:
        sides.append(graph)
    pattern = sides[0]
    for side in sides[1:]:
        pattern = Union(pattern, side)
    return pattern


def _view(rows: Relation, variable: Variable, seen_as: Variable) -> Relation:
    return replace(
        rows,
        layouts={seen_as: rows.layouts[variable]},
        names={seen_as: rows.names[variable]},
        certain=frozenset({seen_as}) if variable in rows.certain else frozenset(),
    )


def rename_variable(compilation: Compilation, rows: Relation, variable: Variable, new: Variable) -> Relation:
    """Return one variable of the rows under another name."""
    view = _view(rows, variable, new)
    stem = compilation.stem(new)
    names = zip(view.columns(new), layout_columns(stem, view.layouts[new]), strict=True)
    columns = [sql.alias(sql.col(old), name) for old, name in names]
    kept = [sql.col(name) for name in (*rows.keys, *rows.validity.columns)]
    query = sql.from_(sql.select(*kept, *columns), rows.name)
    return compilation.step(replace(view, names={new: stem}), query, "nodes")

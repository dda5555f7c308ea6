"""Parsing what is printed gives the algebra again, for random algebra of every operator."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    Order,
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
from hydrograph.algebra.queries import Ask, ContinuousQuery, NamedWindow, Select, StreamOperator
from hydrograph.algebra.walk import variables
from hydrograph.algebra.windows import CountWindow, TimeWindow
from hydrograph.language import parse, print_query, print_sparql
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from hydrograph.temporal import DAY

IRIS = st.sampled_from([Iri("http://ex.org/a"), Iri("http://ex.org/b#c"), Iri("urn:x:ü"), Iri("http://ex.org/a/(1)")])
WINDOWS = st.sampled_from([Iri("http://ex.org/w"), Iri("http://ex.org/v")])
VARIABLES = st.sampled_from([Variable(name) for name in ("a", "b", "c", "d", "été", "_1")])
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LITERALS = st.one_of(
    STRINGS.map(Literal),
    st.builds(Literal.tagged, STRINGS, st.sampled_from(["en", "de-at"])),
    st.sampled_from(["1", "-1", "+01", "x", ""]).map(lambda text: Literal(text, XSD_INTEGER)),
    st.sampled_from(["1.5", "-.5", "1"]).map(lambda text: Literal(text, XSD_DECIMAL)),
    st.sampled_from(["1e0", "-1.5E-3", "NaN"]).map(lambda text: Literal(text, XSD_DOUBLE)),
    st.sampled_from(["true", "false", "1"]).map(lambda text: Literal(text, XSD_BOOLEAN)),
    STRINGS.map(lambda text: Literal(text, "http://ex.org/type")),
)
NODES = st.one_of(VARIABLES, IRIS, LITERALS)
NAMES = st.one_of(VARIABLES, IRIS)
TRIPLES = st.builds(TriplePattern, NODES, NAMES, NODES)


def pairs(strategy: st.SearchStrategy[Expression]) -> st.SearchStrategy[tuple[Expression, ...]]:
    return st.lists(strategy, min_size=2, max_size=3).map(tuple)


@st.composite
def negated_sets(draw: st.DrawFn) -> NegatedSet:
    forward = tuple(draw(st.lists(IRIS, max_size=2)))
    backward = tuple(draw(st.lists(IRIS, max_size=2)))
    return NegatedSet(forward, backward, bool(forward) or not backward, bool(backward))


def longer_paths(inner: st.SearchStrategy[Path]) -> st.SearchStrategy[Path]:
    return st.one_of(
        st.builds(Inverse, inner),
        st.builds(Sequence, inner, inner),
        st.builds(Alternative, inner, inner),
        st.builds(ZeroOrMore, inner),
        st.builds(OneOrMore, inner),
        st.builds(ZeroOrOne, inner),
    )


PATHS: st.SearchStrategy[Path] = st.recursive(
    st.one_of(st.builds(Link, IRIS), negated_sets()), longer_paths, max_leaves=4
)


def is_no_triple(path: Path) -> bool:
    """Tell whether the translation leaves `path` as it is."""
    return not isinstance(path, Link | Sequence | Inverse) or (
        isinstance(path, Inverse) and not isinstance(path.path, Link)
    )


PATH_PATTERNS = st.builds(PathPattern, NODES, PATHS.filter(is_no_triple), NODES)


def longer_expressions(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Compare, st.sampled_from(["=", "!=", "<", ">", "<=", ">="]), inner, inner),
        st.builds(Calculate, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Negate, inner),
        st.builds(Not, inner),
        st.builds(And, pairs(inner)),
        st.builds(Or, pairs(inner)),
        st.builds(In, inner, st.lists(inner, max_size=2).map(tuple), st.booleans()),
        st.builds(Call, st.sampled_from(["CONTAINS", "STRDT"]), st.tuples(inner, inner)),
        st.builds(Call, st.sampled_from(["CONCAT", "COALESCE"]), st.lists(inner, max_size=3).map(tuple)),
        st.builds(Call, IRIS, st.lists(inner, max_size=2).map(tuple)),
        st.builds(Call, st.just("BOUND"), st.tuples(st.builds(Reference, VARIABLES))),
    )


SIMPLE: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.builds(Reference, VARIABLES), st.builds(Constant, st.one_of(IRIS, LITERALS))),
    longer_expressions,
    max_leaves=5,
)


@st.composite
def values(draw: st.DrawFn) -> Values:
    columns = tuple(draw(st.lists(VARIABLES, unique=True, max_size=3)))
    row = st.tuples(*(st.one_of(st.none(), IRIS, LITERALS) for _ in columns))
    return Values(columns, tuple(draw(st.lists(row, max_size=3))))


BGPS = st.builds(Bgp, st.lists(TRIPLES, min_size=1, max_size=3).map(tuple))
LEAVES: st.SearchStrategy[Pattern] = st.one_of(BGPS, PATH_PATTERNS, values())


@st.composite
def extends(draw: st.DrawFn, inner: st.SearchStrategy[Pattern]) -> Pattern:
    pattern = draw(inner)
    new = [Variable(name) for name in ("n", "m", "k") if Variable(name) not in variables(pattern)]
    return Extend(pattern, draw(st.sampled_from(new)), draw(SIMPLE)) if new else pattern


@st.composite
def subqueries(draw: st.DrawFn, inner: st.SearchStrategy[Pattern]) -> Pattern:
    pattern = draw(inner)
    if draw(st.booleans()):
        pattern = OrderBy(
            pattern, tuple(draw(st.lists(st.builds(Order, SIMPLE, st.booleans()), min_size=1, max_size=2)))
        )
    columns = draw(st.lists(VARIABLES, unique=True, min_size=1, max_size=3))
    columns += [variable for variable in sorted(variables(pattern)) if variable not in columns and draw(st.booleans())]
    pattern = Project(pattern, tuple(columns))
    wrapped: list[Pattern] = [pattern, Distinct(pattern), Reduced(pattern)]
    pattern = draw(st.sampled_from(wrapped))
    offset, limit = draw(st.sampled_from([(0, None), (0, 0), (2, None), (3, 4)]))
    return pattern if (offset, limit) == (0, None) else Slice(pattern, offset, limit)


def longer_patterns(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    unit: st.SearchStrategy[Pattern] = st.just(Bgp(()))
    conditions = st.one_of(SIMPLE, st.builds(Exists, st.one_of(inner, unit), st.booleans()))
    return st.one_of(
        st.builds(Join, inner, inner),
        st.builds(LeftJoin, st.one_of(inner, unit), st.one_of(inner, unit), st.one_of(st.none(), conditions)),
        st.builds(Filter, conditions, st.one_of(inner, unit)),
        st.builds(Union, st.one_of(inner, unit), st.one_of(inner, unit)),
        st.builds(Minus, st.one_of(inner, unit), st.one_of(inner, unit)),
        st.builds(Graph, NAMES, st.one_of(inner, unit)),
        st.builds(Window, st.one_of(VARIABLES, WINDOWS), st.one_of(inner, unit)),
        extends(inner),
        subqueries(inner),
    )


PATTERNS: st.SearchStrategy[Pattern] = st.recursive(LEAVES, longer_patterns, max_leaves=5)

AGGREGATES = st.one_of(
    st.builds(Aggregate, st.sampled_from(["COUNT", "SUM", "MIN", "SAMPLE"]), SIMPLE, st.booleans()),
    st.builds(Aggregate, st.just("COUNT"), st.none(), st.booleans()),
    st.builds(Aggregate, st.just("GROUP_CONCAT"), SIMPLE, st.booleans(), st.one_of(st.none(), STRINGS)),
)


@st.composite
def groups(draw: st.DrawFn) -> Pattern:
    """A grouped level: keys, HAVING, trailing data, expressions over aggregates."""
    pattern = draw(PATTERNS)
    aggregates = draw(st.lists(AGGREGATES, min_size=1, max_size=3, unique=True))
    named = tuple((Variable(f".a{n}"), aggregate) for n, aggregate in enumerate(aggregates))
    keys = tuple(sorted(variable for variable in variables(pattern) if draw(st.booleans())))
    if draw(st.booleans()):
        pattern = Extend(pattern, Variable(".g0"), draw(SIMPLE.filter(lambda key: not isinstance(key, Reference))))
        keys = (*keys, Variable(".g0"))
    pattern = Group(pattern, keys, named, implicit=not keys)
    *selected, last = (Reference(variable) for variable, _ in named)
    if draw(st.booleans()):
        pattern = Filter(Compare(">", last, Constant(Literal("1", XSD_INTEGER))), pattern)
    else:
        selected.append(last)
    if draw(st.booleans()):
        pattern = Join(pattern, draw(values()))
    columns = [key for key in keys if not key.name.startswith(".")]
    for n, reference in enumerate(selected):
        pattern = Extend(pattern, Variable(f"out{n}"), Calculate("+", reference, Constant(Literal("1", XSD_INTEGER))))
        columns.append(Variable(f"out{n}"))
    if isinstance(pattern, Group | Filter | Join) and not columns:
        pattern = Extend(pattern, Variable("out"), Constant(Literal("x")))
        columns.append(Variable("out"))
    return Project(pattern, tuple(columns))


NAMED_WINDOWS = tuple(
    NamedWindow(name, Iri("http://ex.org/stream"), definition)
    for name, definition in (
        (Iri("http://ex.org/w"), TimeWindow(10_500, 500)),
        (Iri("http://ex.org/v"), CountWindow(10, 3)),
    )
)
PREFIXES = (("", "http://ex.org/"), ("u", "urn:x:"))


def query_of(pattern: Pattern) -> ContinuousQuery:
    """Return a query over `pattern`: SELECT where it projects, else ASK."""
    project = pattern
    while isinstance(project, Slice | Distinct | Reduced):
        project = project.inner
    form = Select(project.variables) if isinstance(project, Project) else Ask()
    return ContinuousQuery(form, pattern, NAMED_WINDOWS, prefixes=PREFIXES)


MANY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@MANY
@given(PATTERNS)
def test_patterns(pattern: Pattern) -> None:
    query = query_of(pattern)
    assert parse(print_query(query)) == query


@MANY
@given(groups())
def test_groups(pattern: Pattern) -> None:
    query = query_of(pattern)
    assert parse(print_query(query)) == query


@MANY
@given(SIMPLE)
def test_expressions(expression: Expression) -> None:
    query = query_of(Filter(expression, Bgp(())))
    assert parse(print_query(query)) == query


@MANY
@given(PATTERNS)
def test_windows_print_as_graphs(pattern: Pattern) -> None:
    text = print_sparql(query_of(pattern))
    read = parse(text, "sparql")
    assert not read.windows
    assert print_sparql(read) == text


@given(
    st.integers(min_value=1, max_value=31 * DAY),
    st.integers(min_value=1, max_value=40 * DAY),
    st.sampled_from([None, *StreamOperator]),
    st.sampled_from([None, "http://ex.org/out"]),
)
def test_clauses(width: int, slide: int, operator: StreamOperator | None, name: str | None) -> None:
    slide = max(slide, -(-width // 100_000))
    window = NamedWindow(Iri("http://ex.org/w"), Iri("http://ex.org/s"), TimeWindow(width, slide))
    pattern = Project(Bgp((TriplePattern(Variable("s"), Variable("p"), Variable("o")),)), (Variable("s"),))
    query = ContinuousQuery(Select((Variable("s"),)), pattern, (window,), operator=operator, name=name)
    assert parse(print_query(query)) == query


def test_a_generated_variable_in_two_patterns_becomes_a_real_one() -> None:
    blank = Variable(".b0")
    one, two = (Bgp((TriplePattern(blank, Iri(f"http://ex.org/{name}"), Variable(name)),)) for name in ("p", "_b0"))
    pattern = Project(LeftJoin(one, two), (Variable("p"),))
    text = print_query(ContinuousQuery(Select((Variable("p"),)), pattern))
    assert "_:" not in text
    assert text.count("?_b0_ ") == 2


def test_a_group_inside_a_pattern_becomes_a_subquery() -> None:
    count = (Variable(".a0"), Aggregate("COUNT", None))
    inner = Group(Bgp((TriplePattern(Variable("s"), Variable("p"), Variable("o")),)), (Variable("s"),), (count,))
    pattern = Join(Extend(inner, Variable("n"), Reference(Variable(".a0"))), Values((Variable("n"),), ()))
    text = print_query(ContinuousQuery(Ask(), pattern))
    assert "SELECT ?n ?s" in text or "(COUNT(*) AS " in text
    parse(text)

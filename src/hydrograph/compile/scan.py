"""Scans of triple patterns: the matches in a static graph or in a window (S2R).

Matches in a window are stamped with the report ranks `[lo, hi)` at which the window shows them (S8, S18), and the
intervals of equal triples are made disjoint (S19).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from hydrograph.algebra.nodes import TriplePattern
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.graphs import MergedGraph, NamedGraph, NamedGraphs
from hydrograph.compile.inputs import Chunking, Deduplication, StaticInput, StreamInput
from hydrograph.compile.relation import (
    Always,
    Demand,
    EncodedLayout,
    Part,
    Parts,
    Relation,
    TermLayout,
    layout_columns,
    null_part,
)
from hydrograph.compile.set_operators import distinct, union
from hydrograph.compile.sql import Sql
from hydrograph.errors import QueryError
from hydrograph.rdf.encoding import TRIPLE_COLUMNS, Kind, encode
from hydrograph.rdf.terms import Variable

NO_PARTS: Parts = frozenset()
_POSITIONS = ("s", "p", "o")


def scan_pattern(
    compilation: Compilation,
    pattern: TriplePattern,
    source: StreamInput | StaticInput | NamedGraph | NamedGraphs | MergedGraph | None,
    demand: Demand,
) -> Relation:
    """Return the matches of a triple pattern in what it reads."""
    match source:
        case MergedGraph():
            return _scan_merged(compilation, pattern, source, demand)
        case StreamInput():
            return scan_stream(compilation, pattern, source, demand)
        case StaticInput():
            return scan_static(compilation, pattern, _default_graph(compilation, source), demand)
        case NamedGraph(quads):
            rows = sql.from_(sql.select(exp.Star()), _read(compilation, quads))
            return scan_static(compilation, pattern, rows.where(*source.conditions(), copy=False), demand)
        case NamedGraphs(quads):
            rows = sql.from_(sql.select(exp.Star()), _read(compilation, quads))
            key = sql.alias(sql.col("g_id"), source.key)
            return scan_static(compilation, pattern, rows.where(*source.conditions(), copy=False), demand, key)
        case None:
            if compilation.inputs.merged and compilation.inputs.quads is not None:
                return scan_static(compilation, pattern, _default_graph(compilation, None), demand)
            raise QueryError(
                "a triple pattern outside WINDOW reads the static default graph, and none is given; "
                "put it into a WINDOW block or give static data"
            )


def _scan_merged(compilation: Compilation, pattern: TriplePattern, source: MergedGraph, demand: Demand) -> Relation:
    """Return the matches in several graphs that are seen as one; where two hold a triple it counts once (A4)."""
    # The ids of all variables tell the triples of a pattern apart.
    known = {v: demand.get(v, NO_PARTS) | {Part.ID} for v in pattern_variables(pattern)}
    sides = [scan_stream(compilation, pattern, stream, known) for stream in source.streams]
    if source.has_static:
        sides.append(scan_static(compilation, pattern, _default_graph(compilation, source.static), known))
    rows = sides[0]
    for side in sides[1:]:
        rows = union(compilation, rows, side, known)
    return distinct(compilation, rows)


def pattern_variables(pattern: TriplePattern) -> list[Variable]:
    """Return the variables of a triple pattern, each once."""
    terms = (pattern.subject, pattern.predicate, pattern.object)
    return list(dict.fromkeys(term for term in terms if isinstance(term, Variable)))


def _read(compilation: Compilation, static: StaticInput) -> str:
    if static not in compilation.statics:
        compilation.statics.append(static)
    return static.name


def _default_graph(compilation: Compilation, static: StaticInput | None) -> exp.Query:
    """Return the triples of the default graph and of the graphs that FROM merges with it, each once (A9)."""
    merged, quads = compilation.inputs.merged, compilation.inputs.quads
    columns = [sql.col(name) for name in TRIPLE_COLUMNS]
    sides: list[exp.Query] = []
    if static is not None:
        sides.append(sql.from_(sql.select(*columns), _read(compilation, static)))
    if merged and quads is not None:
        tests = [sql.equal(sql.col("g_id"), sql.num(encode(name).id)) for name in merged]
        named = sql.from_(sql.select(*[column.copy() for column in columns]), _read(compilation, quads))
        sides.append(named.where(sql.any_of(tests), copy=False).distinct(copy=False))
    return sides[0] if len(sides) == 1 else exp.union(*sides, distinct=True, copy=False)


def scan_static(
    compilation: Compilation, pattern: TriplePattern, graph: exp.Query, demand: Demand, key: Sql | None = None
) -> Relation:
    """Return the matches of a pattern in a static graph; they hold at every instant (S27)."""
    columns, layouts = _terms(compilation, pattern, demand)
    if key is not None:
        columns = [key, *columns]
    query = sql.select(*columns, *([] if columns else [sql.alias(sql.num(1), "one")]))
    query = query.from_(graph.subquery("g", copy=False), copy=False).where(*_matches(pattern), copy=False)
    name = compilation.let(query, "static")
    keys = () if key is None else (key.alias,)
    return Relation(name, layouts, frozenset(layouts), keys, Always(), _stems(compilation, layouts))


def scan_stream(
    compilation: Compilation,
    pattern: TriplePattern,
    stream: StreamInput,
    demand: Demand,
    test: Callable[[Relation], Sql] | None = None,
) -> Relation:
    """Return the matches of a pattern in a window, each with the report ranks at which it is in the content.

    `test` is a condition on the terms alone: all arrivals of a triple pass it or none, so it comes before they are
    made disjoint.
    """
    if stream not in compilation.streams:
        compilation.streams.append(stream)
    if not isinstance(pattern.predicate, Variable):
        known = encode(pattern.predicate)
        compilation.predicates[known.id] = known.text
    columns, layouts = _terms(compilation, pattern, demand)
    keys = compilation.inputs.keys
    chunking = compilation.inputs.chunking
    rows = Relation("e", layouts, frozenset(layouts), keys, compilation.ranks(), _stems(compilation, layouts))
    tests = [] if test is None else [test(rows)]
    if stream.deduplication is Deduplication.DONE:
        done = ("chunk",) if chunking is not None else ()
        query = sql.select(*[sql.col(key) for key in (*done, *keys)], *columns, sql.col("lo"), sql.col("hi"))
        query = sql.from_(query, stream.name).where(*_matches(pattern), copy=False)
        if tests:
            query = sql.select(exp.Star()).from_(query.subquery("e", copy=False), copy=False).where(*tests, copy=False)
        return replace(rows, name=compilation.let(query, "window"), keys=(*keys, *done))
    identity = _identity(pattern) if stream.deduplication in (Deduplication.LEAD, Deduplication.STAMPED) else []
    names = [
        name for variable, layout in layouts.items() for name in layout_columns(compilation.stem(variable), layout)
    ]
    if stream.deduplication is Deduplication.STAMPED:
        query = _join_spans(compilation, columns, identity, _matches(pattern), stream).where(*tests, copy=False)
    else:
        query = _stamp(columns, [*keys, *identity], _matches(pattern), stream).where(*tests, copy=False)
    if chunking is not None and stream.deduplication is Deduplication.STAMPED:
        query = chunked(query, [*names, *identity], chunking)
        keys = (*keys, "chunk")
    elif chunking is not None:
        query = _stamp_chunks(query, [*keys, *names, *identity], chunking)
        keys = (*keys, "chunk")
    if identity:
        query = cut_at_next_arrival(query, [*keys, *names], [*identity, *keys])
    return replace(rows, name=compilation.let(query, "window"), keys=keys)


def deduplicated_stream(
    stream: StreamInput, events: str, chunking: Chunking, columns: list[str], predicates: list[int]
) -> exp.Query:
    """Return the rows of a stream that several patterns read, stamped, cut by chunk and made disjoint once for all.

    `events` is the table of the encoded events, `columns` are those that the patterns read beside `chunk`, `lo` and
    `hi`; only the given predicates are kept, if any are given.
    """
    identity = [f"{position}_id" for position in _POSITIONS]
    extra = [*identity, *[name for name in columns if name not in identity]]
    matches: list[Sql] = (
        [exp.In(this=sql.col("p_id"), expressions=[sql.num(each) for each in predicates])] if predicates else []
    )
    query = _stamp_chunks(_stamp([], extra, matches, stream, events), extra, chunking)
    return cut_at_next_arrival(query, ["chunk", *columns], [*identity, "chunk"])


def content_intervals(stream: StreamInput) -> exp.Query:
    """Return the different intervals of ranks at which a window has content, whatever it is."""
    rows = _stamp([], [], [], replace(stream, deduplication=Deduplication.NOT_NEEDED))
    return (
        sql.select(sql.col("lo"), sql.col("hi")).from_(rows.subquery("h", copy=False), copy=False).distinct(copy=False)
    )


def _stems(compilation: Compilation, layouts: dict[Variable, TermLayout]) -> dict[Variable, str]:
    return {variable: compilation.stem(variable) for variable in layouts}


def _matches(pattern: TriplePattern) -> list[Sql]:
    """Return the conditions of constants and of repeated variables; term identity throughout (S5)."""
    conditions: list[Sql] = []
    seen: dict[Variable, str] = {}
    for position, term in zip(_POSITIONS, (pattern.subject, pattern.predicate, pattern.object), strict=True):
        column = sql.col(f"{position}_id")
        if not isinstance(term, Variable):
            conditions.append(sql.equal(column, sql.num(encode(term).id)))
        elif term in seen:
            conditions.append(sql.equal(column, sql.col(f"{seen[term]}_id")))
        else:
            seen[term] = position
    return conditions


def _terms(
    compilation: Compilation, pattern: TriplePattern, demand: Demand
) -> tuple[list[Sql], dict[Variable, TermLayout]]:
    """Return the columns of the pattern's variables that `demand` asks for, and their layouts."""
    columns: list[Sql] = []
    layouts: dict[Variable, TermLayout] = {}
    # The object comes first: where a variable has several positions, only the object's columns know its kind.
    for position, term in (("o", pattern.object), ("s", pattern.subject), ("p", pattern.predicate)):
        if not isinstance(term, Variable) or term in layouts:
            continue
        parts = demand.get(term, NO_PARTS)
        layout = EncodedLayout(parts)
        layouts[term] = layout
        wanted = [part for part in Part if part in parts]
        columns += [
            sql.alias(_source(position, part), name)
            for part, name in zip(wanted, layout_columns(compilation.stem(term), layout), strict=True)
        ]
    return columns, layouts


def _source(position: str, part: Part) -> Sql:
    """Return the column of the encoded schema that holds a part of the term in a position."""
    match part:
        case Part.ID:
            return sql.col(f"{position}_id")
        case Part.TEXT:
            return sql.col(position)
        case Part.KIND | Part.NUMBER | Part.DECIMAL if position == "o":
            return sql.col(f"o_{part.value}")
        case Part.KIND if position == "p":
            return sql.cast(sql.num(Kind.IRI), "TINYINT")
        case Part.KIND:
            first = sql.call("left", sql.col(position), exp.Literal.number(1))
            kind = sql.when((sql.equal(first, sql.text("_")), sql.num(Kind.BLANK)), otherwise=sql.num(Kind.IRI))
            return sql.cast(kind, "TINYINT")
        case Part.NUMBER | Part.DECIMAL:
            return null_part(part)


def _identity(pattern: TriplePattern) -> list[str]:
    """Return the id columns that tell triples of this pattern apart."""
    terms = (pattern.subject, pattern.predicate, pattern.object)
    named = zip(_POSITIONS, terms, strict=True)
    return [f"{position}_id" for position, term in named if isinstance(term, Variable)] or ["s_id"]


def _join_spans(
    compilation: Compilation, columns: list[Sql], identity: list[str], matches: list[Sql], stream: StreamInput
) -> exp.Select:
    """Return the matching events with the ranks at which the window shows their elements (S18)."""
    assert compilation.ranked is not None
    spans, keys = compilation.ranked.spans[stream.name]
    inner = sql.from_(sql.select(*map(sql.col, dict.fromkeys((*identity, *keys))), *columns), stream.name).where(
        *matches, copy=False
    )
    names = [*identity, *[column.alias for column in columns]]
    query = sql.select(
        *[sql.alias(sql.col(name, "e"), name) for name in names],
        *[sql.alias(sql.col(name, "s"), name) for name in ("lo", "hi")],
    )
    same = [sql.equal(sql.col(key, "e"), sql.col(key, "s")) for key in keys]
    return query.from_(inner.subquery("e", copy=False), copy=False).join(
        sql.table(spans, "s"), on=sql.all_of(same), copy=False
    )


def first_report_rank(stream: StreamInput, t: Sql) -> Sql:
    """Return the report rank of the first window that closes after `t`, before clipping (S8)."""
    assert stream.grid is not None
    since = sql.subtract(t, sql.num(stream.grid.first_close))
    return sql.add(sql.floor_divide(since, stream.grid.step), sql.num(1 + stream.shift))


def _stamp(
    columns: list[Sql], extra: list[str], matches: list[Sql], stream: StreamInput, table: str | None = None
) -> exp.Select:
    """Return the matching events with `[lo, hi)`, clipped to the ranks that are evaluated (S8, S17, S19.3)."""
    grid = stream.grid
    assert grid is not None
    # Before its first close a window contributes nothing (S31), hence the shift.
    starts = [sql.parameter("k_from"), *([sql.num(stream.shift)] if stream.shift else [])]
    lo = sql.greatest(first_report_rank(stream, sql.col("t")), *starts)
    if grid.width % grid.step == 0:
        end = sql.add(first_report_rank(stream, sql.col("t")), sql.num(grid.width // grid.step))
    else:
        end = first_report_rank(stream, sql.add(sql.col("t"), sql.num(grid.width)))
    ends = [end, sql.parameter("k_to")]
    if stream.deduplication is Deduplication.NEXT_COLUMN:
        ends.append(sql.coalesce(first_report_rank(stream, sql.col("t_next")), sql.parameter("k_to")))
    bounds = [
        sql.at_least(sql.col("t"), sql.parameter(f"{stream.name}_from")),
        sql.less(sql.col("t"), sql.parameter(f"{stream.name}_to")),
    ]
    inner = sql.select(
        *[sql.col(name) for name in extra], *columns, sql.alias(lo, "lo"), sql.alias(sql.least(*ends), "hi")
    )
    inner = sql.from_(inner, table or stream.name).where(*matches, *bounds, copy=False)
    names = [*extra, *[column.alias for column in columns], "lo", "hi"]
    outer = sql.select(*[sql.col(name) for name in names])
    # slide > width leaves gaps: in no window, no row
    return outer.from_(inner.subquery("e", copy=False), copy=False).where(
        sql.less(sql.col("lo"), sql.col("hi")), copy=False
    )


def _stamp_chunks(query: exp.Select, names: list[str], chunking: Chunking) -> exp.Select:
    """Return each row once for every chunk it touches, clipped to it (S17); Spark then moves rows by chunk once."""
    first = sql.floor_divide(sql.col("lo"), chunking.ranks)
    last = sql.floor_divide(sql.subtract(sql.col("hi"), sql.num(1)), chunking.ranks)
    touched = sql.when(
        (sql.equal(first, last), exp.Array(expressions=[first.copy()])),
        otherwise=exp.Array(expressions=[first.copy(), last.copy()]),
    )
    return _spread(query, names, exp.Explode(this=touched), chunking)


def chunked(query: exp.Select, names: list[str], chunking: Chunking) -> exp.Select:
    """Return the same for rows of any length, which may touch many chunks."""
    first = sql.floor_divide(sql.col("lo"), chunking.ranks)
    last = sql.floor_divide(sql.subtract(sql.col("hi"), sql.num(1)), chunking.ranks)
    touched = nodes.RankRange(this=first, expression=sql.add(last, sql.num(1)))
    return _spread(query, names, touched, chunking)


def _spread(query: exp.Select, names: list[str], touched: Sql, chunking: Chunking) -> exp.Select:
    columns = [sql.col(name) for name in names]
    spread = sql.select(*columns, sql.col("lo"), sql.col("hi"), sql.alias(touched, "chunk"))
    spread = spread.from_(query.subquery("w", copy=False), copy=False)
    start = sql.multiply(sql.col("chunk"), sql.num(chunking.ranks))
    end = sql.add(start.copy(), sql.num(chunking.ranks))
    clipped = sql.select(
        sql.col("chunk"),
        *[sql.col(name) for name in names],
        sql.alias(sql.greatest(sql.col("lo"), start), "lo"),
        sql.alias(sql.least(sql.col("hi"), end), "hi"),
    ).from_(spread.subquery("c", copy=False), copy=False)
    return sql.hint(clipped, "REPARTITION", sql.num(chunking.partitions), sql.col("chunk"))


def cut_at_next_arrival(query: exp.Select, names: list[str], identity: list[str]) -> exp.Select:
    """Return the rows cut at the next arrival of the same triple (S19.3): `hi` grows with `lo` inside one window.

    `identity` has an id first: Spark sorts by the first column as a number, and compares rows only where it is equal,
    which would be always with a chunk.
    """
    following = sql.window(
        exp.Lead(this=sql.col("lo")),
        [sql.col(name) for name in identity],
        [sql.col("lo"), sql.col("hi")],
    )
    hi = sql.least(sql.col("hi"), sql.coalesce(following, sql.col("hi")))
    cut = sql.select(*[sql.col(name) for name in names], sql.col("lo"), sql.alias(hi, "hi")).from_(
        query.subquery("n", copy=False), copy=False
    )
    outer = sql.select(*[sql.col(name) for name in (*names, "lo", "hi")]).from_(
        # The alias of `_chunk`: Spark forgets how kept rows are spread when the same column has another qualifier.
        cut.subquery("c", copy=False),
        copy=False,
    )
    return outer.where(sql.less(sql.col("lo"), sql.col("hi")), copy=False)

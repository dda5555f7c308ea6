"""Algebra to text of any dialect: parsing what is printed gives the algebra again."""

from __future__ import annotations

from hydrograph.algebra.nodes import PatternTerm
from hydrograph.algebra.queries import (
    Ask,
    Construct,
    ContinuousQuery,
    Describe,
    NamedWindow,
    Select,
    TemplateTriple,
)
from hydrograph.algebra.windows import CountWindow, TimeWindow
from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language.duration import print_duration
from hydrograph.language.iri import is_absolute
from hydrograph.language.print_patterns import INDENT, PatternPrinter
from hydrograph.language.print_terms import TermPrinter
from hydrograph.rdf.terms import BlankNode, Iri, Variable

_PRINTED = ("rspql", "sparql")


def print_query(query: ContinuousQuery, dialect: str | None = None) -> str:
    """Return the text of `query`; without a dialect RSP-QL where windows or streams are named, else SPARQL 1.1."""
    streaming = bool(query.windows) or query.operator is not None or query.name is not None
    if dialect is None:
        dialect = "rspql" if streaming else "sparql"
    if dialect not in _PRINTED:
        raise UsageError(f"unknown dialect {dialect!r} to print; known dialects: {', '.join(_PRINTED)}")
    if dialect == "sparql" and streaming:
        raise UnsupportedError("plain SPARQL has no windows and no streams; print the query as rspql")
    terms = TermPrinter(query.prefixes)
    operator = "" if query.operator is None else query.operator.name
    heading: list[str] = []
    if query.name is not None:
        if not is_absolute(query.name):
            raise UnsupportedError(f"RSP-QL names a query by an IRI, got {query.name!r}")
        heading = [f"REGISTER {operator or 'STREAM'} {terms.iri(Iri(query.name))} AS"]
        operator = ""
    sources = [f"FROM {terms.iri(graph)}" for graph in query.dataset.default]
    sources += [f"FROM NAMED {terms.iri(graph)}" for graph in query.dataset.named]
    sources += [_window(window, terms) for window in query.windows]
    return _print(query, heading, operator, tuple(sources), "WINDOW")


def print_sparql(query: ContinuousQuery, *, window_as_graph: bool = True) -> str:
    """Return the body of `query` as plain SPARQL 1.1, without FROM and REGISTER.

    WINDOW blocks become GRAPH blocks, or else nothing at all: then one window's content is the default graph.
    """
    if isinstance(query.form, Construct) and any(triple.graph is not None for triple in query.form.template):
        raise UnsupportedError("plain SPARQL has no GRAPH blocks in templates")
    return _print(query, [], "", (), "GRAPH" if window_as_graph else None)


def _print(
    query: ContinuousQuery, heading: list[str], operator: str, sources: tuple[str, ...], window_word: str | None
) -> str:
    """Return the whole text; a second run names generated variables that the first one found exposed."""
    terms = TermPrinter(query.prefixes)
    printer = PatternPrinter(terms, {}, window_word)
    lines = _body(query, operator, sources, printer)
    if printer.exposed:
        names: dict[Variable, str] = {}
        for variable in printer.exposed:
            stem = "_" + variable.name[1:].replace("-", "_").replace(".", "_")
            taken = printer.visible | {name[1:] for name in names.values()}
            names[variable] = "?" + next(name for n in range(len(taken) + 1) if (name := stem + "_" * n) not in taken)
        printer = PatternPrinter(terms, names, window_word)
        lines = _body(query, operator, sources, printer)
    prologue = [f"PREFIX {name}: <{iri}>" for name, iri in dict(query.prefixes).items()]
    if printer.base is not None:
        prologue.insert(0, f"BASE <{printer.base.value}>")
    return "\n".join([*prologue, *heading, *lines]) + "\n"


def _body(query: ContinuousQuery, operator: str, sources: tuple[str, ...], printer: PatternPrinter) -> list[str]:
    """Return the query from its form on."""
    operator = operator and f" {operator}"
    match query.form:
        case Select():
            return printer.level(f"SELECT{operator}", query.pattern, sources)
        case Ask():
            return printer.level("ASK", query.pattern, sources)
        case Describe(resources):
            names = " ".join(printer.name(resource) for resource in resources) or "*"
            return printer.level(f"DESCRIBE {names}", query.pattern, sources)
        case Construct(template):
            triples = [f"{INDENT}{_template_triple(triple, printer)}" for triple in template]
            return [f"CONSTRUCT{operator} {{", *triples, *printer.level("}", query.pattern, sources)]


def _template_triple(triple: TemplateTriple, printer: PatternPrinter) -> str:
    """Return one triple of a template, in its GRAPH block if it has one."""
    subject, target = (_template_term(term, printer) for term in (triple.subject, triple.object))
    text = f"{subject} {printer.verb(triple.predicate)} {target} ."
    return text if triple.graph is None else f"GRAPH {printer.name(triple.graph)} {{ {text} }}"


def _template_term(term: PatternTerm | BlankNode, printer: PatternPrinter) -> str:
    """Return a term of a template."""
    return printer.variable(term) if isinstance(term, Variable) else printer.terms.term(term)


def _window(window: NamedWindow, terms: TermPrinter) -> str:
    """Return the declaration of a window in RSP-QL."""
    match window.definition:
        case TimeWindow(width, slide) if slide is not None:
            bounds = f"RANGE {print_duration(width)} STEP {print_duration(slide)}"
        case CountWindow(size, slide, triples=False):
            bounds = f"ELEMENTS {size} STEP {slide}"
        case definition:
            raise UnsupportedError(f"RSP-QL has no words for {definition}")
    if window.name is None:
        raise UnsupportedError(f"RSP-QL windows have a name, got none on <{window.stream.value}>")
    return f"FROM NAMED WINDOW {terms.iri(window.name)} ON {terms.iri(window.stream)} [{bounds}]"

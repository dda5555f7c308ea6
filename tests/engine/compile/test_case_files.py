"""The case files of `tests/cases/queries`: a query, its streams, and the answers of every report.

A file dropped there is a test; `HYDROGRAPH_GOLDEN=1` writes what comes out into the files instead of comparing. The
oracle has to agree with every answer, except in cases whose title marks a known difference.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from hydrograph.compile.compiler import answer_columns
from hydrograph.language import parse
from hydrograph.rdf.nquads import parse_term, term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term, Triple
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph.runtime.placement.local import Local
from hydrograph.windows.stream import Element, Graph
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import StaticData
from hydrograph_gauge.oracle.evaluate import Report
from tests.support.random_cases import Case
from tests.support.replay_adapter import answer

CASES = Path(__file__).parents[2] / "cases" / "queries"
GOLDEN = os.environ.get("HYDROGRAPH_GOLDEN") == "1"
BASE = "http://ex.org/"
_SECTION = re.compile(r"^--- (query|stream|static|expect) ?(\S*)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileCase:
    """One case of a file: its title, and its sections in order."""

    title: str
    sections: tuple[tuple[str, str, str], ...]

    def case(self) -> Case:
        text, streams, static = "", dict[Iri, tuple[Element, ...]](), frozenset[Triple]()
        for kind, name, body in self.sections:
            if kind == "query":
                text = f"PREFIX : <{BASE}>\n{body}"
            elif kind == "stream":
                streams[_iri(name)] = tuple(_element(line, seq) for seq, line in enumerate(body.strip().splitlines()))
            elif kind == "static":
                static = _graph(body)
        return Case(0, parse(text), streams, StaticData(static))

    def expected(self) -> str:
        return next(body.rstrip() for kind, _, body in self.sections if kind == "expect")

    def written(self, expected: str) -> str:
        parts = [f"# {self.title}\n"]
        for kind, name, body in self.sections:
            heading = f"--- {kind} {name}".rstrip()
            parts.append(f"{heading}\n{expected if kind == 'expect' else body.rstrip()}\n")
        return "".join(parts)


def cases_of(path: Path) -> list[FileCase]:
    found = []
    for block in re.split(r"^(?=# )", path.read_text(), flags=re.MULTILINE):
        if block.strip():
            title, _, rest = block.partition("\n")
            pieces = _SECTION.split(rest)
            sections = tuple(zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True))
            found.append(FileCase(title.removeprefix("# "), sections))
    return found


def _iri(name: str) -> Iri:
    return Iri(BASE + name.removeprefix(":"))


def _term(text: str) -> Term:
    if text.startswith(":"):
        return _iri(text)
    if re.fullmatch(r"-?\d+", text):
        return Literal(text, XSD_INTEGER)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return Literal(text, XSD_DECIMAL)
    return parse_term(text)


def _graph(text: str) -> Graph:
    triples = []
    for statement in re.split(r"\s\.(?:\s+|$)", text.strip()):
        if statement.strip():
            subject, predicate, target = map(_term, statement.split(maxsplit=2))
            assert isinstance(subject, Iri | BlankNode)
            assert isinstance(predicate, Iri)
            triples.append(Triple(subject, predicate, target))
    return frozenset(triples)


def _element(line: str, seq: int) -> Element:
    t, _, triples = line.strip().partition(" ")
    return Element(int(t), seq, _graph(triples))


def _short(term: Term) -> str:
    if isinstance(term, Iri) and term.value.startswith(BASE):
        return ":" + term.value.removeprefix(BASE)
    if isinstance(term, Literal) and term.datatype in (XSD_INTEGER, XSD_DECIMAL):
        return term.lexical
    return term_text(term)


def shown(case: Case, reports: list[Report]) -> str:
    names = [variable.name for variable in answer_columns(case.query)]
    lines = []
    for report in reports:
        rows = [
            " ".join(f"?{name}={_short(term)}" for name, term in zip(names, row, strict=True) if term is not None)
            for row in report.rows.elements()
        ]
        when = f"{report.t}" if report.open is None else f"[{report.open}, {report.close})"
        lines += [f"{when}  {row}".rstrip() for row in sorted(rows)] or [f"{when}  nothing"]
    return "\n".join(lines)


ALL = [pytest.param(path, id=path.stem) for path in sorted(CASES.glob("*.test"))]


@pytest.mark.parametrize("path", ALL)
def test_the_cases_of_a_file_have_these_answers(path: Path, local: Local) -> None:
    texts = []
    for one in cases_of(path):
        case = one.case()
        whole, cut = answer(case, placed=local), answer(case, chunk_windows=1, placed=local)
        assert not compare_reports(whole, cut), one.title
        if "oracle" not in one.title:
            assert not compare_reports(case.expected(), whole), one.title
        texts.append(one.written(shown(case, whole)))
        if not GOLDEN:
            assert shown(case, whole) == one.expected(), one.title
    if GOLDEN:
        path.write_text("\n".join(texts))

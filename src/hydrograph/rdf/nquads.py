r"""Terms and statements as [N-Triples](https://www.w3.org/TR/n-triples/) and N-Quads text, one line at a time.

The canonical text of a term is what ids are made of: only `"`, `\`, line feed and carriage return are escaped,
everything else is plain UTF-8; `xsd:string` is not written; language tags are in lower case.

>>> term_text(Literal.tagged('say "hi"', "EN"))
'"say \\"hi\\""@en'
>>> parse_statement(r'<urn:s> <urn:p> "\u00e9"^^<http://www.w3.org/2001/XMLSchema#string> . # a comment').object
Literal(lexical='é', datatype='http://www.w3.org/2001/XMLSchema#string', language=None)
"""

from __future__ import annotations

import re
from typing import NoReturn, assert_never, cast

from hydrograph.errors import DataError
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Quad, Subject, Term, Triple
from hydrograph.rdf.vocab import XSD_STRING

# The grammar, in the subset of regular expressions that Python and Java share: every repetition is possessive, so that
# matching takes linear time and constant stack in both. Escapes that would smuggle in what the grammar forbids in the
# place where they stand (surrogates, illegal characters of IRIs) are no matches.
_HEX = "[0-9A-Fa-f]"
_CODE_POINT = (
    rf"(?:u(?![Dd][89A-Fa-f]){_HEX}{{4}}"
    rf"|U(?:0010{_HEX}{{4}}|000[1-9A-Fa-f]{_HEX}{{4}}|0000(?![Dd][89A-Fa-f]){_HEX}{{4}}))"
)
_NOT_IN_IRI = r"(?!(?:u|U0000)00(?:[01][0-9A-Fa-f]|20|22|3[CcEe]|5[CcEe]|60|7[B-Db-d]))"
_IRI_RUN = r'[^\x00-\x20<>"{}|^`\\\ud800-\udfff]*+'
_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LABEL_REST = f"_:0-9{_BASE}\u00b7\u0300-\u036f\u203f-\u2040-"
_STRING_RUN = r'[^"\\\n\r\ud800-\udfff]*+'

SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*+:"
IRIREF = rf"<(?:{SCHEME}|(?=[^>:\\]*+\\)){_IRI_RUN}(?:\\{_NOT_IN_IRI}{_CODE_POINT}{_IRI_RUN})*+>"
"""An absolute IRI; where the scheme itself is written with escapes, it has to be checked again after unescaping."""
BLANK_NODE_LABEL = rf"_:[_:0-9{_BASE}][{_LABEL_REST}]*+(?:\.++[{_LABEL_REST}]++)*+"
STRING = rf"\"{_STRING_RUN}(?:\\(?:[tbnrf\"'\\]|{_CODE_POINT}){_STRING_RUN})*+\""
LANGTAG = "@[a-zA-Z]++(?:-[a-zA-Z0-9]++)*+"
SPACE = r"[ \t]*+"
SUBJECT = f"{IRIREF}|{BLANK_NODE_LABEL}"
OBJECT = rf"{IRIREF}|{BLANK_NODE_LABEL}|{STRING}(?:{SPACE}(?:\^\^{SPACE}{IRIREF}|{LANGTAG}))?+"
END = rf"{SPACE}\.{SPACE}(?:#[^\n\r]*+)?+"
TRIPLE = f"{SPACE}({SUBJECT}){SPACE}({IRIREF}){SPACE}({OBJECT}){END}"
"""A statement of N-Triples; the groups are subject, predicate and object."""
STATEMENT = f"{SPACE}({SUBJECT}){SPACE}({IRIREF}){SPACE}({OBJECT}){SPACE}({SUBJECT})?+{END}"
"""A statement of N-Quads; the fourth group is the graph or missing."""

_STATEMENT = re.compile(STATEMENT)
_TRIPLE = re.compile(TRIPLE)
_TERM = re.compile(OBJECT)
_SCHEME = re.compile(SCHEME)
_ESCAPE = re.compile(r"\\(?:u(.{4})|U(.{8})|(.))", re.DOTALL)
_TO_ESCAPE = re.compile(r'["\\\n\r]')
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ESCAPES = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r"}


def term_text(term: Term) -> str:
    """Return the canonical N-Triples text of `term`."""
    match term:
        case Iri(value):
            return f"<{value}>"
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical, datatype, language):
            quoted = f'"{_TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], lexical)}"'
            if language is not None:
                return f"{quoted}@{language.lower()}"
            return quoted if datatype == XSD_STRING else f"{quoted}^^<{datatype}>"
        case _:
            assert_never(term)


def parse_term(text: str) -> Term:
    """Return the term that `text` is, or raise DataError."""
    if _TERM.fullmatch(text) is None:
        _complain_about(text, [(OBJECT, "an IRI, a blank node or a literal")], ("", "the end"))
    return _term(text, text)


def parse_statement(line: str) -> Triple | Quad:
    """Return the statement of one line: a quad if it names a graph.

    Raise DataError saying the column and what was expected there.
    """
    found = _STATEMENT.fullmatch(line)
    if found is None:
        _complain(line, quads=True)
    subject, predicate, object_, graph = found.groups()
    s, p, o = cast(Subject, _term(subject, line)), _iri(predicate, line), _term(object_, line)
    return Triple(s, p, o) if graph is None else Quad(s, p, o, cast(Subject, _term(graph, line)))


def split_triple(line: str) -> tuple[str, str, str]:
    """Return the canonical texts of the terms of one N-Triples line, or raise DataError like `parse_statement`.

    >>> split_triple('<urn:s> <urn:p>"5"@DE.')
    ('<urn:s>', '<urn:p>', '"5"@de')
    """
    found = _TRIPLE.fullmatch(line)
    if found is None:
        _complain(line, quads=False)
    s, p, o = found.groups()
    return canonical_texts(s, p, o, line)


def split_quad(line: str) -> tuple[str, str, str, str]:
    """Return the canonical texts of the terms of one N-Quads line, the graph last and empty for the default graph.

    >>> split_quad('<urn:s> <urn:p> "5"@DE <urn:g> .')
    ('<urn:s>', '<urn:p>', '"5"@de', '<urn:g>')
    """
    found = _STATEMENT.fullmatch(line)
    if found is None:
        _complain(line, quads=True)
    s, p, o, graph = found.groups()
    if graph is not None and "\\" in graph:
        graph = term_text(_term(graph, line))
    return *canonical_texts(s, p, o, line), graph or ""


def canonical_texts(s: str, p: str, o: str, line: str) -> tuple[str, str, str]:
    """Return the canonical texts of three terms that the grammar found in `line`."""
    if "\\" not in line and (o[0] != '"' or o[-1] == '"'):
        return s, p, o  # nothing to normalise: by far the most lines
    return term_text(_term(s, line)), term_text(_iri(p, line)), term_text(_term(o, line))


def _term(text: str, line: str) -> Term:
    first = text[0]
    if first == "<":
        return _iri(text, line)
    if first == "_":
        return BlankNode(text[2:])
    last = text[-1]
    if last == '"':
        return Literal(_unescape(text[1:-1]))
    if last == ">":
        quoted, _, datatype = text.rpartition("<")
        lexical = quoted.rpartition("^^")[0].rstrip(" \t")[1:-1]
        return Literal(_unescape(lexical), _iri("<" + datatype, line).value)
    quoted, _, language = text.rpartition("@")
    return Literal.tagged(_unescape(quoted.rstrip(" \t")[1:-1]), language)


def _iri(text: str, line: str) -> Iri:
    value = _unescape(text[1:-1])
    if "\\" in text and _SCHEME.match(value) is None:
        raise DataError(f"column {line.index(text) + 1}: expected an absolute IRI, got {shorten(text)}")
    return Iri(value)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _CHARACTERS[found[3]]


def shorten(text: str, limit: int = 60) -> str:
    """Return `text` fit for one line of a message: cut, and with control characters escaped."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)


_FIRST = [(SUBJECT, "a subject (IRI or blank node)"), (IRIREF, "a predicate (IRI)"), (OBJECT, "an object")]


def _complain(line: str, *, quads: bool) -> NoReturn:
    parts = [*_FIRST, (f"(?:{SUBJECT})?+", "a graph name or '.'")] if quads else _FIRST
    _complain_about(line, parts, (END, "'.' and the end of the line" if not quads else "a graph name or '.'"))


def _complain_about(line: str, parts: list[tuple[str, str]], end: tuple[str, str]) -> NoReturn:
    """Raise DataError for the first of `parts` that `line` does not have in its place."""
    at = 0
    for pattern, name in [*parts, end]:
        spaces = re.compile(SPACE).match(line, at)
        at = spaces.end() if spaces and pattern != end[0] else at
        found = re.compile(pattern).match(line, at)
        if found is None:
            _fail(line, at, name)
        at = found.end()
    _fail(line, at, "the end of the line" if len(parts) > 1 else "the end")


_CHARACTER_OF = {
    "<": re.compile(rf"<{_IRI_RUN}(?:\\{_NOT_IN_IRI}{_CODE_POINT}{_IRI_RUN})*+"),
    '"': re.compile(STRING.removesuffix('\\"')),
}


def _fail(line: str, at: int, expected: str) -> NoReturn:
    """Raise DataError for the text at `at`, more exactly where an IRI or a string is broken inside."""
    opened = _CHARACTER_OF.get(line[at : at + 1])
    inside = opened.match(line, at) if opened else None
    stop = inside.end() if inside else at
    if inside and line[at] == "<" and line[stop : stop + 1] == ">" and not _SCHEME.match(line, at + 1):
        expected = "an absolute IRI"
    elif inside and line[stop : stop + 1] not in (">", '"'):
        at, expected = stop, f"a legal character or the end of the {'IRI' if line[at] == '<' else 'string'}"
    elif line.startswith(("^^", "@"), at):
        expected = "^^ and an absolute datatype IRI" if line[at] == "^" else "a language tag such as @en"
    got = shorten(line[at : at + 30]) or "the end of the line"
    raise DataError(f"column {at + 1}: expected {expected}, got {got}")

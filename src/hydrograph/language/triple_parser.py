"""Parser of triples: predicate and object lists, `[ … ]`, collections, property paths as verbs."""

from __future__ import annotations

from hydrograph.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    Path,
    PatternTerm,
    Sequence,
    TriplePattern,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.language.syntax import PathTriple
from hydrograph.language.term_parser import LITERAL_STARTS, TermParser
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.rdf.vocab import RDF_FIRST, RDF_NIL, RDF_REST, RDF_TYPE

_REPEATED: dict[str, type[ZeroOrMore | OneOrMore | ZeroOrOne]] = {"*": ZeroOrMore, "+": OneOrMore, "?": ZeroOrOne}

PATH_STARTS = frozenset({"iri", "name", "A", "(", "^", "!"})


class PathParser(TermParser):
    """Parser layer of property paths, above terms."""

    def path(self) -> Path:
        """Read alternatives of sequences."""
        path = self._sequence()
        while self.accept("|"):
            path = Alternative(path, self._sequence())
        return path

    def _sequence(self) -> Path:
        """Read steps with `/` between them."""
        path = self._step()
        while self.accept("/"):
            path = Sequence(path, self._step())
        return path

    def _step(self) -> Path:
        """Read one step, which may be inverse and repeated."""
        inverse = self.accept("^")
        key = self.token.key
        path: Path
        if key == "(":
            self.take()
            path = self.path()
            self.expect(")")
        elif key == "!":
            self.take()
            path = self._negated_set()
        else:
            path = Link(self.predicate())
        if self.token.key in _REPEATED and not (self.token.key == "+" and self.sign_of_number()):
            path = _REPEATED[self.take().key](path)
        return Inverse(path) if inverse else path

    def predicate(self) -> Iri:
        """Read an IRI, or `a` for rdf:type."""
        if self.token.text == "a":
            self.take()
            return Iri(RDF_TYPE)
        return self.iri("a predicate or a property path")

    def _negated_set(self) -> NegatedSet:
        """Read what follows `!`: one predicate, or several in brackets."""
        forward: list[Iri] = []
        backward: list[Iri] = []
        if not self.accept("("):
            (backward if self.accept("^") else forward).append(self.predicate())
        elif not self.accept(")"):
            (backward if self.accept("^") else forward).append(self.predicate())
            while self.accept("|"):
                (backward if self.accept("^") else forward).append(self.predicate())
            self.expect(")", "| or )")
        return NegatedSet(
            tuple(forward),
            tuple(backward),
            has_forward=bool(forward) or not backward,
            has_backward=bool(backward),
        )


NODE_STARTS = LITERAL_STARTS | {"var", "iri", "name", "blank", "[", "("}

_A_TERM = "a variable, an IRI, a literal, a blank node, [ or ("


class TriplesParser(PathParser):
    """Parser layer of triples, above paths; `triples` collects those read so far."""

    triples: list[TriplePattern | PathTriple]
    paths_allowed = True

    def same_subject(self) -> None:
        """Read one subject with its predicates and objects."""
        if self.token.key in ("[", "("):
            alone = self.token.key == "[" and self.ahead() != "]"
            alone = alone or (self.token.key == "(" and self.ahead() != ")")
            subject = self.node()
            # `[ :p 1 ] .` and `(1 2) .` are complete by themselves, `[] .` and `() .` do not.
            if alone and not self._verb_follows():
                return
        else:
            subject = self.node()
        self._properties(subject)

    def node(self) -> PatternTerm:
        """Read a subject or an object, and the triples that an abbreviation expands to."""
        key = self.token.key
        if key == "var":
            return self.variable()
        if key in ("iri", "name"):
            return self.iri()
        if key in LITERAL_STARTS:
            return self.literal()
        if key == "blank":
            return self.blank()
        if key == "[":
            return self._property_list()
        if key == "(":
            return self._collection()
        raise self.unexpected(_A_TERM)

    def _verb_follows(self) -> bool:
        """Return whether a verb is next."""
        key = self.token.key
        return key == "var" or (key in PATH_STARTS and (key != "A" or self.token.text == "a"))

    def _properties(self, subject: PatternTerm) -> None:
        """Read verbs with their objects; `;` may be repeated and may end the list."""
        self._objects(subject, self._verb())
        while self.accept(";"):
            if self._verb_follows():
                self._objects(subject, self._verb())

    def _verb(self) -> Path | Variable:
        """Read a variable, a predicate or a path."""
        if self.token.key == "var":
            return self.variable()
        if not self._verb_follows():
            raise self.unexpected("a predicate, a property path or a variable")
        return self.path() if self.paths_allowed else Link(self.predicate())

    def _objects(self, subject: PatternTerm, verb: Path | Variable) -> None:
        """Read objects with `,` between them."""
        while True:
            # The triple comes before those that its object abbreviates, in the order of the text.
            start = len(self.triples)
            target = self.node()
            self.triples, inner = self.triples[:start], self.triples[start:]
            self._add(subject, verb, target)
            self.triples += inner
            if not self.accept(","):
                return

    def _property_list(self) -> Variable:
        """Read `[]` or `[ … ]` and return its blank node."""
        self.expect("[")
        blank = self.fresh("b")
        if self.token.key != "]":
            self._properties(blank)
        self.expect("]", "; or , or ]")
        return blank

    def _collection(self) -> PatternTerm:
        """Read `( … )` and return its first cell, or rdf:nil."""
        self.expect("(")
        cells: list[tuple[Variable, PatternTerm]] = []
        while self.token.key != ")":
            cell = self.fresh("b")
            cells.append((cell, self.node()))
        self.expect(")")
        nil = Iri(RDF_NIL)
        for n, (cell, item) in enumerate(cells):
            self._add(cell, Link(Iri(RDF_FIRST)), item)
            self._add(cell, Link(Iri(RDF_REST)), cells[n + 1][0] if n + 1 < len(cells) else nil)
        return cells[0][0] if cells else nil

    def _add(self, subject: PatternTerm, verb: Path | Variable, target: PatternTerm) -> None:
        """Keep one triple, [translated as a path](https://www.w3.org/TR/sparql11-query/#sparqlTranslatePathPatterns)."""
        if isinstance(verb, Variable):
            self.triples.append(TriplePattern(subject, verb, target))
            return
        steps = _steps(verb)
        for n, step in enumerate(steps):
            after = target if n == len(steps) - 1 else self.fresh("p")
            match step:
                case Link(predicate):
                    self.triples.append(TriplePattern(subject, predicate, after))
                case Inverse(Link(predicate)):
                    self.triples.append(TriplePattern(after, predicate, subject))
                case _:
                    self.triples.append(PathTriple(subject, step, after))
            subject = after


def _steps(path: Path) -> list[Path]:
    """Return the steps of a sequence from left to right."""
    steps: list[Path] = []
    waiting = [path]
    while waiting:
        match waiting.pop():
            case Sequence(left, right):
                waiting += (right, left)
            case step:
                steps.append(step)
    return steps

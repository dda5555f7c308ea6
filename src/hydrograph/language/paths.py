"""[Property paths](https://www.w3.org/TR/sparql11-query/#propertypaths)."""

from __future__ import annotations

from hydrograph.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    Path,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.language.terms import TermParser
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.vocab import RDF_TYPE

_REPEATED: dict[str, type[ZeroOrMore | OneOrMore | ZeroOrOne]] = {"*": ZeroOrMore, "+": OneOrMore, "?": ZeroOrOne}

PATH_STARTS = frozenset({"iri", "name", "A", "(", "^", "!"})


class PathParser(TermParser):
    """Adds paths to terms."""

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

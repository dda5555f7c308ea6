"""Random terms, triples, streams, windows and conditions: few of each, so that patterns match and rows repeat.

Two properties of the oracle's evaluators restrict what is drawn. Numbers have one lexical form for each value and type,
because pyoxigraph stores values, not lexical forms. Comparisons on which evaluators disagree (an order of IRIs, a
string unequal to a number) are drawn only where a type error and `false` have the same effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hydrograph.algebra.expressions import And, Call, Compare, Comparison, Constant, Expression, Not, Or, Reference
from hydrograph.algebra.nodes import Bgp, PathPattern, Pattern, PatternTerm, TriplePattern
from hydrograph.algebra.walk import is_visible, subpatterns, variables
from hydrograph.algebra.windows import CountWindow, TimeWindow
from hydrograph.rdf.terms import Iri, Literal, Object, Triple, Variable
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph.windows.stream import Element, Graph

NAMESPACE = "http://example.org/"
SUBJECTS = tuple(Iri(f"{NAMESPACE}s{number}") for number in range(3))
PREDICATES = tuple(Iri(f"{NAMESPACE}p{number}") for number in range(2))
INTEGERS = tuple(Literal(str(number), XSD_INTEGER) for number in range(3))
DECIMALS = tuple(Literal(text, XSD_DECIMAL) for text in ("0.5", "1.5"))
TWO = Literal("2.0", XSD_DECIMAL)
"""The value of an integer as another term: only in conditions."""
STRINGS = tuple(Literal(text) for text in ("a", "b"))
VARIABLES = tuple(Variable(name) for name in "abcd")
PREDICATE = Variable("p")


@dataclass(frozen=True, slots=True)
class Features:
    """Features that a random query may use."""

    depth: int = 0
    """0 draws windows, static patterns, FILTER and aggregates; more nests every operator of SPARQL so deep."""
    windows: int = 2
    strings: bool = False
    """Strings among the objects; conditions are then simpler."""
    counts: bool = False
    """Windows that count elements, beside those of time."""


BASIC = Features()
FULL = Features(depth=3)


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a random stream."""

    elements: int = 14
    start: int = 0
    span: int = 26
    repeats: float = 0.35
    """Share of triples that repeat an earlier one."""
    disorder: int = 3
    """Largest lateness of an element, in milliseconds."""
    strings: bool = False


SMALL = Shape()


def random_triple(rng: Random, *, strings: bool = False) -> Triple:
    """Draw a triple; objects are subjects as often as values, so that paths have steps."""
    values = rng.choice((INTEGERS, INTEGERS, DECIMALS, STRINGS if strings else DECIMALS))
    objects: tuple[Object, ...] = rng.choice((SUBJECTS, values))
    return Triple(rng.choice(SUBJECTS), rng.choice(PREDICATES), rng.choice(objects))


def random_graph(rng: Random, size: int, *, strings: bool = False) -> Graph:
    """Draw a graph of at most `size` triples."""
    return frozenset(random_triple(rng, strings=strings) for _ in range(size))


def random_stream(rng: Random, shape: Shape = SMALL) -> tuple[Element, ...]:
    """Draw a stream in order of arrival: equal times, repeated triples, elements of several triples, some late."""
    pool: list[Triple] = []
    drawn: list[tuple[int, Graph]] = []
    for _ in range(shape.elements):
        triples = []
        for _ in range(rng.choice((1, 2, 2, 3))):
            again = pool and rng.random() < shape.repeats
            triples.append(rng.choice(pool) if again else random_triple(rng, strings=shape.strings))
        pool += triples
        drawn.append((shape.start + rng.randrange(shape.span), frozenset(triples)))
    drawn.sort(key=lambda item: item[0] + rng.uniform(0, shape.disorder))
    return tuple(Element(t, seq, graph) for seq, (t, graph) in enumerate(drawn))


def random_window(rng: Random, *, counts: bool = False) -> TimeWindow | CountWindow:
    """Draw a window: tumbling, overlapping, or with gaps between its scopes; or one that counts."""
    if counts and rng.random() < 0.7:
        return CountWindow(rng.randrange(1, 9), rng.randrange(1, 5))
    width = rng.choice((1, 3, 5, 8, 10, 12, 15))
    return TimeWindow(width, rng.choice((width, rng.randrange(1, 8), rng.randrange(1, 8))))


def random_bgp(rng: Random, sizes: Sequence[int] = (1, 1, 2, 2, 3), *, strings: bool = False) -> Bgp:
    """Draw some triple patterns over few variables: repeated ones, variable predicates, constants."""
    return Bgp(tuple(_triple_pattern(rng, strings=strings) for _ in range(rng.choice(sizes))))


def _triple_pattern(rng: Random, *, strings: bool) -> TriplePattern:
    subjects: tuple[PatternTerm, ...] = VARIABLES if rng.random() < 0.9 else SUBJECTS
    subject = rng.choice(subjects)
    predicates: tuple[Iri | Variable, ...] = PREDICATES if rng.random() < 0.83 else (PREDICATE, PREDICATE, *VARIABLES)
    values = (*INTEGERS, *DECIMALS, *(STRINGS if strings else ()))
    objects: tuple[PatternTerm, ...] = rng.choice((SUBJECTS, values))
    if rng.random() < 0.8:
        # A variable that repeats within one pattern matches little.
        objects = tuple(variable for variable in VARIABLES if variable != subject or rng.random() < 0.1)
    return TriplePattern(subject, rng.choice(predicates), rng.choice(objects))


def is_numeric(variable: Variable) -> Expression:
    """Return the condition that a variable holds a number."""
    return Call("ISNUMERIC", (Reference(variable),))


def things(pattern: Pattern) -> frozenset[Variable]:
    """Return the variables that can hold only IRIs, because they stand where no value can."""
    triples = [triple for node in subpatterns(pattern) if isinstance(node, Bgp) for triple in node.patterns]
    terms = [term for triple in triples for term in (triple.subject, triple.predicate)]
    return frozenset(term for term in terms if isinstance(term, Variable))


def random_condition(rng: Random, pattern: Pattern, features: Features, *, nested: bool = False) -> Expression:
    """Draw a condition over the variables of a pattern; `!` and the operands of && and || are simple ones."""
    names = sorted(variable for variable in variables(pattern) if is_visible(variable))
    kind = 1.0 if nested else rng.random()
    if kind < 0.25:
        left = random_condition(rng, pattern, features, nested=True)
        right = random_condition(rng, pattern, features, nested=True)
        return rng.choice((And, Or))((left, right))
    variable = rng.choice(names)
    if kind < 0.4:
        return Not(_against_constant(rng, variable, pattern, features))
    if features.depth and rng.random() < 0.15:
        return Call("BOUND", (Reference(variable),))
    if len(names) > 1 and rng.random() < 0.3:
        one, other = rng.sample(names, 2)
        operators: tuple[Comparison, ...] = ("=", "<", ">") if features.strings else ("=", "!=", "!=", "<", ">")
        return Compare(rng.choice(operators), Reference(one), Reference(other))
    return _against_constant(rng, variable, pattern, features)


def _against_constant(rng: Random, variable: Variable, pattern: Pattern, features: Features) -> Expression:
    """Draw a comparison with a constant, for which a type error is an error in every evaluator.

    A variable for IRIs meets an IRI mostly, another one a number mostly.
    """
    # At the ends of a path pyoxigraph takes `=` for equality of terms, so 2.0 must not meet 2 there.
    has_path = any(isinstance(node, PathPattern) for node in subpatterns(pattern))
    number = rng.choice((*INTEGERS, *DECIMALS, *(() if has_path else (TWO,))))
    is_thing = variable in things(pattern)
    if rng.random() < (0.1 if is_thing else 0.6):
        return Compare(rng.choice(("<", ">", "<=", ">=")), Reference(variable), Constant(number))
    subject = rng.choice(SUBJECTS)
    other = subject if features.strings or rng.random() < (0.9 if is_thing else 0.3) else number
    sides: list[Expression] = [Reference(variable), Constant(other)]
    rng.shuffle(sides)
    return Compare(rng.choice(("=", "!=", "!=")), sides[0], sides[1])

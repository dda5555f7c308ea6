"""What the operators of one compilation share: inputs, names, steps, hidden keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from hydrograph.compile.program import Chunking, Let, StaticInput, Step, StreamInput
from hydrograph.compile.relation import Relation
from hydrograph.compile.sql import Sql, parameter
from hydrograph.rdf.terms import Iri, Variable


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a program may read: the windows of the query by name, and the static graphs."""

    windows: Mapping[Iri | None, StreamInput]
    statics: Mapping[Iri | None, StaticInput]
    keys: tuple[str, ...] = ()
    """Hidden keys that the input tables carry already, such as the number of a stream in a test plan."""
    chunking: Chunking | None = None
    broadcast: bool = True
    """Whether static graphs are small enough to be sent to every task."""
    exact_numbers: bool = False
    """Whether the data is known to hold no xsd:float and xsd:double, so that every sum is exact."""


@dataclass(slots=True)
class Compilation:
    """The growing program."""

    inputs: Inputs
    steps: list[Step] = field(default_factory=list)
    streams: list[StreamInput] = field(default_factory=list)
    statics: list[StaticInput] = field(default_factory=list)
    names: dict[Variable, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    reads_domain: bool = False

    def stem(self, variable: Variable) -> str:
        """Return the generated column stem of a variable."""
        return self.names.setdefault(variable, f"v{len(self.names)}")

    def constant(self, text: str) -> Sql:
        """Return the parameter that carries a text of the query."""
        known = {value: name for name, value in self.constants.items()}
        name = known.get(text, f"c{len(self.constants)}")
        self.constants[name] = text
        return parameter(name)

    def let(self, query: exp.Select, purpose: str) -> str:
        """Add a step and return its name, which says what it is for."""
        name = f"q{len(self.steps)}_{purpose}"
        self.steps.append(Let(name, query))
        return name

    def step(self, relation: Relation, query: exp.Select, purpose: str) -> Relation:
        """Add a step whose rows are described by `relation`."""
        return relation.renamed(self.let(query, purpose))

"""State of one compilation, shared by all operators: inputs, names, steps, hidden keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from hydrograph.compile.inputs import Inputs, StaticInput, StreamInput
from hydrograph.compile.program import Let, Materialize, Step
from hydrograph.compile.relation import RankInterval, Relation
from hydrograph.compile.sql import Sql, parameter, table
from hydrograph.rdf.terms import Variable


@dataclass(frozen=True, slots=True)
class ReportSteps:
    """The steps that found the reports of a query."""

    instants: str
    domain: str
    spans: Mapping[str, tuple[str, tuple[str, ...]]]
    """For each window's table the step with the ranks at which it shows each element, and what names an element."""


@dataclass(slots=True)
class Compilation:
    """The growing program."""

    inputs: Inputs
    steps: list[Step] = field(default_factory=list)
    streams: list[StreamInput] = field(default_factory=list)
    statics: list[StaticInput] = field(default_factory=list)
    names: dict[Variable, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    predicates: dict[int, str] = field(default_factory=dict)
    reads_domain: bool = False
    ranked: ReportSteps | None = None
    _named: int = 0

    def stem(self, variable: Variable) -> str:
        """Return the generated column stem of a variable."""
        return self.names.setdefault(variable, f"v{len(self.names)}")

    def constant(self, text: str) -> Sql:
        """Return the parameter that carries a text of the query."""
        known = {value: name for name, value in self.constants.items()}
        name = known.get(text, f"c{len(self.constants)}")
        self.constants[name] = text
        return parameter(name)

    def name(self, purpose: str) -> str:
        """Return a fresh step name that ends with its purpose."""
        self._named += 1
        return f"q{self._named - 1}_{purpose}"

    def let(self, query: exp.Query, purpose: str) -> str:
        """Add a step and return its name."""
        name = self.name(purpose)
        self.steps.append(Let(name, query))
        return name

    def step(self, relation: Relation, query: exp.Query, purpose: str) -> Relation:
        """Add a step whose rows are described by `relation`."""
        return relation.renamed(self.let(query, purpose))

    def keep(self, relation: Relation) -> Relation:
        """Return the same rows, computed once however often they are read."""
        name = self.name("kept")
        columns = [exp.column(column) for column in relation.all_columns()]
        query = exp.Select(expressions=columns or [exp.Star()]).from_(table(relation.name), copy=False)
        self.steps.append(Materialize(name, query))
        return relation.renamed(name)

    def fresh(self) -> Variable:
        """Return a variable that no query text can name."""
        self._named += 1
        return Variable(f"..{self._named - 1}")

    def domain(self) -> Relation:
        """Return the evaluated ranks, one row for each value of the hidden keys."""
        keys = (*self.inputs.keys, *(("chunk",) if self.inputs.chunking is not None else ()))
        if self.ranked is not None:
            return Relation(self.ranked.domain, {}, frozenset(), keys, self.ranks(), {})
        self.reads_domain = True
        return Relation(self.inputs.domain, {}, frozenset(), keys, self.ranks(), {})

    def ranks(self) -> RankInterval:
        """Return the validity of rows at some reports."""
        return RankInterval(instants=None if self.ranked is None else self.ranked.instants)

    def rank_behind(self) -> Sql:
        """Return the first rank that is not reported."""
        if self.ranked is None:
            return parameter("k_to")
        number = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(table(self.ranked.instants), copy=False)
        return exp.Subquery(this=number)

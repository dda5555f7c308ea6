"""[RSP-QL](https://streamreasoning.github.io/RSP-QL/): named windows over streams, blocks that look into them."""

from __future__ import annotations

from hydrograph.algebra.queries import TemplateTriple
from hydrograph.language.dialect import Dialect


class RspQl(Dialect):
    """RSP-QL as rsp4j and RSP-SPIN read it."""

    name = "rspql"
    marks = frozenset({"REGISTER", "WINDOW", "RSTREAM", "ISTREAM", "DSTREAM"})

    def template_block(self) -> list[TemplateTriple]:
        """Read `GRAPH name { … }` in a template, and the triples behind it."""
        self.expect("GRAPH", "a triple, GRAPH or }")
        graph = self.variable_or_iri("the graph's IRI or a variable")
        self.expect("{")
        inside = self.template_triples(graph)
        self.expect("}", "a triple or }")
        self.accept(".")
        return inside + self.template_triples(None)

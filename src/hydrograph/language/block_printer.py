"""Printing of dialects whose blocks over streams state their windows themselves."""

from __future__ import annotations

from collections.abc import Iterator

from hydrograph.algebra.nodes import Window
from hydrograph.algebra.walk import subpatterns
from hydrograph.language.query_printer import QueryPrinter
from hydrograph.rdf.terms import Iri, Variable


class BlockPrinter(QueryPrinter):
    """Prints `STREAM <stream> [window] { … }`; the window's name is nowhere."""

    def block_heads(self) -> dict[Iri, str]:
        """Return the head of each block."""
        return {
            window.name: f"STREAM {self.bracketed(window)}" for window in self.query.windows if window.name is not None
        }

    def window_lacks(self) -> Iterator[str]:
        """Yield windows that no block reads, blocks without a declared window, and bounds without words."""
        declared = [window.name for window in self.query.windows if window.name is not None]
        read = [node.name for node in subpatterns(self.query.pattern) if isinstance(node, Window)]
        if len(set(declared)) < len(declared):
            yield f"{self.title} has one window for each block"
        for name in dict.fromkeys(read):
            if isinstance(name, Variable):
                yield f"{self.title} has no variables for windows, such as ?{name.name}"
            elif name not in declared:
                yield f"{self.title} has no block over a window that is not declared, such as <{name.value}>"
        for name in dict.fromkeys(declared):
            if name not in read:
                yield f"{self.title} has no window that no block reads, such as <{name.value}>"
        yield from self.unsayable_bounds()

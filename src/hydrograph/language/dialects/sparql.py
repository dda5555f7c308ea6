"""Plain [SPARQL 1.1](https://www.w3.org/TR/sparql11-query/): no windows; one content is queried once."""

from __future__ import annotations

from hydrograph.language.query_parser import SparqlParser


class Sparql(SparqlParser):
    """Parser of SPARQL 1.1 as the W3C defines it."""

    name = "sparql"
    title = "SPARQL"
    reference = "https://www.w3.org/TR/sparql11-query/"

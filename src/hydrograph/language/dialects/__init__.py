"""Registry of query languages; a new one is a module here and a line in `DIALECTS`.

The order matters for detection: a text is read by the first dialect one of whose marks it contains.
"""

from __future__ import annotations

from hydrograph.language.dialects.cqels import Cqels
from hydrograph.language.dialects.csparql import CSparql
from hydrograph.language.dialects.rspql import RspQl
from hydrograph.language.dialects.sparql import Sparql
from hydrograph.language.dialects.sparqlstream import SparqlStream
from hydrograph.language.dialects.strider import Strider
from hydrograph.language.query_parser import SparqlParser

DIALECTS: dict[str, type[SparqlParser]] = {
    "strider": Strider,
    "csparql": CSparql,
    "sparqlstream": SparqlStream,
    "rspql": RspQl,
    "cqels": Cqels,
    "sparql": Sparql,
}

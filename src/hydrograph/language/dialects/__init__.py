"""The languages Hydrograph reads; a new one is a module here and a line in `DIALECTS`."""

from __future__ import annotations

from hydrograph.language.dialects.rspql import RspQl
from hydrograph.language.dialects.sparql import Sparql
from hydrograph.language.sparql import SparqlParser

DIALECTS: dict[str, type[SparqlParser]] = {
    "rspql": RspQl,
    "sparql": Sparql,
}

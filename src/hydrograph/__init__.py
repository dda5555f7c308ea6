"""Hydrograph: continuous SPARQL queries over RDF streams on Apache Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hydrograph.api import (
        LiveQuery,
        LiveStream,
        ProfileOverrides,
        Query,
        Report,
        ResultUnit,
        Run,
        events,
        query,
        stream,
    )

__all__ = [
    "LiveQuery",
    "LiveStream",
    "ProfileOverrides",
    "Query",
    "Report",
    "ResultUnit",
    "Run",
    "__version__",
    "events",
    "query",
    "stream",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Loading on first use keeps `import hydrograph` and `hydrograph --help` quick.
    if name in __all__:
        from hydrograph import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Sections of the page.

A section is a function that takes the data of a run and returns its heading and blocks, or None without data. To add
one, write it in a module here and add its name to `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from hydrograph_gauge.report.document import Section
    from hydrograph_gauge.report.run_data import RunData

SECTIONS = (
    "overview.show_summary",
    "verdicts.show_verdicts",
    "functional.show_functional",
    "verdicts.show_totals",
    "verdicts.show_failures",
    "published.show_published",
    "outputs.show_outputs",
    "outputs.show_throughput",
    "origins.show_origins",
    "windows.show_windows",
    "wrong.show_wrong",
    "wrong.show_disputed",
    "latency.show_latency",
    "delays.show_delays",
    "scaling.show_scaling",
    "resources.show_resources",
    "repetitions.show_repetitions",
    "queries.show_queries",
    "overview.show_provenance",
)
"""Module and function of each section, in the order of the page."""


def load_section(name: str) -> Callable[[RunData], Section | None]:
    """Return the function of a section."""
    module, _, function = name.partition(".")
    return cast("Callable[[RunData], Section | None]", getattr(import_module(f"{__name__}.{module}"), function))

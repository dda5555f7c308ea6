"""Hydrograph: continuous SPARQL over RDF streams on Apache Spark, and the gauge for engines that do the same."""

from __future__ import annotations

__version__ = "0.1.0"

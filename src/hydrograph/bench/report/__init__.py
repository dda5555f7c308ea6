"""One offline page with all that a run has shown, to put beside a paper."""

from hydrograph.bench.report.build import build

__all__ = ["build"]

"""One offline page with all that a run has shown, to put beside a paper."""

from hydrograph_gauge.report.page import build

__all__ = ["build"]

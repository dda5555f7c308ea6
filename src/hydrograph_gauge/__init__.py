"""hydrograph_gauge."""

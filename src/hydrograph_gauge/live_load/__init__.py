"""Live queries under load and under attack: `python -m hydrograph_gauge.live_load` measures, `….live.faults` kills."""

"""Live queries under load and under attack: `python -m hydrograph.bench.live` measures, `….live.faults` kills."""

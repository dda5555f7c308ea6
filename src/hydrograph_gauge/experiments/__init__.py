"""Experiments: what is played into which engines, written down in files, run, and judged."""

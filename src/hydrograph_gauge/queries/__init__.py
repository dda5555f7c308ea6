"""Shipped query sets of the published benchmarks: a folder for each set, with texts in every supported language."""

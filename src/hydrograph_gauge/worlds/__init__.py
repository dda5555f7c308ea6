"""Worlds of streams: data sets that are generated on Spark, the same rows for the same seed on any cluster."""

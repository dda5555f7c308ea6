"""Workloads: queries and small data, as files."""

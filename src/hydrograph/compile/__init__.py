"""Algebra to SQL trees; knows neither Spark nor DuckDB, only how their texts differ."""

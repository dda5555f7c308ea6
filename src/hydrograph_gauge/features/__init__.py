"""Features of queries that predict their cost: structure, result cardinality, and selectivity of patterns and joins."""

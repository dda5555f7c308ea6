"""Results of live queries: units in append-only segments, each written exactly once."""

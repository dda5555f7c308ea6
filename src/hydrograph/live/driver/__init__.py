"""Driver of live queries: the batch loop, Spark as its caller, the query registry, and the placement policy."""

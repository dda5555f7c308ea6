"""Live: the same queries on unbounded streams, exactly once; see `step` for what happens to a batch."""

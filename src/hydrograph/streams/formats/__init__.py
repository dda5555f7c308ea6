"""One file for each text or binary form of a stream."""

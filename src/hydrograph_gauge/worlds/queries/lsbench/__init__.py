"""lsbench."""

"""csrbench."""

"""srbench."""

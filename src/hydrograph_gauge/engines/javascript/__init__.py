"""javascript."""

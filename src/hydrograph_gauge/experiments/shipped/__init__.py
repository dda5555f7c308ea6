"""shipped."""

"""descriptions."""

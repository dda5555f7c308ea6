"""rust."""

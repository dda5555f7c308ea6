"""yabench."""

"""watdiv."""

"""What an engine's answers are worth: pure functions over what was expected and what came."""

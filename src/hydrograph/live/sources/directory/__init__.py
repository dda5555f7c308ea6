"""Growing directories as a live source."""

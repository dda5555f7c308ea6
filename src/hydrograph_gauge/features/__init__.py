"""What makes a query hard: its structure, and how much of the data its patterns and joins leave."""

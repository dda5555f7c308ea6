"""SPARQL expressions as SQL: NULL is an error is unbound, and SQL's three truth values are SPARQL's."""

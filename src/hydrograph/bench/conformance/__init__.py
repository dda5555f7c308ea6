"""The query tests of the W3C for SPARQL 1.1, each answered through a window that holds the test's data."""

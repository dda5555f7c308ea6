"""Checkpoint of live queries: batch records, snapshots, query definitions, and the checks at start-up."""

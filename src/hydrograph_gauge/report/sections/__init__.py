"""The sections of a page: each module takes a run and gives what it has data for."""

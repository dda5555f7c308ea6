"""The functional suite: what an engine can do and does right, before anybody asks how fast it is."""

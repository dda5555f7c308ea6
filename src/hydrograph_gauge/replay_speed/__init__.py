"""The speed gate of replay: the engine against the best a practitioner has, in one run on the same data."""

"""Queries made by random walks, over a data model or over generated data: templates, instances, texts."""

"""Generator of query workloads by random walks over a data model or over generated data.

A walk gives a template (`random_walks`, `templates`); an instance fills its placeholders and is printed in all
languages (`instances`); `search` keeps the queries whose features fulfil conditions, and writes them.
"""

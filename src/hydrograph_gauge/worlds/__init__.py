"""Worlds: generated benchmark data sets.

A world is a data set of one or more RDF streams and a static graph. It is generated on Spark, and the same settings and
seed give the same rows on any cluster. There are three worlds: weather stations (`sensors`), a web shop (`shop`) and a
social network (`social`).
"""

"""Replay: one query over recorded streams, from files to reports.

- `run`: `Run`, which users hold; it chooses the placement and delegates to one of the replays below.
- `replay`: the interface of a replay, the interface of a stream loader, and the compilation both placements share.
- `local`: replay in DuckDB, in the driver's process.
- `spark`: replay on Spark, with `spark_loader`, which reads no more of a stream than the program does.
- `text_one_pass`: text on Spark parsed and evaluated in one pass, where a sample of the files predicts their contents.
"""

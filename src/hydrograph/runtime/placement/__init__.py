"""Where a program runs: on Spark, or beside the driver in DuckDB; both give the same rows."""

"""Experiments: streams are played into engines, and every answer is judged.

The steps of a test, each with files that the next one reads: `model` reads the plan, `data` and `queries` prepare it,
`play` runs an engine, `expected_reports` asks the oracle, `judge_run` judges, `run_folder` stores records and tables,
`summary` prints. `run` calls them in this order.
"""

"""Evaluation of live reports: the implementations of `live.step.evaluation.Evaluation`.

`choose` selects one for a query. `whole_windows` runs the program over all rows of the windows for each batch.
`incremental` keeps intermediate rows and evaluates only what new rows add.
"""

"""Step of a live query: pure functions from a state, a record and input batches to reports and the next record.

Nothing here opens a file, starts a thread, reads a clock or holds a connection. What a batch means is decided by
`decision.decide` and recorded by the driver; `step.Stepper.work` then applies the decision. The same decision over the
same log gives the same result units, byte for byte.
"""

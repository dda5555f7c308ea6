"""Live queries: the queries of the replay engine over unbounded streams, with exactly-once results.

Input is processed in batches. A batch goes through eight steps; `driver.batch_loop.BatchLoop.run_batch` is these lines:

    sources                                                                                           results
       |                                                                                                 ^
       v                                                                                                 |
    1 read -> 2 decide -> 3 record -> 4 classify -> 5 evaluate ------------------------------------> 6 emit
                              |            |             |                                               |
                              v            v             v                                               v
                         checkpoint     state <---- kept rows                  8 forget <---------- 7 commit

    step        does                                                               in
    1 read      new rows are read from the log of each partition                   sources
    2 decide    watermark, t0, implausible times, idle partitions                  step.watermark
    3 record    the decision is written ahead of everything that depends on it     checkpoint.batch_commit
    4 classify  late elements are counted, and dropped if late for all reports     step.late_elements
    5 evaluate  the reports that are due are made; rows no longer needed pruned    evaluate, step.state_pruning
    6 emit      units are written to the results, under keys that never repeat     results.exactly_once_sink
    7 commit    the record of each query and the length of the results are written checkpoint.batch_commit
    8 forget    the log is truncated where no record needs it any more             storage.input_log

A restart reads the log from the oldest offset that the last commit needs, and repeats the batches that were recorded
but not committed. They give the same units, because steps 4 and 5 depend on nothing but the log and the decision.

Packages, from the lowest up; each imports only those before it:

    storage     files, object stores, the input log, leases, waiting on a full disk
    step        the pure part: no file, thread, clock or connection; owns the record types and the Evaluation protocol
    evaluate    the evaluations: whole windows and incremental, chosen by `evaluate.choose`
    checkpoint  journal of the records, snapshots, registered queries, start-up checks
    results     segments of result units, and the sink that writes them
    sources     partitioned sources: sockets, directories, standard input, pushed elements, results of other queries
    driver      the batch loop, the registry of queries, their placement, and the driver on Spark Structured Streaming
    query       the handle that a program holds: start, stop, add queries, status
"""

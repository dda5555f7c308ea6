"""The expected answer of every report, from evaluators independent of the compiler."""

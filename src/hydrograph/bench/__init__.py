"""The gauge: generators, engines, oracle, metrics and report."""

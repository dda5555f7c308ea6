"""The queries of the benchmarks as data: a folder for each set, with texts in every language that can say them."""

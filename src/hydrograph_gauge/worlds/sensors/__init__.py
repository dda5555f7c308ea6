"""Weather stations: the stream of YABench, and the static data that the queries of SRBench ask for."""

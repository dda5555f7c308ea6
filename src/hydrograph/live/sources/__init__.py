"""Sources of live streams: one kind of URL, one module, one line in `registry`; `source` has the contract."""

"""Where live streams come from: one URL, one file here, one line in `registry`."""

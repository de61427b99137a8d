"""Plain functions that join the parts: configuration, sources, the run, labels, data sets."""

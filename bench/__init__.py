"""Benchmarks: ``make bench``. Each measures Tidegate against the same work done by hand, in one run."""

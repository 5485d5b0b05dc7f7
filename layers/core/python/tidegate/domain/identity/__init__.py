"""Workload identity: tokens of jobs, by which clouds know them."""

"""Workload identity: make the tokens of jobs, and publish the keys that they are verified with."""

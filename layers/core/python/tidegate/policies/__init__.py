"""Policies: sets, results, and what has to be met before an apply."""

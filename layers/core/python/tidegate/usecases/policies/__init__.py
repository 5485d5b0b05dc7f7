"""Policies: stored, held against plans, judged."""

"""Policies: sets, verdicts, and apply requirements."""

"""Policies: sets, verdicts, approvals."""

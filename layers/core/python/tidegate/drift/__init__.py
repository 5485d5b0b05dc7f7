"""Drift: scheduled plans, their results, reports and issues."""

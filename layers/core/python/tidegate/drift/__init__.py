"""Drift detection: scheduled plans, results, reports and issues."""

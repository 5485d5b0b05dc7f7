"""Requests of people by buttons, the API and re-runs."""

"""Drift: schedules, what was found, what is shown of it."""

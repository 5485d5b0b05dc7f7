"""Drift: looked for, shown, undone."""

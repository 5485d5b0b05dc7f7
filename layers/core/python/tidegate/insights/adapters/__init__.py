"""The store of days."""

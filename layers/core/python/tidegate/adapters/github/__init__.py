"""GitHub, by its API."""

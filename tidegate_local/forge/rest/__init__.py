"""GitHub's REST API, as far as Tidegate and its tests use it, under ``/api/v3``."""

"""GitLab, by its API."""

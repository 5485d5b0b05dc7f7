"""The API of GitLab."""

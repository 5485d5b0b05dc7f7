"""Pushes to the default branch become deployments."""

"""Operators ask for deployments."""

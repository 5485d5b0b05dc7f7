"""Adapters of clusters."""

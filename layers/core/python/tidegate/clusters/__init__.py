"""Cluster workflows: create, upgrade and delete clusters, built from tasks, providers and hooks."""

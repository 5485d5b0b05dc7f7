"""Policies in Rego."""

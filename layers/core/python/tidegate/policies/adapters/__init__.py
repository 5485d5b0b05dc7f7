"""Policies of the organization."""

"""Texts about drift."""

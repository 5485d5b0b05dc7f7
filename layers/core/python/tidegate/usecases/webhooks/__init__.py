"""Webhooks arrive, and what became of them is remembered."""

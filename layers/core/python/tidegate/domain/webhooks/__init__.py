"""Webhooks: which fields of which events are used, and what they mean."""

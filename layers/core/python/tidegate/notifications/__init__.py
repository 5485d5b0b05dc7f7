"""Notifications: who is told of what, how it is delivered, and what became of each delivery."""

"""Notifications: who is notified of what, how it is delivered, and what became of each delivery."""

"""Replies to comments."""

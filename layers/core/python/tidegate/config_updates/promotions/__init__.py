"""Promotions: the way of an image set from environment to environment."""

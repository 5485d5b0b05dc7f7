"""Stores of deliveries, the secrets of VCS providers, and their URLs."""

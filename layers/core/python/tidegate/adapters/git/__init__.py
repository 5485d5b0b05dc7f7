"""Repositories that nobody here trusts, read with git."""

"""The store of the repository index."""

"""The store of change sets."""

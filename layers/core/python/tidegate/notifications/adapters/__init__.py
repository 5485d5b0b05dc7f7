"""The store of notifications, their queue, and calls to their receivers."""

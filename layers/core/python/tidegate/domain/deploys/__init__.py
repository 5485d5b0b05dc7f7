"""A deployment: its queue, its plan, its review, and what is told of it."""

"""The plan that is stored, and its digest."""

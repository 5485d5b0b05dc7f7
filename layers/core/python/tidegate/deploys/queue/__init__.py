"""The deploy queue of a root, and its worker."""

"""Root modules: which directories they are, and what changes them."""

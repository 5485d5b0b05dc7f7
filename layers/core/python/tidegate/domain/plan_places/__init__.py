"""Places for speculative plans: so many of a repository are made at a time."""

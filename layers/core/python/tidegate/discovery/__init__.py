"""Which roots a commit has and changes."""

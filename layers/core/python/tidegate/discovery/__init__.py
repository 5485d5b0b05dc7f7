"""Root discovery: which roots a commit has and changes."""

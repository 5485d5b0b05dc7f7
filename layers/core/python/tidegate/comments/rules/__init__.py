"""How commands in comments are read."""

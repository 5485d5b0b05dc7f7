"""Functions and tasks as processes of this machine."""

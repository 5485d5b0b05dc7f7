"""What config updates decide."""

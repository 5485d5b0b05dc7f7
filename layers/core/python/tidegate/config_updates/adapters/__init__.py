"""What stores config updates."""

"""What people read about config updates."""

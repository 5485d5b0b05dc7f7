"""What people read about drift."""

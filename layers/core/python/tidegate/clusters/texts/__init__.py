"""What people read of clusters."""

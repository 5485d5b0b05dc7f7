"""Pure rules of clusters."""
